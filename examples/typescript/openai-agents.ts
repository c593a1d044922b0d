// An agent of OpenAI's Agents SDK. What is contextd's ends with `// contextd`.

import { Agent, type Model, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { Contextd } from "contextd"; // contextd
import { ContextdSession } from "contextd/openai-agents"; // contextd
import { z } from "zod";
import { answer, questions, readFile, report, settings, wanted } from "./played.ts";

const model: Model = {
  getResponse: async ({ input }) => {
    const items = typeof input === "string" ? [{ role: "user" as const, content: input }] : input;
    const last = items.at(-1)!;
    const file = wanted("role" in last && last.role ? { ...last, role: last.role } : { role: "tool" });
    const status = "completed" as const;
    const text = answer(items);
    return {
      usage: new Usage(),
      output: file
        ? [{ type: "function_call", callId: file.id, name: "read_file", arguments: JSON.stringify(file), status }]
        : [{ type: "message", role: "assistant", status, content: [{ type: "output_text", text }] }],
    };
  },
  async *getStreamedResponse() {},
};

const agent = new Agent({
  name: "Reader",
  model,
  tools: [
    tool({
      name: "read_file",
      description: "Reads a file",
      parameters: z.object({ path: z.string() }),
      execute: ({ path }) => readFile(path),
    }),
  ],
});

setTracingDisabled(true);
const client = new Contextd(); // contextd
const session = new ContextdSession({ client, sessionId: `chat-${Date.now()}`, create: { settings } }); // contextd
let said = "";
for (const question of questions) {
  const { finalOutput } = await run(agent, question, {
    session, // contextd
  });
  said = String(finalOutput);
}
await report(client, await session.contextdId(), said);
