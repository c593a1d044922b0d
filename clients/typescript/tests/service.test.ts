import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChatMessage, ConflictError, InvalidRequestError, type Item, NotFoundError } from "contextd";
import { client, needsService } from "./support.js";

const format = "openai_chat";

/** Messages as another SDK types them: interfaces without an index signature. */
interface Said {
  role: "user" | "assistant";
  content: string;
}

function turns(count: number): Said[] {
  return Array.from({ length: count }, (_, turn): Said[] => [
    { role: "user", content: `Question ${turn}: what does module ${turn} do?` },
    {
      role: "assistant",
      content: `Module ${turn} reads its part of the input, checks it and hands it on. `.repeat(6),
    },
  ]).flat();
}

const called: ChatMessage[] = [
  { role: "user", content: "Why does src/parse.rs fail on empty input?" },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id: "call/1",
        type: "function",
        function: { name: "read_file", arguments: '{"file_path":"src/parse.rs"}' },
      },
    ],
  },
  { role: "tool", tool_call_id: "call/1", content: "pub fn parse(text: &str) -> Token { todo!() }\n".repeat(40) },
  { role: "assistant", content: "It is not written yet." },
];

test("a session from its beginning to its end", needsService, async () => {
  const { sessions, entries, toolCalls, compactions } = client();
  const session = await sessions.create({
    externalId: `life-${Date.now()}`,
    system: "You are careful.",
    metadata: { team: "parsers" },
    settings: { enabled: false, context_window: 8_000, keep_recent_tokens: 200 },
  });
  const { id } = session;
  assert.deepEqual(
    (await sessions.list({ externalId: session.external_id ?? "" })).items.map((one) => one.id),
    [id],
  );
  assert.equal((await sessions.update(id, { title: "Life" })).title, "Life");

  const appended = await sessions.append<ChatMessage>(id, {
    format,
    items: called,
    expectedLeafId: null,
    returnContext: format,
  });
  assert.deepEqual(appended.context.messages.slice(-4), called);
  await sessions.append(id, { format, items: turns(20) });

  const stored = [];
  for await (const entry of entries.list(id, { limit: 7 })) stored.push(entry.item);
  assert.deepEqual(stored, [...called, ...turns(20)]);
  const exported: Item[] = [];
  for await (const item of sessions.export(id, { format })) exported.push(item);
  assert.deepEqual(exported, stored);

  assert.equal((await sessions.prepare(id)).possible, true);
  const begun = await sessions.compact(id, { strategy: "summarize", force: true });
  const ended = await compactions.wait(begun.id);
  assert.equal(ended.status, "succeeded", ended.error ?? "");
  assert.deepEqual(
    (await compactions.list(id)).items.map((one) => one.id),
    [begun.id],
  );
  const short = await sessions.rebuild<ChatMessage>(id, { format });
  assert.ok(short.messages.length < stored.length);
  assert.deepEqual((await sessions.context(id, { format })).messages, short.messages);

  assert.match((await toolCalls.get(id, "call/1")).result_text ?? "", /pub fn parse/);
  assert.deepEqual(
    (await toolCalls.list(id)).items.map((row) => row.name),
    ["read_file"],
  );
  assert.deepEqual((await sessions.files(id)).read_files, ["src/parse.rs"]);
  const found = await sessions.search(id, { q: "module 7" });
  assert.equal(found.answer.matched, "all");
  assert.ok(found.items.length > 0);

  await compactions.revert(begun.id);
  assert.equal((await sessions.context(id, { format })).messages.length, appended.context.messages.length + 40);
  await sessions.delete(id);
  await assert.rejects(sessions.get(id), NotFoundError);
});

test("a transcript is put, and what is new in it is stored", needsService, async () => {
  const { sessions, entries } = client();
  const { id } = await sessions.create();
  await sessions.append(id, { format, items: turns(2) });
  const put = await sessions.putTranscript<Said>(id, { format, items: turns(3), returnContext: format });
  assert.deepEqual([put.matched, put.appended, put.forked], [4, 2, false]);
  assert.deepEqual(put.context.messages, turns(3));

  const [opening, answer] = (await entries.list(id, { limit: 2 })).items;
  assert(opening && answer);
  assert.equal((await entries.setLabel(id, opening.id, "opening")).label, "opening");
  const tree = await sessions.tree(id);
  assert.equal(tree.nodes.length, 6);
  assert.equal(tree.nodes[0]?.label, "opening");
  const fork = await sessions.fork(id, { entryId: opening.id });
  assert.equal(fork.entry_count, 1);
  assert.equal((await sessions.navigate(id, { targetId: answer.id })).leaf_id, answer.id);
  assert.equal((await entries.get(id, put.entries[0]?.id ?? "")).role, "user");
  await sessions.delete(id);
  await sessions.delete(fork.id);
});

test("a session is found by its external id, or created once, whoever asks", needsService, async () => {
  const { sessions } = client();
  const externalId = `Ünïcode/${Date.now()}`;
  const both = await Promise.all([
    sessions.getOrCreate(externalId),
    sessions.getOrCreate(externalId, { title: "Another" }),
  ]);
  assert.equal(both[0].id, both[1].id);
  assert.equal((await sessions.getOrCreate(externalId)).id, both[0].id);
  await sessions.delete(both[0].id);
  const anew = await sessions.getOrCreate(externalId);
  assert.notEqual(anew.id, both[0].id);
  await sessions.delete(anew.id);
});

