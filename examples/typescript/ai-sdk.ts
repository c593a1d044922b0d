// An agent of Vercel's AI SDK. What is contextd's ends with `// contextd`.

import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Contextd } from "contextd"; // contextd
import { contextdPrepareStep, storeMessages } from "contextd/ai-sdk"; // contextd
import { answer, questions, readFile, report, settings, wanted } from "./played.ts";

const unknown = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const usage = { inputTokens: unknown, outputTokens: { total: undefined, text: undefined, reasoning: undefined } };

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const file = wanted(prompt.at(-1)!);
    if (!file) {
      const content = [{ type: "text" as const, text: answer(prompt) }];
      return { content, finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    }
    const input = JSON.stringify({ path: file.path });
    const call = { type: "tool-call" as const, toolCallId: file.id, toolName: "readFile", input };
    return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
  },
});

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
