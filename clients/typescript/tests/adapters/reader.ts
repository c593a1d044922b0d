/** A conversation of thirty turns, in each of which a file is read, and what has to be left of it. */

import assert from "node:assert/strict";
import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import type { Contextd } from "contextd";

export const TURNS = 30;
/** A window that needs three compactions. */
export const settings = { context_window: 4_000, reserve_tokens: 500, keep_recent_tokens: 400 };

export function question(turn: number): string {
  const fact = turn === 1 ? " The release is called KESTREL-7 and must ship before 2031-04-05." : "";
  return `Question ${turn}: what does src/module${turn}.ts export?${fact}`;
}

export function fileText(path: string): string {
  return `export const answer = "${path}";\n`.repeat(25);
}

/** The path that a question asks about. */
export function pathIn(content: unknown): string {
  return /src\/\w+\.ts/.exec(JSON.stringify(content))?.[0] ?? "";
}

/** A model that reads a file for every question, then answers; asked for a stream, it streams. */
export function playedModel(): MockLanguageModelV4 {
  const generating = generatingModel();
  return new MockLanguageModelV4({
    doGenerate: (options) => generating.doGenerate(options),
    doStream: async (options) => {
      const { content, finishReason, usage } = await generating.doGenerate(options);
      const parts = content.flatMap(streamedParts);
      return { stream: convertArrayToReadableStream([...parts, { type: "finish", finishReason, usage }]) };
    },
  });
}

function streamedParts(part: LanguageModelV4Content): LanguageModelV4StreamPart[] {
  if (part.type === "tool-call") return [part];
  const delta = part.type === "text" ? part.text : "";
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta },
    { type: "text-end", id: "0" },
  ];
}

function generatingModel(): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      const calls = prompt.flatMap(({ role, content }) => (role === "assistant" ? content : [])).length;
      if (last?.role === "tool") {
        const content = [{ type: "text" as const, text: `It exports one answer, after ${calls} parts. `.repeat(4) }];
        return { content, finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
      }
      const path = pathIn(last?.content);
      const call = {
        type: "tool-call" as const,
        toolCallId: `call-${path}`,
        toolName: "readFile",
        input: JSON.stringify({ path }),
      };
      return { content: [call], finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] };
    },
  });
}

/** Two calls a turn, each with the turn's question, and the fact of the beginning in the last. */
export function assertAsked(prompts: unknown[]): void {
  assert.equal(prompts.length, TURNS * 2);
  for (const [call, prompt] of prompts.entries()) {
    const newest = new RegExp(`Question ${Math.floor(call / 2)}:`);
    assert.match(JSON.stringify(prompt), newest, `the newest question is in call ${call}`);
  }
  assert.match(JSON.stringify(prompts.at(-1)), /KESTREL-7/);
}

/** Three compactions or more, every message once, and every file whole. Gives the number of compactions. */
export async function assertKept(contextd: Contextd, sessionId: string, messagesPerTurn = 4): Promise<number> {
  let compactions = 0;
  for await (const { status } of contextd.compactions.list(sessionId)) compactions += Number(status === "succeeded");
  assert.ok(compactions >= 3, `${compactions} compactions`);
  for (const all of [false, true]) {
    let messages = 0;
    for await (const { type } of contextd.entries.list(sessionId, { all })) messages += Number(type === "message");
    assert.equal(messages, TURNS * messagesPerTurn, all ? "no message is stored twice" : "no message is lost");
  }
  for (let turn = 0; turn < TURNS; turn++) {
    const path = `src/module${turn}.ts`;
    const { result_text } = await contextd.toolCalls.get(sessionId, `call-${path}`);
    assert.ok(result_text?.includes(path), path);
  }
  return compactions;
}
