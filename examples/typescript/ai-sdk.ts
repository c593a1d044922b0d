// An agent of Vercel's AI SDK. What is contextd's ends with `// contextd`.

import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from "ai";
import { Contextd } from "contextd"; // contextd
import { contextdPrepareStep, storeMessages } from "contextd/ai-sdk"; // contextd
import { model } from "./played-model.ts";
import { questions, readFile, report, settings } from "./played.ts";

const tools = {
  readFile: tool({
    description: "Reads a file",
    inputSchema: jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } }),
    execute: ({ path }) => readFile(path),
  }),
};

const client = new Contextd(); // contextd
const session = await client.sessions.create({ settings }); // contextd
const conversation = { client, sessionId: session.id }; // contextd
const prepareStep = contextdPrepareStep(conversation); // contextd

const history: ModelMessage[] = [];
let said = "";
for (const question of questions) {
  history.push({ role: "user", content: question });
  const { text, responseMessages } = await generateText({
    model,
    tools,
    messages: history,
    stopWhen: isStepCount(3),
    prepareStep, // contextd
  });
  history.push(...responseMessages);
  said = text;
}
await storeMessages(conversation, history); // contextd
await report(client, session.id, said);
