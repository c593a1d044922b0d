import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import {
  APIConnectionError,
  APIStatusError,
  APITimeoutError,
  ConflictError,
  InvalidRequestError,
  InvalidResponseError,
  NotFoundError,
  RateLimitError,
  UnavailableError,
} from "contextd";
import { json, offline, played, problem, silence } from "./support.js";

const session = { id: "s1" };

test("a write is tried again with one key and one body, whatever the failure", async () => {
  const { fetch, sent } = played(
    new TypeError("fetch failed"),
    problem(503, "unavailable", {}, { "retry-after": "0" }),
    problem(409, "idempotency_in_progress", {}, { "retry-after": "0" }),
    json(session, 201),
  );
  const created = await offline(fetch).sessions.create({ externalId: "x" });
  assert.deepEqual(created, session);
  assert.equal(sent.length, 4);
  const keys = new Set(sent.map(({ headers }) => headers["idempotency-key"]));
  assert.equal(keys.size, 1);
  assert.ok([...keys][0]);
  for (const { body } of sent) assert.deepEqual(body, { external_id: "x" });
});

test("a failed connection says what it failed of", async () => {
  const { fetch } = played(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:9") }));
  const failure = offline(fetch, { maxRetries: 0 }).sessions.get("s1");
  await assert.rejects(failure, {
    name: "APIConnectionError",
    message: "no answer: fetch failed: connect ECONNREFUSED 127.0.0.1:9",
  });
});

test("what is erased by a try whose answer was lost is erased", async () => {
  const { fetch, sent } = played(new TypeError("terminated"), problem(404, "not_found"));
  await offline(fetch).sessions.delete("s1");
  assert.equal(sent.length, 2);
  await assert.rejects(offline(played(problem(404, "not_found")).fetch).sessions.delete("s1"), NotFoundError);
});

test("two writes have two keys, unless the caller says otherwise", async () => {
  const { fetch, sent } = played(json(session));
  const client = offline(fetch);
  await client.sessions.create();
  await client.sessions.create();
  await client.sessions.create({}, { idempotencyKey: "mine" });
  const keys = sent.map(({ headers }) => headers["idempotency-key"]);
  assert.notEqual(keys[0], keys[1]);
  assert.equal(keys[2], "mine");
});

test("all clients create an external id with one key", async () => {
  const { fetch, sent } = played(json({ items: [] }), json(session));
  await offline(fetch).sessions.getOrCreate("Ünïcode/1");
  // The Python client's tests have the same key.
  const key = "external-id-80cff09f2ef7bbadae63c91add11111330c171dba505a1565ff922c0bcc9782e";
  assert.equal(sent[1]?.headers["idempotency-key"], key);
});

test("an answer that breaks off is asked for again", async () => {
  const broken = new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"id":')),
      pull: (controller) => controller.error(new TypeError("terminated")),
    }),
    { headers: { "content-type": "application/json" } },
  );
  const { fetch, sent } = played(async () => broken, json(session));
  assert.deepEqual(await offline(fetch).sessions.get("s1"), session);
  assert.equal(sent.length, 2);
});

test("what is wrong with a request is said at once", async () => {
  const errors = [{ pointer: "/settings/red_at", detail: "must be at most 1" }];
  const { fetch, sent } = played(problem(422, "validation_failed", { errors, request_id: "r1" }));
  const failure = await offline(fetch)
    .sessions.create()
    .catch((error: unknown) => error);
  assert(failure instanceof InvalidRequestError);
  assert.equal(sent.length, 1);
  assert.equal(failure.name, "InvalidRequestError");
  assert.equal(failure.status, 422);
  assert.equal(failure.code, "validation_failed");
  assert.equal(failure.title, "validation_failed");
  assert.equal(failure.pointer, "/settings/red_at");
  assert.equal(failure.requestId, "r1");
  assert.match(failure.message, /422 validation_failed: as played; \/settings\/red_at: must be at most 1/);
});

test("errors have the class of their status, and the figures of their code", async () => {
  const cases = [
    [problem(404, "not_found"), NotFoundError],
    [problem(409, "leaf_moved", { leaf_id: "e7" }), ConflictError],
    [problem(429, "queue_full", {}, { "retry-after": "7" }), RateLimitError],
    [problem(503, "unavailable", {}, { "retry-after": "2" }), UnavailableError],
    [new Response("<h1>Bad gateway</h1>", { status: 502 }), APIStatusError],
    [new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } }), APIStatusError],
  ] as const;
  for (const [answer, Class] of cases) {
    const { fetch } = played(answer);
    const failure = await offline(fetch, { maxRetries: 0 })
      .sessions.get("s1")
      .catch((error: unknown) => error);
    assert(failure instanceof Class, `${answer.status}`);
    assert.equal(failure.status, answer.status);
    if (failure.code === "leaf_moved") assert.equal(failure.problem["leaf_id"], "e7");
    if (failure.code === "queue_full") assert.equal(failure.retryAfter, 7);
  }
});

