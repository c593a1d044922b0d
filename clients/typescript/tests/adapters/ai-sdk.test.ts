import assert from "node:assert/strict";
import { test } from "node:test";
import {
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  modelMessageSchema,
  type PrepareStepFunction,
  tool,
  ToolLoopAgent,
} from "ai";
import { contextdPrepareStep, storeMessages } from "contextd/ai-sdk";
import { itemOf } from "../../dist/adapters/model-messages.js";
import { client, needsService, offline, played, problem } from "../support.js";
import { assertAsked, assertKept, fileText, playedModel, question, settings, TURNS } from "./reader.js";

const readFile = tool({
  description: "Reads a file",
  inputSchema: jsonSchema<{ path: string }>({ type: "object", properties: { path: { type: "string" } } }),
  execute: ({ path }) => ({ path, text: fileText(path) }),
});

test("thirty turns over a window that needs three compactions: valid, and nothing lost", needsService, async (t) => {
  const contextd = client();
  const tokensOf = async (messages: ModelMessage[]) =>
    (await contextd.count({ format: "native", items: messages.map(itemOf), system: "You are careful." })).tokens;
  const { id: sessionId } = await contextd.sessions.create({ settings });
  const prepareStep: PrepareStepFunction<{ readFile: typeof readFile }> = contextdPrepareStep({
    client: contextd,
    sessionId,
  });
  const model = playedModel();
  const history: ModelMessage[] = [];
  const sent: number[] = [];

  for (let turn = 0; turn < TURNS; turn++) {
    history.push({ role: "user", content: question(turn) });
    const { responseMessages } = await generateText({
      model,
      messages: history,
      instructions: "You are careful.",
      tools: { readFile },
      stopWhen: isStepCount(3),
      prepareStep: async (step) => {
        const prepared = await prepareStep(step);
        const messages = prepared?.messages ?? assert.fail("no messages");
        for (const message of messages) modelMessageSchema.parse(message);
        sent.push(await tokensOf(messages));
        return prepared;
      },
    });
    history.push(...responseMessages);
  }

  await storeMessages({ client: contextd, sessionId }, history);
  assert.equal(history.length, TURNS * 4);
  assertAsked(model.doGenerateCalls.map(({ prompt }) => prompt));
  assert.ok(Math.max(...sent) <= settings.context_window, sent.join());
  const compactions = await assertKept(contextd, sessionId);
  t.diagnostic(
    `${compactions} compactions; ${await tokensOf(history)} tokens in all, at most ${Math.max(...sent)} sent`,
  );
  const said = [];
  for await (const entry of contextd.entries.list(sessionId)) if (entry.type === "message") said.push(entry);
  assert.deepEqual(
    said.map(({ role }) => role),
    history.map(({ role }) => role),
  );
  assert.equal((await contextd.sessions.get(sessionId)).system, "You are careful.");
  await contextd.sessions.delete(sessionId);
});

test("an agent that streams is given the context, too", needsService, async () => {
  const contextd = client();
  const { id: sessionId } = await contextd.sessions.create({ settings: { context_window: 8_000 } });
  const model = playedModel();
  const prepareStep = contextdPrepareStep({ client: contextd, sessionId });
  const agent = new ToolLoopAgent({ model, tools: { readFile }, stopWhen: isStepCount(3), prepareStep });
  const long = { role: "assistant", content: "It is a long story. ".repeat(800) } as const;
  const question = { role: "user", content: "What does src/module1.ts export?" } as const;
  const result = await agent.stream({ messages: [{ role: "user", content: "Tell me." }, long, { ...long }, question] });
  assert.match(await result.text, /^It exports one answer/);
  assert.equal(model.doStreamCalls.length, 2);
  for (const { prompt } of model.doStreamCalls) {
    assert.match(JSON.stringify(prompt), /What does src\/module1.ts export/);
    assert.ok(JSON.stringify(prompt).length < 2 * long.content.length, "the context, not the history");
  }
  await contextd.sessions.delete(sessionId);
});

