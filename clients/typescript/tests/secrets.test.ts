import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Contextd } from "contextd";
import { json, offline, played } from "./support.js";

const KEY = "ctx_very_secret";

test("the key is sent, and shown nowhere", async () => {
  const { fetch, sent } = played(json({}), new TypeError("fetch failed"));
  const client = offline(fetch, { apiKey: KEY, maxRetries: 0 });
  await client.sessions.get("s1");
  assert.equal(sent[0]?.headers["authorization"], `Bearer ${KEY}`);
  const failure = await client.sessions.get("s1").catch((error: unknown) => error);
  const list = client.sessions.list();
  for (const thing of [client, client.sessions, client.events(), list, failure]) {
    const shown = [inspect(thing, { depth: null, showHidden: true }), JSON.stringify(thing), String(thing)];
    assert.doesNotMatch(shown.join(), new RegExp(KEY));
  }
});

test("what can't be sent is refused without being shown", () => {
  for (const apiKey of [`${KEY}\n`, `${KEY} x`, `${KEY}é`]) {
    assert.throws(
      () => new Contextd({ apiKey }),
      (error: Error) => error instanceof TypeError && !error.message.includes(KEY),
    );
  }
  for (const baseURL of [`http://me:${KEY}@host`, "ftp://host", "host", `http://host/?key=${KEY}`]) {
    assert.throws(
      () => new Contextd({ baseURL }),
      (error: Error) => error instanceof TypeError && !error.message.includes(KEY),
    );
  }
});

test("URL and key come from the arguments, else the environment, else there are defaults", async () => {
  const { fetch, sent } = played(json({}));
  const before = { ...process.env };
  try {
    delete process.env["CONTEXTD_URL"];
    assert.equal(new Contextd().baseURL, "http://127.0.0.1:8080");
    Object.assign(process.env, { CONTEXTD_URL: "https://named.test/below/", CONTEXTD_API_KEY: KEY });
    const client = new Contextd({ fetch });
    assert.equal(client.baseURL, "https://named.test/below");
    await client.sessions.get("s1");
    assert.equal(sent[0]?.path, "/below/v1/sessions/s1");
    assert.equal(sent[0]?.headers["authorization"], `Bearer ${KEY}`);
    assert.equal(new Contextd({ baseURL: "http://given.test" }).baseURL, "http://given.test");
  } finally {
    process.env = before;
  }
});
