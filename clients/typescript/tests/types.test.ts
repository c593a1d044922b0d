import assert from "node:assert/strict";
import { test } from "node:test";
import type { StreamEvent } from "contextd";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import type { CompletionUsage } from "openai/resources/completions";
import { json, offline, played } from "./support.js";

const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "Hello" }];
const tools: ChatCompletionTool[] = [{ type: "function", function: { name: "look" } }];
const usage: CompletionUsage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };

// What is tested is that this compiles.
test("another SDK's types go in and come out without casts", async () => {
  const { fetch, sent } = played(json({ context: { messages } }));
  const { sessions } = offline(fetch);
  await sessions.create({ tools, metadata: { team: "parsers" }, settings: { red_at: 0.9 } });
  const format = "openai_chat";
  const { context } = await sessions.append<ChatCompletionMessageParam>("s1", {
    format,
    items: messages,
    usage,
    returnContext: format,
  });
  const next: ChatCompletionMessageParam[] = context.messages;
  assert.deepEqual(next, messages);
  assert.deepEqual(sent[1]?.body, { format, items: messages, usage, return_context: format });
});

test("names that the API does not know are refused by the compiler", () => {
  const { sessions } = offline(played(json({})).fetch);
  const wrong = [
    // @ts-expect-error It is externalId.
    () => sessions.create({ externalID: "x" }),
    // @ts-expect-error What stands inside is as the API has it: red_at.
    () => sessions.create({ settings: { redAt: 0.9 } }),
    // @ts-expect-error There is no such format.
    () => sessions.context("s1", { format: "openai" }),
    // @ts-expect-error No context was asked for.
    async () => (await sessions.append("s1", { format: "native", items: [] })).context,
  ];
  assert.equal(wrong.length, 4);
});

test("an event's type tells what its data is", () => {
  const told = (event: StreamEvent): string | number | undefined => {
    if (event.type === "snapshot") return event.data.tokens;
    if (event.type === "compaction.failed") return event.data.status;
    return event.type === "reset" ? event.data.reason : undefined;
  };
  assert.equal(told({ type: "reset", id: "1", data: { reason: "expired" } }), "expired");
});
