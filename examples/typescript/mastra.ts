// An agent of Mastra. What is contextd's ends with `// contextd`.

import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { MockMemory } from "@mastra/core/memory";
import { createTool } from "@mastra/core/tools";
import { Contextd } from "contextd"; // contextd
import { ContextdProcessor } from "contextd/mastra"; // contextd
import { z } from "zod";
import { model } from "./played-model.ts";
import { questions, readFile, report, settings } from "./played.ts";

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
