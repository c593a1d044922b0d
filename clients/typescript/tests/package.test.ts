import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { json, needsService, offline, played } from "./support.js";

const root = new URL("../", import.meta.url);
const text = (path: string) => readFileSync(new URL(path, root), "utf8");
const node = (...args: string[]) => spawnSync(process.execPath, args, { cwd: fileURLToPath(root), encoding: "utf8" });

test("the types are those of the API's description", () => {
  const { status, stderr } = node("scripts/generate.mjs", "--check");
  assert.equal(status, 0, stderr);
});

test("the client says its version", async () => {
  const { version } = JSON.parse(text("package.json")) as { version: string };
  const { fetch, sent } = played(json({}));
  await offline(fetch).sessions.get("s1");
  assert.equal(sent[0]?.headers["user-agent"], `contextd-typescript/${version}`);
});

test("the client needs nothing but itself", () => {
  const { dependencies } = JSON.parse(text("package.json")) as { dependencies?: object };
  assert.equal(dependencies, undefined);
  const files = readdirSync(new URL("dist/", root), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".js"))) {
    const imports = [...text(`dist/${file}`).matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)].map(([, name]) => name);
    assert.deepEqual(
      imports.filter((name) => !name?.startsWith(".")),
      [],
      file,
    );
  }
});

test("the README's first example is the one that is tested", () => {
  const example = text("tests/quickstart.ts");
  assert.ok(text("README.md").includes("```ts\n" + example + "```"));
  assert.ok(example.split("\n").length <= 20);
});

test("the README's first example runs", needsService, () => {
  const { status, stdout, stderr } = node("build/quickstart.js");
  assert.equal(status, 0, stderr);
  assert.match(stdout, /1 messages, \d+ of \d+ tokens/);
  assert.match(stdout, /parser/);
});
