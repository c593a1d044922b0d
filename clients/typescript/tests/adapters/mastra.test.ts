import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import type { ProcessLLMRequestArgs } from "@mastra/core/processors";
import { createTool } from "@mastra/core/tools";
import { type ModelMessage, modelMessageSchema } from "ai";
import assert from "node:assert/strict";
import { test } from "node:test";
import { ContextdProcessor, type ContextdProcessorOptions } from "contextd/mastra";
import { z } from "zod";
import { itemOf } from "../../dist/adapters/model-messages.js";
import { client, json, needsService, offline, played, problem } from "../support.js";
import { assertAsked, assertKept, fileText, playedModel, question, settings, TURNS } from "./reader.js";

const readFile = createTool({
  id: "readFile",
  description: "Reads a file",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => ({ path, text: fileText(path) }),
});

/** An agent of Mastra whose model is played. */
function agentOf(options: ContextdProcessorOptions, memory?: MockMemory) {
  const model = playedModel();
  const contextd = new ContextdProcessor(options);
  const agent = new Agent({
    id: "reader",
    name: "Reader",
    instructions: "You are careful.",
    model: model as object as MastraModelConfig,
    tools: { readFile },
    inputProcessors: [contextd],
    outputProcessors: [contextd],
    ...(memory && { memory }),
  });
  new Mastra({ agents: { agent }, logger: false });
  return { model, agent };
}

function promptsOf({ doGenerateCalls }: ReturnType<typeof playedModel>) {
  return doGenerateCalls.map(({ prompt }) => prompt);
}

test("thirty turns of a memory's thread: three compactions, valid, and nothing lost", needsService, async (t) => {
  const contextd = client();
  const memory = new MockMemory({ options: { lastMessages: 10_000 } });
  const { agent, model } = agentOf({ client: contextd, create: { settings } }, memory);
  const thread = `mastra-${Date.now()}`;
  for (let turn = 0; turn < TURNS; turn++) {
    const { text } = await agent.generate(question(turn), { memory: { thread, resource: "tests" } });
    assert.match(text, /It exports one answer/);
  }

  const prompts = promptsOf(model);
  assertAsked(prompts);
  const { id: sessionId, system } = await contextd.sessions.getOrCreate(thread);
  assert.equal(system, "You are careful.");
  const sent = [];
  for (const prompt of prompts) {
    const messages = prompt as ModelMessage[];
    for (const message of messages) modelMessageSchema.parse(message);
    sent.push((await contextd.count({ format: "native", items: messages.map(itemOf) })).tokens);
  }
  assert.ok(Math.max(...sent) <= settings.context_window, sent.join());
  const compactions = await assertKept(contextd, sessionId);
  t.diagnostic(`${compactions} compactions; at most ${Math.max(...sent)} tokens sent`);
  await contextd.sessions.delete(sessionId);
});

test("a history that the caller keeps is stored once, and sent as it is while it fits", needsService, async () => {
  const contextd = client();
  const { id: sessionId } = await contextd.sessions.create();
  const { agent, model } = agentOf({ client: contextd, sessionId });
  const history: Parameters<typeof agent.generate>[0] & object[] = [];
  for (const turn of [0, 1, 2]) {
    history.push({ role: "user", content: question(turn) });
    const { response } = await agent.generate(history);
    history.push(...(response.messages ?? []));
  }
  const { entry_count } = await contextd.sessions.get(sessionId);
  assert.equal(entry_count, 12);
  assert.equal(promptsOf(model).at(-1)?.length, 1 + 11, "the instructions, and all but the last answer");
  await contextd.sessions.delete(sessionId);
});

