import type { CompactionResult, ContextEvent, ExtensionFactory, SessionEntry } from "@earendil-works/pi-coding-agent";
import assert from "node:assert/strict";
import { test } from "node:test";
import { contextdExtension } from "contextd/pi";
import { messagesOf, storedEntries } from "../../dist/adapters/pi-entries.js";
import { needsPi } from "../node-for-pi.js";
import { client } from "../support.js";
import { Pi, PlayedProvider } from "./pi-agent.js";
import { assertAsked, assertKept, question, settings, TURNS } from "./reader.js";

type Message<Role> = Extract<ContextEvent["messages"][number], { role: Role }>;

/** pi with the extension, and what its model is asked; all is taken down behind `use`. */
async function withPi(
  use: (pi: Pi, provider: PlayedProvider) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const provider = new PlayedProvider();
  const pi = new Pi(await provider.listen(), env);
  try {
    await use(pi, provider);
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
    assert.deepEqual(pi.errors, []);
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
    assert.deepEqual(pi.errors, []);
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

test("the window is that of the model in use", needsPi, () =>
  withPi(async (pi) => {
    await pi.prompt(question(0));
    await pi.command({ type: "set_model", provider: "played", modelId: "wide" });
    await pi.prompt(question(1));
    assert.deepEqual(pi.errors, []);
    const { id, settings: now } = await sessionOf(pi);
    assert.equal(now.context_window, 2 * settings.context_window);
    await client().sessions.delete(id);
  }),
);

test("without contextd pi says so, and goes on with what it has", needsPi, () =>
  withPi(
    async (pi, provider) => {
      await pi.prompt(question(0));
      assert.equal(provider.asked.length, 2);
      assert.match(pi.errors[0]?.error ?? "", /^no answer: /);
    },
    { CONTEXTD_URL: "http://127.0.0.1:9/" },
  ),
);

test("an entry is stored as what it is to a model", () => {
  const base = (id: string, parentId: string | null) => ({ id, parentId, timestamp: "2026-01-01T00:00:00.000Z" });
  const said = (content: string): Message<"user"> => ({ role: "user", content, timestamp: 1 });
  const branch: SessionEntry[] = [
    {
      ...base("a", null),
      type: "message",
      message: { role: "system", content: "Be careful.", timestamp: 1 } as Message<"system">,
    },
    { ...base("b", "a"), type: "message", message: said("One") },
    { ...base("c", "b"), type: "message", message: said("Two") },
    { ...base("d", "c"), type: "message", message: said("Three") },
    { ...base("e", "d"), type: "context_edit", targetId: "b", replacement: null },
    { ...base("f", "e"), type: "context_edit", targetId: "c", replacement: { content: "Too" } },
    {
      ...base("g", "f"),
      type: "compaction",
      summary: "S",
      firstKeptEntryId: "d",
      tokensBefore: 9,
      details: { contextd: {} },
    },
    { ...base("h", "g"), type: "compaction", summary: "T", firstKeptEntryId: "d", tokensBefore: 9 },
    { ...base("i", "h"), type: "custom_message", customType: "note", content: "N", display: true },
    { ...base("j", "i"), type: "branch_summary", fromId: "x", summary: "B" },
  ];
  const stored = storedEntries(branch) as SessionEntry[];
  assert.deepEqual(
    stored.map(({ id, type }) => `${id} ${type}`),
    [
      "a custom",
      "b custom",
      "c message",
      "d message",
      "e context_edit",
      "f context_edit",
      "g custom",
      "h compaction",
    ].concat(["i custom_message", "j branch_summary"]),
  );
  assert.deepEqual(
    messagesOf(stored).map((message) => ("content" in message ? message.content : message.role)),
    ["Too", "Three", "N", "branchSummary"],
  );
});

test("it is an extension by pi's types", () => {
  const factory: ExtensionFactory = contextdExtension({ client: client() });
  assert.equal(factory.length, 1);
});
