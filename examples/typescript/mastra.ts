// An agent of Mastra. What is contextd's ends with `// contextd`.

import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { Contextd } from "contextd"; // contextd
import { ContextdProcessor } from "contextd/mastra"; // contextd
import { z } from "zod";
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

const client = new Contextd(); // contextd
const contextd = new ContextdProcessor({ client, create: { settings } }); // contextd
const agent = new Agent({
  id: "reader",
  name: "Reader",
  instructions: "You are careful.",
  model: model as object as MastraModelConfig,
  // In place of `@mastra/memory`, which needs a store. The whole thread is given to contextd.
  memory: new MockMemory({ options: { lastMessages: 10_000 } }), // contextd
  tools: {
    readFile: createTool({
      id: "readFile",
      description: "Reads a file",
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => readFile(path),
    }),
  },
  inputProcessors: [contextd], // contextd
  outputProcessors: [contextd], // contextd
});

const thread = `chat-${Date.now()}`;
let said = "";
for (const question of questions) {
  said = (await agent.generate(question, { memory: { thread, resource: "ada" } })).text;
}
await report(client, (await client.sessions.getOrCreate(thread)).id, said);