test("an agent that streams is given the context, too, and its answer is stored", needsService, async () => {
  const contextd = client();
  const { id: sessionId } = await contextd.sessions.create({ settings: { context_window: 8_000 } });
  const { agent, model } = agentOf({ client: contextd, sessionId });
  const long = "It is a long story. ".repeat(800);
  const story = [
    { role: "user" as const, content: "Tell me." },
    { role: "assistant" as const, content: long },
    { role: "assistant" as const, content: `And ${long}` },
  ];
  const result = await agent.stream([...story, { role: "user", content: question(0) }]);
  assert.match(await result.text, /^It exports one answer/);
  assert.equal(model.doStreamCalls.length, 2);
  for (const { prompt } of model.doStreamCalls) {
    assert.match(JSON.stringify(prompt), /Question 0:/);
    assert.ok(JSON.stringify(prompt).length < 2 * long.length, "the context, not the history");
  }
  const { messages } = await contextd.sessions.context(sessionId, { format: "native" });
  assert.match(JSON.stringify(messages.at(-1)), /It exports one answer/);
  await contextd.sessions.delete(sessionId);
});

/** Another client's conversation: a picture, and one in a tool's result. */
const SEEN = [
  { role: "user", content: "Look at both." },
  { role: "assistant", content: [{ type: "tool_call", id: "c1", name: "look", arguments: {} }] },
  {
    role: "tool",
    content: [
      {
        type: "tool_result",
        tool_call_id: "c1",
        name: "look",
        content: [{ type: "image", source: { media_type: "image/png", data: "iVBORw==" } }],
      },
    ],
  },
  { role: "user", content: [{ type: "image", source: { media_type: "image/png", data: "iVBORw==" } }] },
];

test("what other clients stored goes to models of every version", async () => {
  const base64 = { type: "data", data: "iVBORw==" };
  const expected = {
    v2: ["iVBORw==", { type: "media", data: "iVBORw==", mediaType: "image/png" }],
    v3: ["iVBORw==", { type: "image-data", data: "iVBORw==", mediaType: "image/png" }],
    v4: [base64, { type: "file", data: base64, mediaType: "image/png" }],
  };
  const put = { forked: false, matched: 1, context: { messages: SEEN } };
  const processor = new ContextdProcessor({ client: offline(played(json(put)).fetch), sessionId: "s1" });
  for (const [specificationVersion, [file, output]] of Object.entries(expected)) {
    const prompt = [{ role: "user", content: [{ type: "text", text: "Look at both." }] }];
    const args = { prompt, stepNumber: 0, steps: [], state: {}, model: { specificationVersion } };
    const sent = await processor.processLLMRequest(args as unknown as ProcessLLMRequestArgs);
    const [, , result, picture] = (sent?.prompt ?? []) as {
      content: { data?: unknown; output?: { value: unknown[] } }[];
    }[];
    assert.deepEqual(picture?.content[0]?.data, file);
    assert.deepEqual(result?.content[0]?.output?.value.at(-1), output);
  }
});

test("a memory that gives the end of a thread alone is refused", needsService, async () => {
  const memory = new MockMemory({ options: { lastMessages: 3 } });
  const { agent } = agentOf({ client: client() }, memory);
  const of = { memory: { thread: `short-${Date.now()}`, resource: "tests" } };
  await agent.generate(question(0), of);
  await agent.generate(question(1), of);
  await assert.rejects(agent.generate(question(2), of), /raise its `lastMessages`/);
});

test("a step goes on without contextd where the caller says so, and fails where not", async () => {
  const { fetch } = played(problem(503, "unavailable"));
  const broken = { client: offline(fetch, { maxRetries: 0 }), sessionId: "s1" };
  await assert.rejects(agentOf(broken).agent.generate(question(0)), { code: "unavailable" });
  const errors: unknown[] = [];
  const { text } = await agentOf({ ...broken, onError: (error) => errors.push(error) }).agent.generate(question(0));
  assert.match(text, /It exports one answer/);
  assert.equal(errors.length, 3);
});

test("a run without a thread needs a session", async () => {
  const { agent } = agentOf({ client: client() });
  await assert.rejects(agent.generate(question(0)), /no memory thread/);
});
