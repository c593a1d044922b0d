import { Contextd } from "contextd";

const client = new Contextd(); // CONTEXTD_URL, CONTEXTD_API_KEY
const session = await client.sessions.create({ model: "gpt-4o", system: "You are a careful engineer." });

// Each turn: store what is new, get what the model is to be sent.
const { context, snapshot } = await client.sessions.append(session.id, {
  format: "openai_chat",
  items: [{ role: "user", content: "Why does the parser fail on empty input?" }],
  returnContext: "openai_chat",
});
console.log(`${context.messages.length} messages, ${snapshot.tokens} of ${snapshot.available} tokens`);

// Whatever is compacted later, everything can still be found.
for await (const hit of client.sessions.search(session.id, { q: "parser" })) console.log(hit.snippet);
