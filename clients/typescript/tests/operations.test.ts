import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Contextd } from "contextd";
import { json, offline, played } from "./support.js";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
}

const { paths } = JSON.parse(readFileSync(new URL("../../../openapi/openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
};

const items = [{ role: "user", content: "Hello" }];
const format = "openai_chat";
const since = "2026-01-01T00:00:00Z";

/** One call for each operation of the document. */
const CALLS: Record<string, (client: Contextd) => unknown> = {
  healthz: (client) => client.health(),
  readyz: (client) => client.ready(),
  metrics: (client) => client.metrics(),
  mcp: (client) => client.mcp({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  tenant_events: (client) => first(client.events({ lastEventId: 3 })),
  compact_items: (client) => client.compact({ format, items, focusTopic: "x" }),
  compact_response: (client) => client.compactResponse({ model: "gpt-5", input: "Hello" }),
  count_tokens: (client) => client.count({ format, items, estimator: "pi" }),
  lint_items: (client) => client.lint({ format, items }),
  create_session: (client) =>
    client.sessions.create({ externalId: "x", metadata: { a: 1 }, settings: { red_at: 0.9 } }),
  get_session: (client) => client.sessions.get("sid"),
  get_session_by_external_id: (client) => client.sessions.getByExternalId("external_id"),
  erase_sessions: (client) => client.sessions.erase({ externalIds: ["x"], metadata: { userId: 5 }, dryRun: true }),
  update_session: (client) => client.sessions.update("sid", { title: "x" }),
  delete_session: (client) => client.sessions.delete("sid"),
  list_sessions: (client) =>
    client.sessions.list({
      externalId: "x",
      state: "red",
      guard: "tripped",
      updatedAfter: "2026-01-01T00:00:00Z",
      metadata: { userId: 5 },
      order: "size",
      limit: 2,
      after: "c",
    }),
  fork_session: (client) => client.sessions.fork("sid", { entryId: "eid" }),
  append_entries: (client) =>
    client.sessions.append("sid", {
      format,
      items,
      parentId: "eid",
      expectedLeafId: null,
      providerError: "x",
      returnContext: format,
    }),
  put_transcript: (client) =>
    client.sessions.putTranscript("sid", { format, items, system: "x", returnContext: format }),
  get_context: (client) => client.sessions.context("sid", { format, leafId: "eid", maxTokens: 9 }),
  rebuild_context: (client) => client.sessions.rebuild("sid", { format, leafId: "eid", maxTokens: 9 }),
  get_composition: (client) => client.sessions.composition("sid", { largest: 3 }),
  get_timeline: (client) => client.sessions.timeline("sid", { points: 30 }),
  get_snapshot: (client) => client.sessions.snapshot("sid"),
  reset_anti_thrash: (client) => client.sessions.resetAntiThrash("sid"),
  prepare_compaction: (client) => client.sessions.prepare("sid", { includeMessages: true }),
  compact_session: (client) =>
    client.sessions.compact("sid", { focusTopic: "x", firstKeptEntryId: "eid", force: true, wait: 1 }),
  get_tree: (client) => client.sessions.tree("sid"),
  navigate: (client) =>
    client.sessions.navigate("sid", { targetId: "eid", summarize: true, replaceInstructions: true }),
  list_tasks: (client) => client.sessions.tasks("sid"),
  list_files: (client) => client.sessions.files("sid"),
  search: (client) => client.sessions.search("sid", { q: "x", limit: 2, after: "c" }),
  session_events: (client) => first(client.sessions.events("sid", { lastEventId: "3" })),
  export_session: (client) => first(client.sessions.export("sid", { format, leafId: "eid" })),
  list_entries: (client) => client.entries.list("sid", { leafId: "eid", all: true, limit: 2, after: "c" }),
  get_entry: (client) => client.entries.get("sid", "eid"),
  set_label: (client) => client.entries.setLabel("sid", "eid", "x"),
  list_compactions: (client) =>
    client.compactions.list("sid", { status: "failed", trigger: "auto", strategy: "mask", skipReason: "low_savings", upstream: "u", since, prepared: true, limit: 2, after: "c" }),
  list_all_compactions: (client) =>
    client.compactions.listAll({ sessionId: "sid", status: "failed", trigger: "auto", strategy: "mask", skipReason: "low_savings", upstream: "u", since, prepared: true, limit: 2, after: "c" }),
  get_compaction: (client) => client.compactions.get("cid"),
  cancel_compaction: (client) => client.compactions.cancel("cid"),
  revert_compaction: (client) => client.compactions.revert("cid"),
  diff_compaction: (client) => client.compactions.diff("cid", { limit: 2, after: "c" }),
  get_evidence: (client) => client.compactions.evidence("cid"),
  get_refused_text: (client) => client.compactions.refused("cid"),
  retry_compaction: (client) => client.compactions.retry("cid"),
  purge_compactions: (client) => client.compactions.purge({ sessionId: "sid", before: since }),
  search_all: (client) => client.search({ q: "x", limit: 2, after: "c" }),
  get_stats: (client) => client.stats({ since, bucket: 60 }),
  list_tool_calls: (client) => client.toolCalls.list("sid", { limit: 2, after: "c" }),
  get_tool_call: (client) => client.toolCalls.get("sid", "tool_call_id"),
  list_chapters: (client) => client.chapters.list("sid"),
  write_chapters: (client) =>
    client.chapters.write("sid", { chapters: [{ start: 1, end: 2, name: "x", message: "y" }] }),
  get_chapter_task: (client) => client.chapters.task("sid"),
  read_vfs_root: (client) => client.chapters.folder("sid"),
  read_vfs: (client) => client.chapters.read("sid", "path"),
  create_hook: (client) =>
    client.hooks.create({ url: "http://x.test", events: ["after_compact"], timeoutMs: 9, onError: "cancel" }),
  get_hook: (client) => client.hooks.get("hid"),
  update_hook: (client) => client.hooks.update("hid", { onError: "continue" }),
  delete_hook: (client) => client.hooks.delete("hid"),
  list_hooks: (client) => client.hooks.list({ limit: 2, after: "c" }),
  list_hook_deliveries: (client) => client.hooks.deliveries("hid", { limit: 2, after: "c" }),
  redeliver: (client) => client.hooks.redeliver("hid", "did"),
  create_key: (client) =>
    client.keys.create({ name: "x", scopes: ["read"], expiresAt: "2999-01-01T00:00:00Z", limits: { requests_per_minute: 9 } }),
  get_key: (client) => client.keys.get("kid"),
  list_keys: (client) => client.keys.list({ limit: 2, after: "c" }),
  rotate_key: (client) => client.keys.rotate("kid", { graceSeconds: 9 }),
  revoke_key: (client) => client.keys.revoke("kid"),
  get_settings_schema: (client) => client.settingsSchema(),
  list_upstreams: (client) => client.upstreams({ limit: 2, after: "c" }),
  list_models: (client) => client.models({ limit: 2, after: "c" }),
};

/** Methods that send nothing of their own. */
const HELPERS = ["Compactions.wait", "Sessions.getOrCreate", "ToolCalls.userMessage"];

const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
);

test("every operation of the document has a call, and no other", () => {
  assert.deepEqual(Object.keys(CALLS).sort(), OPERATIONS.map(({ operationId }) => operationId).sort());
});

for (const { operationId, method, path, parameters = [] } of OPERATIONS) {
  test(`${operationId} is ${method} ${path}`, async () => {
    const { fetch, sent } = played(json({ items: [] }));
    // What is played is no stream: those calls fail, once they are sent.
    await Promise.resolve(CALLS[operationId]?.(offline(fetch))).catch(() => undefined);
    const [call] = sent;
    assert(call);
    const [target, search] = call.path.split("?");
    assert.equal(call.method, method);
    assert.equal(target, path.replace(/[{}]/g, ""));
    const takes = parameters.map(({ name }) => name.toLowerCase());
    // Of an object, each key is a parameter.
    const given = [...new URLSearchParams(search).keys()].map((name) => name.replace(/\[.*\]$/, ""));
    assert.deepEqual(
      given.filter((name) => !takes.includes(name)),
      [],
    );
    const isPage = takes.includes("limit");
    if (isPage)
      assert.deepEqual(given.sort(), parameters.flatMap((one) => (one.in === "query" ? [one.name] : [])).sort());
    for (const header of ["idempotency-key", "last-event-id"]) {
      if (header !== "idempotency-key" || operationId !== "mcp")
        assert.equal(header in call.headers, takes.includes(header), header);
    }
  });
}

test("what a record numbers is asked for by its number", async () => {
  const { fetch, sent } = played(json({}));
  await offline(fetch).toolCalls.get("sid", "#47");
  await offline(fetch).toolCalls.userMessage("sid", 12);
  assert.deepEqual(
    sent.map(({ method, path }) => `${method} ${path}`),
    ["GET /v1/sessions/sid/tool-calls/%2347", "GET /v1/sessions/sid/tool-calls/u12"],
  );
});

test("every method is tried above", () => {
  const tried = Object.values(CALLS).join("\n");
  const client = offline(played(json({})).fetch);
  const { baseURL: _, ...resources } = client;
  for (const [name, resource] of Object.entries({ client, ...resources })) {
    const prefix = name === "client" ? "client." : `client.${name}.`;
    for (const method of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
      const isTried = tried.includes(`${prefix}${method}(`);
      const label = `${resource.constructor.name}.${method}`;
      assert.ok(method === "constructor" || isTried || HELPERS.includes(label), label);
    }
  }
});

async function first(source: AsyncIterable<unknown>): Promise<unknown> {
  for await (const one of source) return one;
  return undefined;
}
