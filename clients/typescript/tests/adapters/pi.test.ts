import type { CompactionResult, ContextEvent, ExtensionFactory, SessionEntry } from "@earendil-works/pi-coding-agent";
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { contextdExtension } from "contextd/pi";
import { messagesOf, storedEntries } from "../../dist/adapters/pi-entries.js";
import { needsPi } from "../node-for-pi.js";
import { client } from "../support.js";
import { EXTENSION, folderOf, Pi, PlayedProvider } from "./pi-agent.js";
import { assertAsked, assertKept, question, settings, TURNS } from "./reader.js";

type Message<Role> = Extract<ContextEvent["messages"][number], { role: Role }>;

type Start = (args: string[], env?: Record<string, string>) => Pi;

/** Starts of pi in one folder, and the model that it asks; all is taken down behind `use`. */
async function withStarts(use: (start: Start, provider: PlayedProvider) => Promise<void>): Promise<void> {
  const provider = new PlayedProvider();
  const folder = folderOf(await provider.listen());
  const started: Pi[] = [];
  try {
    const start: Start = (args, env) => {
      const pi = new Pi(folder, args, env);
      started.push(pi);
      return pi;
    };
    await use(start, provider);
  } finally {
    for (const pi of started) await pi.close();
    provider.close();
    rmSync(folder, { recursive: true });
  }
}

/** pi with the extension, without a file. */
function withPi(
  use: (pi: Pi, provider: PlayedProvider) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  return withStarts((start, provider) =>
    use(start(["--model", "played", "--no-session", ...EXTENSION], env), provider),
  );
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

test("a session is taken up again, by another model too, and without the extension", needsPi, () =>
  withStarts(async (start, provider) => {
    const first = start(["--model", "played", ...EXTENSION]);
    for (const turn of [0, 1, 2, 3]) await first.prompt(question(turn));
    const { summary } = (await first.command({ type: "compact" })) as CompactionResult;
    const { id } = await sessionOf(first);
    await first.close();

    const second = start(["--model", "wide", "--continue", ...EXTENSION]);
    await second.prompt(question(4));
    const session = await sessionOf(second);
    assert.equal(session.id, id);
    assert.equal(session.settings.context_window, 2 * settings.context_window);
    assert.deepEqual([...first.errors, ...second.errors], []);
    let messages = 0;
    for await (const { type } of client().entries.list(id, { all: true })) messages += Number(type === "message");
    assert.equal(messages, 5 * 4);
    await second.close();

    const third = start(["--model", "played", "--continue"]);
    await third.prompt(question(5));
    const last = JSON.stringify(provider.asked.at(-1));
    assert.ok(last.includes(JSON.stringify(summary).slice(1, -1)), "the summary is in pi's file");
    assert.doesNotMatch(last, /"call-src\/module1\.ts"/);
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