test("tries are bounded, in number and in patience", async () => {
  const busy = played(problem(429, "queue_full", {}, { "retry-after": "0" }));
  await assert.rejects(offline(busy.fetch, { maxRetries: 2 }).sessions.get("s1"), RateLimitError);
  assert.equal(busy.sent.length, 3);
  const away = played(problem(503, "unavailable", {}, { "retry-after": "3600" }));
  await assert.rejects(offline(away.fetch).sessions.get("s1"), { retryAfter: 3600 });
  assert.equal(away.sent.length, 1);
});

test("no answer in time is an error that may pass", async () => {
  const { fetch, sent } = played(silence, json(session));
  assert.deepEqual(await offline(fetch, { timeoutMs: 20 }).sessions.get("s1"), session);
  assert.equal(sent.length, 2);
  const never = played(silence);
  const failure = await offline(never.fetch, { timeoutMs: 20, maxRetries: 0 })
    .sessions.get("s1")
    .catch((error: unknown) => error);
  assert(failure instanceof APITimeoutError && failure instanceof APIConnectionError);
});

test("the time limit of a call that waits has the wait on top", async () => {
  const late = (init: RequestInit) =>
    Promise.race([silence(init), new Promise<Response>((resolve) => setTimeout(resolve, 60, json({ id: "c1" })))]);
  const { fetch } = played(late);
  const client = offline(fetch, { timeoutMs: 10, maxRetries: 0 });
  await assert.rejects(client.sessions.compact("s1"), APITimeoutError);
  assert.deepEqual(await client.sessions.compact("s1", { wait: 30 }), { id: "c1" });
});

test("the caller's signal ends a call, a pause and a stream, with its own reason", async () => {
  const reason = new Error("no longer wanted");
  const calls = [
    () => played(silence),
    () => played(problem(503, "unavailable", {}, { "retry-after": "60" })),
    () => played(new TypeError("fetch failed")),
  ];
  for (const call of calls) {
    const controller = new AbortController();
    const running = offline(call().fetch).sessions.get("s1", { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 10);
    await assert.rejects(running, reason);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  }
  await assert.rejects(
    offline(played(json(session)).fetch).sessions.get("s1", { signal: AbortSignal.abort(reason) }),
    reason,
  );
});

test("a call leaves no listener on the caller's signal", async () => {
  const { signal } = new AbortController();
  const { fetch } = played(json(session));
  await offline(fetch).sessions.get("s1", { signal });
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("an answer of somebody else is told as such", async () => {
  const page = new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } });
  const { fetch, sent } = played(page);
  await assert.rejects(offline(fetch).sessions.get("s1"), InvalidResponseError);
  await assert.rejects(async () => {
    for await (const event of offline(fetch).events()) assert.fail(event.type);
  }, InvalidResponseError);
  assert.equal(sent.length, 2);
});

test("ids stay in their segment of the path", async () => {
  const { fetch, sent } = played(json({}));
  const client = offline(fetch);
  await client.toolCalls.get("s1", "call/1?x#y é");
  assert.equal(sent[0]?.path, "/v1/sessions/s1/tool-calls/call%2F1%3Fx%23y%20%C3%A9");
  await client.chapters.read("s1", "/1 first/2.md");
  assert.equal(sent[1]?.path, "/v1/sessions/s1/vfs/1%20first/2.md");
  for (const id of ["", ".", ".."]) assert.throws(() => client.sessions.get(id), TypeError);
  assert.throws(() => client.chapters.read("s1", "a/../../b"), TypeError);
});

test("a list asks for its pages as they are used", async () => {
  const { fetch, sent } = played(json({ items: [1, 2], next_cursor: "c&2" }), json({ items: [3], next_cursor: null }));
  const all = [];
  const list = offline(fetch).sessions.list({ externalId: "x", limit: 2, updatedAfter: new Date(0) });
  assert.equal(sent.length, 0);
  for await (const item of list) all.push(item);
  assert.deepEqual(all, [1, 2, 3]);
  assert.deepEqual(
    sent.map(({ path }) => path),
    [
      "/v1/sessions?external_id=x&limit=2&updated_after=1970-01-01T00%3A00%3A00.000Z",
      "/v1/sessions?external_id=x&limit=2&updated_after=1970-01-01T00%3A00%3A00.000Z&after=c%262",
    ],
  );
});

test("a page can be held, and its cursor used later", async () => {
  const { fetch, sent } = played(json({ items: [1, 2], next_cursor: "c2" }), json({ items: [3] }));
  const client = offline(fetch);
  const page = await client.entries.list("s1");
  assert.deepEqual(page.items, [1, 2]);
  assert.equal(page.nextCursor, "c2");
  const next = await client.entries.list("s1", { after: page.nextCursor });
  assert.equal(await next.nextPage(), undefined);
  assert.equal(sent[1]?.path, "/v1/sessions/s1/entries?after=c2");
});
