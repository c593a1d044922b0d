// A model of the AI SDK that is played; Mastra's agents take it, too.

import { MockLanguageModelV4 } from "ai/test";
import { answer, wanted } from "./played.ts";

const unknown = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
const usage = { inputTokens: unknown, outputTokens: { total: undefined, text: undefined, reasoning: undefined } };

export const model = new MockLanguageModelV4({
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
