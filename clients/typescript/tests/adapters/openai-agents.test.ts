import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, type AgentInputItem, OpenAIProvider, protocol, Runner, setTracingDisabled, tool } from "@openai/agents";
import { ContextdSession } from "contextd/openai-agents";
import OpenAI from "openai";
import { z } from "zod";
import { client, needsService } from "../support.js";

setTracingDisabled(true);

const TURNS = 30;
const FACT = "The release is called KESTREL-7 and must ship before 2031-04-05.";

interface Asked {
  input: { type?: string; role?: string; content?: unknown }[];
}

/** OpenAI's Responses API, which has a file read for every question, then answers. */
function playedProvider() {
  const asked: Asked[] = [];
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const request = JSON.parse(String(init?.body)) as Asked;
    asked.push(request);
    const number = asked.length;
    return Response.json({
      id: `resp_${number}`,
      object: "response",
      status: "completed",
      output: answer(request, number),
    });
  };
  const openAIClient = new OpenAI({ apiKey: "played", baseURL: "http://played.test/v1", fetch, maxRetries: 0 });
  return { asked, provider: new OpenAIProvider({ openAIClient, useResponses: true }) };
}

function answer({ input }: Asked, number: number): object[] {
  const last = input.at(-1);
  const status = "completed";
  if (last?.type === "function_call_output") {
    const content = [{ type: "output_text", text: "It exports one answer, nothing else. ".repeat(4), annotations: [] }];
    return [{ id: `msg_${number}`, type: "message", role: "assistant", status, content }];
  }
  const path = /src\/[a-z0-9]+\.ts/.exec(JSON.stringify(last?.content))?.[0];
  const call = {
    id: `fc_${number}`,
    call_id: `call-${path}`,
    name: "read_file",
    arguments: JSON.stringify({ path }),
    status,
  };
  return [
    {
      id: `rs_${number}`,
      type: "reasoning",
      summary: [{ type: "summary_text", text: "Read it." }],
      encrypted_content: "c2VhbGVk",
    },
    { type: "function_call", ...call },
  ];
}

const agent = new Agent({
  name: "Reader",
  model: "gpt-5",
  instructions: "You are careful.",
  tools: [
    tool({
      name: "read_file",
      description: "Reads a file",
      parameters: z.object({ path: z.string() }),
      execute: ({ path }) => `// ${path}\n` + `export const answer = "${path}";\n`.repeat(25),
    }),
  ],
});

test("thirty turns over a window that needs three compactions: valid, and nothing lost", needsService, async (t) => {
  const contextd = client();
  const settings = { context_window: 4_000, reserve_tokens: 500, keep_recent_tokens: 400 };
  const session = new ContextdSession({ client: contextd, sessionId: `agents-${Date.now()}`, create: { settings } });
  const sessionId = await session.contextdId();
  const { asked, provider } = playedProvider();
  const runner = new Runner({ modelProvider: provider });

  for (let turn = 0; turn < TURNS; turn++) {
    const fact = turn === 1 ? ` ${FACT}` : "";
    await runner.run(agent, `Question ${turn}: what does src/module${turn}.ts export?${fact}`, { session });
    for (const item of await session.getItems()) protocol.ModelItem.parse(item);
  }

  assert.equal(asked.length, TURNS * 2);
  const sent: number[] = [];
  for (const [call, { input }] of asked.entries()) {
    assert.match(
      JSON.stringify(input),
      new RegExp(`Question ${Math.floor(call / 2)}:`),
      `the newest question is in call ${call}`,
    );
    const { violations } = await contextd.lint({ format: "openai_responses", items: input });
    assert.deepEqual(violations, [], `call ${call}`);
    sent.push((await contextd.count({ format: "openai_responses", items: input })).tokens);
  }
  let compactions = 0;
  for await (const { status } of contextd.compactions.list(sessionId)) compactions += Number(status === "succeeded");
  t.diagnostic(`${compactions} compactions; at most ${Math.max(...sent)} tokens sent`);
  assert.ok(compactions >= 3, `${compactions} compactions`);

  const roles = [];
  for await (const { type, role } of contextd.entries.list(sessionId, { all: true }))
    if (type === "message") roles.push(role);
  // A question, the reasoning, a call, its result, an answer.
  assert.equal(roles.length, TURNS * 5);
  for (let turn = 0; turn < TURNS; turn++) {
    const { result_text } = await contextd.toolCalls.get(sessionId, `call-src/module${turn}.ts`);
    assert.match(result_text ?? "", new RegExp(`^// src/module${turn}.ts\n`));
  }
  assert.match(JSON.stringify(asked.at(-1)?.input), /KESTREL-7/);
  await session.clearSession();
});

