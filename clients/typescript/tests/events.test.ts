import assert from "node:assert/strict";
import { test } from "node:test";
import { APIConnectionError, type Fetch, NotFoundError, type StreamEvent } from "contextd";
import { LineDecoder } from "../dist/lines.js";
import { client, needsService, offline, played, problem, stream } from "./support.js";

test("lines are the same however the text is cut", () => {
  const text = "id: 1\r\nevent: snapshot\rdata: {}\n\n: ping\r\n\r\ndata: é\n";
  const lines = ["id: 1", "event: snapshot", "data: {}", "", ": ping", "", "data: é"];
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second++) {
      const decoder = new LineDecoder();
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      assert.deepEqual(
        pieces.flatMap((piece) => decoder.decode(piece)),
        lines,
        `${first} ${second}`,
      );
    }
  }
});

test("a line that never ends is refused", () => {
  const decoder = new LineDecoder(10);
  decoder.decode("12345\n1234567890");
  assert.throws(() => decoder.decode("1"), /longer than 10/);
});

test("a stream is taken up behind the last event with an id", async () => {
  const { fetch, sent } = played(
    stream(
      ["retry: 1000\nid: 7\nevent: ready\ndata: {}\n\n", 'event: snapshot\ndata: {"tokens":', "1}\n\n"],
      new TypeError("terminated"),
    ),
    problem(503, "shutting_down", {}, { "retry-after": "0" }),
    stream([': quiet\n\nid: 9\nevent: compaction.succeeded\ndata: {"status":"succeeded"}\n\nid: 10\nevent: half']),
    problem(404, "not_found"),
  );
  const events: StreamEvent[] = [];
  const source = offline(fetch).events();
  await assert.rejects(async () => {
    for await (const event of source) events.push(event);
  }, NotFoundError);
  assert.deepEqual(events, [
    { type: "ready", id: "7", data: {} },
    { type: "snapshot", id: undefined, data: { tokens: 1 } },
    { type: "compaction.succeeded", id: "9", data: { status: "succeeded" } },
  ]);
  assert.deepEqual(
    sent.map(({ headers }) => headers["last-event-id"]),
    [undefined, "7", "7", "9"],
  );
  assert.equal(source.lastEventId, "9");
});

test("connections that bring nothing are bounded", async () => {
  const { fetch, sent } = played(stream([": nothing\n\n"]));
  await assert.rejects(async () => {
    for await (const event of offline(fetch).sessions.events("s1", { lastEventId: 0, maxRetries: 2, names: "acp" }))
      assert.fail(event.type);
  }, APIConnectionError);
  assert.equal(sent.length, 3);
  assert.equal(sent[0]?.headers["last-event-id"], "0");
  assert.equal(sent[0]?.path, "/v1/sessions/s1/events?names=acp");
});

test("a stream that is left is closed, however slowly it was read", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { fetch, isClosed } = endless();
  for await (const { type } of offline(fetch).events()) {
    assert.equal(type, "ready");
    // Longer than any limit: those are for the service, not for the reader.
    t.mock.timers.tick(3_600_000);
    assert.equal(isClosed(), false);
    break;
  }
  assert.equal(isClosed(), true);
});

test("a stream that falls silent is taken up again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { fetch: silent } = endless();
  const { fetch, sent } = played((init) => silent("http://played.test", init), problem(404, "not_found"));
  const ended = assert.rejects(async () => {
    for await (const { type } of offline(fetch).events()) assert.equal(type, "ready");
  }, NotFoundError);
  for (let ticks = 0; sent.length < 2; ticks += 1) {
    assert.ok(ticks < 100, "no second connection");
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(10_000);
  }
  await ended;
  assert.equal(sent[1]?.headers["last-event-id"], "1");
});

test("events of a session arrive once each over a broken connection", needsService, async () => {
  const { fetch, breaks } = breaking(2);
  const { id } = await client().sessions.create({ settings: { enabled: false, context_window: 8_000 } });
  const source = client({ fetch }).sessions.events(id, { signal: AbortSignal.timeout(60_000) });
  const events: StreamEvent[] = [];
  for await (const event of source) {
    if (events.push(event) === 1) await fill(id);
    if (event.type === "compaction.succeeded") break;
  }
  assert.ok(breaks() > 0, "the connection was broken");
  const ids = events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => a - b),
  );
  const recorded = events.filter(({ id }) => id !== undefined).map(({ type }) => type);
  for (const type of ["compaction.queued", "compaction.succeeded"]) {
    assert.ok(recorded.includes(type as StreamEvent["type"]), `${type} in ${recorded.join()}`);
  }
  const phases = events.flatMap((event) => (event.type === "snapshot" && event.data.phase ? [event.data.phase] : []));
  assert.deepEqual(phases, ["before", "after"]);
  await client().sessions.delete(id);
});

test("the stream of a session that is erased ends as not found", needsService, async () => {
  const { id } = await client().sessions.create();
  await assert.rejects(async () => {
    for await (const event of client().sessions.events(id, { signal: AbortSignal.timeout(60_000) })) {
      assert.equal(event.type, "snapshot");
      await client().sessions.delete(id);
    }
  }, NotFoundError);
});

async function fill(sessionId: string): Promise<void> {
  const items = Array.from({ length: 40 }, (_, turn) => [
    { role: "user", content: `Question ${turn}: what does module ${turn} do?` },
    { role: "assistant", content: `Module ${turn} reads its part of the input. `.repeat(8) },
  ]).flat();
  await client().sessions.append(sessionId, { format: "openai_chat", items });
  await client().sessions.compact(sessionId, { strategy: "summarize", force: true, wait: 30 });
}

/** A `fetch` whose stream gives one event, and never ends. */
function endless(): { fetch: Fetch; isClosed: () => boolean } {
  let isClosed = false;
  const fetch: Fetch = async (_, { signal }) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("id: 1\nevent: ready\ndata: {}\n\n"));
        signal?.addEventListener("abort", () => {
          isClosed = true;
          controller.error(signal.reason);
        });
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return { fetch, isClosed: () => isClosed };
}

/** A `fetch` whose streams break in the middle of an event, each after so many. */
function breaking(after: number): { fetch: Fetch; breaks: () => number } {
  let breaks = 0;
  const through: Fetch = async (url, init) => {
    const answer = await fetch(url, init);
    if (answer.headers.get("content-type") !== "text/event-stream") return answer;
    return new Response(
      cut(answer.body ?? assert.fail(), after, () => (breaks += 1)),
      answer,
    );
  };
  return { fetch: through, breaks: () => breaks };
}

/** The first events of a stream and the beginning of the next, then an error. */
function cut(source: ReadableStream<Uint8Array>, after: number, onBreak: () => void): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let text = "";
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const events = text.split("\n\n");
    if (events.length > after) {
      onBreak();
      controller.error(new TypeError("terminated"));
      return reader.cancel();
    }
    const { done, value } = await reader.read();
    if (done) return controller.close();
    const before = text.length;
    text += new TextDecoder().decode(value);
    const whole = text.split("\n\n").slice(0, after).join("\n\n").length + 2;
    controller.enqueue(new TextEncoder().encode(text.slice(before, whole + 10)));
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}
