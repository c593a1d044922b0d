import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { needsPi, nodeForPi } from "./node-for-pi.js";
import { needsService } from "./support.js";

const sources = new URL("../../../examples/typescript/", import.meta.url);
const compiled = new URL("./examples/", import.meta.url);

const EXAMPLES = [
  { name: "ai-sdk", needs: needsService },
  { name: "openai-agents", needs: needsService },
  { name: "mastra", needs: needsService },
  { name: "pi", needs: needsPi, node: nodeForPi },
];

for (const { name, needs, node = process.execPath } of EXAMPLES) {
  test(`the example ${name} recalls what it was told first`, needs, (t) => {
    const lines = readFileSync(new URL(`${name}.ts`, sources), "utf8")
      .trimEnd()
      .split("\n");
    assert.ok(lines.length < 60, `${lines.length} lines`);
    const { status, stdout, stderr } = spawnSync(node, [fileURLToPath(new URL(`${name}.js`, compiled))], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^The deadline is 2031-04-05\. \d+ entries, [1-9]\d* compactions\.$/m);
    const ours = lines.filter((line) => line.endsWith("// contextd"));
    t.diagnostic(`${lines.length} lines, of them ${ours.length} for contextd. ${stdout.trim()}`);
  });
}