test("tasks become chapters, to be read as files", needsService, async () => {
  const { sessions, chapters } = client();
  const { id } = await sessions.create({ settings: { chaptering_trigger: 1_000 } });
  await sessions.append(id, { format, items: turns(12) });
  assert.equal((await sessions.tasks(id)).length, 12);
  assert.equal((await chapters.task(id)).pending, true);
  const { chapters: written } = await chapters.write(id, {
    chapters: [{ start: 1, end: 8, name: "First modules", message: "Modules 0 to 7 read, check and hand on." }],
  });
  assert.equal((await chapters.list(id)).items[0]?.id, written[0]?.id);
  const folder = await chapters.folder(id);
  assert.equal(folder.entries[0]?.kind, "folder");
  const below = await chapters.read(id, written[0]?.path ?? "");
  assert(typeof below === "object");
  const file = below.entries.find(({ kind }) => kind === "file");
  assert.equal(typeof (await chapters.read(id, `${below.path}${file?.name}`)), "string");
  await sessions.delete(id);
});

test("without a session: compacting, counting, checking", needsService, async () => {
  const contextd = client();
  const { messages, result } = await contextd.compact({
    format,
    items: turns(40),
    settings: { context_window: 8_000 },
  });
  assert.ok(messages.length < 80 && result.tokens_saved > 0);
  const count = await contextd.count({ format, items: turns(2) });
  assert.equal(count.per_item.length, 4);
  const linted = await contextd.lint({ format, items: called.slice(2) });
  assert.equal(linted.valid, false);
  assert.equal(linted.violations[0]?.code, "orphan_result");
  const tools = await contextd.mcp({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  assert.ok(tools?.result);
  assert.equal((await contextd.health()).status, "ok");
  assert.ok((await contextd.ready()).status);
  assert.match(await contextd.metrics(), /contextd_/);
});

test("a key is made, rotated and revoked", needsService, async () => {
  const { keys } = client();
  const key = await keys.create({ name: "dashboard", scopes: ["read"], limits: { requests_per_minute: 600 } });
  assert(key.key);
  assert.equal((await keys.get(key.id)).key ?? null, null);
  const other = await keys.rotate(key.id, { graceSeconds: 60 });
  assert.equal((await keys.get(key.id)).replaced_by, other.id);
  await keys.revoke(other.id);
  const states = [];
  for await (const { id, status } of keys.list()) if (id === key.id || id === other.id) states.push(status);
  assert.deepEqual(states.sort(), ["revoked", "rotated"]);
});

test("what can be set is told", needsService, async () => {
  const schema = await client().settingsSchema();
  assert("context_window" in (schema["properties"] as object));
  assert((await client().upstreams()).items.some(({ name }) => name === "default"));
  assert((await client().models({ limit: 3 })).items.every((model) => model.context_window > 0));
});

test("hooks are kept, and their maker alone is told the secret", needsService, async () => {
  const { hooks } = client();
  const hook = await hooks.create({ url: "https://example.com/hook", events: ["after_compact"], enabled: false });
  assert.ok(hook.secret);
  assert.equal((await hooks.get(hook.id)).secret ?? null, null);
  assert.deepEqual((await hooks.update(hook.id, { events: ["before_compact"] })).events, ["before_compact"]);
  const all = [];
  for await (const { id } of hooks.list()) all.push(id);
  assert.ok(all.includes(hook.id));
  assert.deepEqual((await hooks.deliveries(hook.id)).items, []);
  await hooks.delete(hook.id);
});

test("refusals have their class, code and figures", needsService, async () => {
  const { sessions } = client();
  await assert.rejects(sessions.get("00000000-0000-7000-8000-000000000000"), NotFoundError);
  await assert.rejects(sessions.create({ settings: { red_at: 7 } }), (error) => {
    assert(error instanceof InvalidRequestError);
    assert.equal(error.pointer, "/settings/red_at");
    assert.equal(error.code, "validation_failed");
    assert.ok(error.requestId);
    return true;
  });
  const { id } = await sessions.create();
  const { leaf_id } = await sessions.append(id, { format, items: turns(1) });
  const late = sessions.append(id, { format, items: turns(1), expectedLeafId: null });
  await assert.rejects(late, (error) => error instanceof ConflictError && error.problem["leaf_id"] === leaf_id);
  await sessions.delete(id);
});

test("a write whose answer was lost lands once", needsService, async () => {
  let lost = 0;
  const fetch = async (url: string, init: RequestInit) => {
    const answer = await globalThis.fetch(url, init);
    if (init.method !== "POST" || lost++ > 0) return answer;
    throw new TypeError("terminated");
  };
  const { id } = await client().sessions.create();
  const { entries } = await client({ fetch }).sessions.append(id, { format, items: turns(1) });
  assert.equal(lost, 2);
  assert.equal(entries.length, 2);
  assert.equal((await client().sessions.get(id)).entry_count, 2);
  await client().sessions.delete(id);
});