/** Every kind of part that a conversation may have. */
const MIXED: ModelMessage[] = [
  {
    role: "user",
    content: [
      {
        type: "text",
        text: "What is this?",
        providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
      },
      { type: "image", image: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" },
      { type: "image", image: new URL("https://example.com/a.png") },
      { type: "file", data: { type: "text", text: "Notes" }, mediaType: "text/plain", filename: "notes.txt" },
      {
        type: "file",
        data: { type: "reference", reference: { openai: "file-1" } },
        mediaType: "application/pdf",
      },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Two tools.", providerOptions: { anthropic: { signature: "c2ln" } } },
      { type: "tool-call", toolCallId: "a", toolName: "look", input: { at: 1 } },
      { type: "tool-call", toolCallId: "b", toolName: "erase", input: {} },
      { type: "tool-approval-request", approvalId: "p", toolCallId: "b" },
    ],
  },
  { role: "tool", content: [{ type: "tool-approval-response", approvalId: "p", approved: false }] },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "a",
        toolName: "look",
        output: {
          type: "content",
          value: [
            { type: "text", text: "A cat" },
            { type: "image-data", data: "iVBORw==", mediaType: "image/png" },
          ],
        },
      },
      {
        type: "tool-result",
        toolCallId: "b",
        toolName: "erase",
        output: { type: "execution-denied", reason: "No." },
      },
    ],
  },
  { role: "assistant", content: "A cat.", providerOptions: { openai: { itemId: "msg_1" } } },
  { role: "user", content: "Go on." },
];

test(
  "what is not compacted is the very message that was given, with all that its provider needs",
  needsService,
  async () => {
    const contextd = client();
    const { id: sessionId } = await contextd.sessions.create();
    const prepareStep = contextdPrepareStep({ client: contextd, sessionId });
    for (const turn of [1, 2]) {
      const { messages = [] } = await prepareStep({ messages: MIXED, steps: [] });
      assert.equal(messages.length, MIXED.length, `turn ${turn}`);
      for (const message of MIXED) assert.ok(messages.includes(message), JSON.stringify(message));
    }
    assert.equal((await contextd.sessions.get(sessionId)).entry_count, MIXED.length);
    const anthropic = await contextd.sessions.context(sessionId, { format: "anthropic" });
    assert.match(JSON.stringify(anthropic.messages), /iVBORw==/);
    await contextd.sessions.delete(sessionId);
  },
);

test("what a session holds can be read by the AI SDK, whatever it was written with", needsService, async () => {
  const contextd = client();
  const { id: sessionId } = await contextd.sessions.create({
    settings: { enabled: false, context_window: 8_000, keep_recent_tokens: 100 },
  });
  const prepareStep = contextdPrepareStep({ client: contextd, sessionId });
  const long: ModelMessage[] = [
    ...MIXED,
    { role: "assistant", content: "It is a long story. ".repeat(400) },
    { role: "user", content: "And then?" },
  ];
  await prepareStep({ messages: long, steps: [] });
  const { id } = await contextd.sessions.compact(sessionId, { strategy: "summarize", force: true });
  assert.equal((await contextd.compactions.wait(id)).status, "succeeded");
  const { messages = [] } = await prepareStep({ messages: long, steps: [] });
  assert.ok(messages.length < long.length);
  for (const message of messages) modelMessageSchema.parse(message);
  assert.equal(messages.at(-1), long.at(-1));
  await contextd.sessions.delete(sessionId);
});

test("what the provider counted is what the account begins with", needsService, async () => {
  const contextd = client();
  const { id: sessionId } = await contextd.sessions.create();
  const prepareStep = contextdPrepareStep({ client: contextd, sessionId });
  const messages: ModelMessage[] = [{ role: "user", content: "What does src/a.ts export?" }];
  await prepareStep({ messages, steps: [] });
  messages.push({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "a", toolName: "readFile", input: {} }],
  });
  messages.push({
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "a", toolName: "readFile", output: { type: "text", value: "Nothing" } },
    ],
  });
  await prepareStep({ messages, steps: [{ usage: { inputTokens: 1_000, outputTokens: 50 } }] });
  const { source, tokens } = await contextd.sessions.snapshot(sessionId);
  assert.equal(source, "usage");
  assert.ok(tokens > 1_050 && tokens < 1_100, `${tokens}`);
  await contextd.sessions.delete(sessionId);
});

test("a step goes on without contextd where the caller says so, and fails where not", async () => {
  const { fetch } = played(problem(503, "unavailable"));
  const broken = { client: offline(fetch, { maxRetries: 0 }), sessionId: "s1" };
  const step = { messages: MIXED, steps: [] };
  await assert.rejects(contextdPrepareStep(broken)(step), { code: "unavailable" });
  const errors: unknown[] = [];
  const prepareStep = contextdPrepareStep({ ...broken, onError: (error) => errors.push(error) });
  assert.deepEqual(await prepareStep(step), {});
  assert.equal(errors.length, 1);
});
