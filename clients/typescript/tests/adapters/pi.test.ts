import type { CompactionResult, ExtensionFactory, SessionEntry } from "@earendil-works/pi-coding-agent";
import assert from "node:assert/strict";
import { test } from "node:test";
import { contextdExtension } from "contextd/pi";
import { messagesOf, storedEntries } from "../../dist/adapters/pi-entries.js";
import { client, needsService } from "../support.js";
import { node, Pi, PlayedProvider } from "./pi-agent.js";
import { assertAsked, assertKept, question, settings, TURNS } from "./reader.js";

const needsPi = needsService.skip ? needsService : { skip: node ? false : "pi needs Node 22.19: see the script `test`" };

/** pi with the extension, and what its model is asked; all is taken down behind `use`. */
async function withPi(use: (pi: Pi, provider: PlayedProvider) => Promise<void>): Promise<void> {
  const provider = new PlayedProvider();
  const pi = new Pi(await provider.listen());
  try {
    await use(pi, provider);
    assert.deepEqual(pi.errors, []);
  } finally {
    await pi.close();
    provider.close();
  }
}

/** The session in contextd of pi's session. */
async function sessionOf(pi: Pi) {
  const { sessionId } = (await pi.command({ type: "get_state" })) as { sessionId: string };
  return client().sessions.getOrCreate(sessionId);
}

async function assertValid({ asked }: PlayedProvider): Promise<number> {
  const sent: number[] = [];
  for (const { messages } of asked) {
    const { violations } = await client().lint({ format: "openai_chat", items: messages });
    assert.deepEqual(violations, []);
    sent.push((await client().count({ format: "openai_chat", items: messages })).tokens);
  }
  assert.ok(Math.max(...sent) <= settings.context_window, sent.join());
  return Math.max(...sent);
}

test("thirty turns over a window that needs three compactions: valid, and nothing lost", needsPi, (t) =>
  withPi(async (pi, provider) => {
    for (let turn = 0; turn < TURNS; turn++) await pi.prompt(question(turn));
    assertAsked(provider.asked.map(({ messages }) => messages));
    const sent = await assertValid(provider);
    const session = await sessionOf(pi);
    assert.match(String(session.system), /^You are careful\./);
    assert.equal(session.settings.context_window, settings.context_window);
    const compactions = await assertKept(client(), session.id);
    t.diagnostic(`${compactions} compactions; at most ${sent} tokens sent`);
    await client().sessions.delete(session.id);
  }),
);

test("pi's own compactions are contextd's, and the conversation goes on", needsPi, () =>
  withPi(async (pi, provider) => {
    for (const turn of [0, 1, 2, 3]) await pi.prompt(question(turn));
    const calls = provider.asked.length;
    const compaction = (await pi.command({ type: "compact", customInstructions: "Keep dates." })) as CompactionResult;
    assert.equal(provider.asked.length, calls, "no model of pi's is asked");
    const { contextd } = compaction.details as { contextd: { compactionId: string } };
    assert.equal((await client().compactions.get(contextd.compactionId)).status, "succeeded");
    assert.match(compaction.summary, /KESTREL-7/);

    const before = await sessionOf(pi);
    await pi.prompt(question(4));
    await pi.prompt(question(5));
    await assertValid(provider);
    const last = JSON.stringify(provider.asked.at(-1));
    assert.equal(last.match(/<context-summary>/g)?.length, 1, "one summary, and not pi's beside it");
    const after = await sessionOf(pi);
    assert.equal(after.id, before.id);
    const { nodes } = await client().sessions.tree(after.id);
    const parents = nodes.map(({ parent_id }) => parent_id);
    assert.equal(new Set(parents).size, parents.length, "one branch");
    await client().sessions.delete(after.id);
  }),
);