/** Every kind of item that a session is given; those of one kind in several forms. */
const MIXED: AgentInputItem[] = [
  { type: "message", role: "user", content: "What is this?" },
  {
    role: "user",
    content: [
      { type: "input_text", text: "Look." },
      { type: "input_image", image: "data:image/png;base64,iVBORw0KGgo=", detail: "low" },
    ],
  },
  { role: "user", content: [{ type: "input_file", file: { url: "https://example.com/a.pdf" }, filename: "a.pdf" }] },
  {
    type: "reasoning",
    id: "rs_1",
    content: [{ type: "input_text", text: "Look.", providerData: { a: 1 } }],
    providerData: { encrypted_content: "c2VhbGVk" },
  },
  {
    type: "function_call",
    id: "fc_1",
    callId: "c1",
    name: "look",
    arguments: '{"at":1}',
    status: "completed",
    providerData: { a: 1 },
  },
  {
    type: "function_call_result",
    callId: "c1",
    name: "look",
    status: "completed",
    output: { type: "text", text: "A cat" },
  },
  { type: "function_call", callId: "c2", name: "paint", arguments: "{}", status: "completed" },
  {
    type: "function_call_result",
    callId: "c2",
    name: "paint",
    status: "completed",
    output: { type: "image", image: { data: "iVBORw0KGgo=", mediaType: "image/png" } },
  },
  {
    type: "hosted_tool_call",
    id: "ws_1",
    name: "web_search_call",
    status: "completed",
    providerData: { type: "web_search_call" },
  },
  {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "A cat.", providerData: { annotations: [] } }],
  },
  { role: "system", content: "Be short." },
  { role: "assistant", status: "completed", content: [{ type: "output_text", text: "Yes." }] },
];

test("what is not compacted comes back as it was added", needsService, async () => {
  const session = new ContextdSession({ client: client(), sessionId: `mixed-${Date.now()}` });
  await session.addItems([]);
  await session.addItems(MIXED);
  assert.deepEqual(await session.getItems(), MIXED);
  assert.deepEqual(await session.getItems(2), MIXED.slice(-2));
  assert.deepEqual(await session.getItems(0), []);
  const again = new ContextdSession({ client: client(), sessionId: await session.getSessionId() });
  assert.equal(await again.contextdId(), await session.contextdId());
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  await session.clearSession();
});

test("bytes are kept", needsService, async () => {
  const session = new ContextdSession({ client: client(), sessionId: `bytes-${Date.now()}` });
  const data = new Uint8Array([137, 80, 78, 71]);
  await session.addItems([
    { type: "function_call", callId: "c1", name: "paint", arguments: "{}", status: "completed" },
    {
      type: "function_call_result",
      callId: "c1",
      name: "paint",
      status: "completed",
      output: { type: "image", image: { data, mediaType: "image/png" } },
    },
  ]);
  const [, result] = await session.getItems();
  assert(result?.type === "function_call_result");
  assert.deepEqual(result.output, { type: "image", image: { data: "iVBORw==", mediaType: "image/png" } });
  await session.clearSession();
});

test("items are taken off one by one, and stay stored", needsService, async () => {
  const contextd = client();
  const session = new ContextdSession({ client: contextd, sessionId: `pop-${Date.now()}` });
  await session.addItems(MIXED);
  for (let count = MIXED.length; count > 0; count--) {
    assert.deepEqual(await session.popItem(), MIXED[count - 1]);
    assert.equal((await contextd.entries.list(await session.contextdId(), { limit: 200 })).items.length, count - 1);
  }
  assert.equal(await session.popItem(), undefined);
  let stored = 0;
  for await (const { type } of contextd.entries.list(await session.contextdId(), { all: true }))
    stored += Number(type === "message");
  assert.ok(stored >= MIXED.length);
  await session.clearSession();
});

test("an item is taken off a conversation that was compacted", needsService, async () => {
  const contextd = client();
  const settings = { enabled: false, context_window: 8_000, keep_recent_tokens: 200 };
  const session = new ContextdSession({
    client: contextd,
    sessionId: `pop-short-${Date.now()}`,
    create: { settings },
  });
  const said = Array.from(
    { length: 40 },
    (_, turn): AgentInputItem => ({ role: "user", content: `Note ${turn}. `.repeat(30) }),
  );
  await session.addItems(said);
  const { status } = await contextd.sessions.compact(await session.contextdId(), {
    strategy: "summarize",
    force: true,
    wait: 60,
  });
  assert.equal(status, "succeeded");
  const before = await session.getItems();
  assert.ok(before.length < said.length);
  assert.deepEqual(await session.popItem(), said.at(-1));
  assert.deepEqual((await session.getItems()).at(-1), said.at(-2));
  await session.clearSession();
});
