// Drives `contextd mcp` with the published TypeScript client (npm `@modelcontextprotocol/client`), with a greeting and
// without.
//
//     CONTEXTD_CLIENTS_NODE=$PWD/clients/typescript CONTEXTD_BINARY=target/debug/contextd \
//         node tests/clients/mcp_client.mjs http://127.0.0.1:8080
//
// CONTEXTD_CLIENTS_NODE names a folder whose node_modules has the client.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const require = createRequire(resolve(process.env.CONTEXTD_CLIENTS_NODE, "package.json"));
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const base = process.argv[2];

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(response.ok, path);
  return response.json();
}

async function drive(mode, version) {
  const { id: session_id } = await post("/v1/sessions", {});
  const items = [{ role: "user", content: "Where is the needle? Ünder the hay." }];
  await post(`/v1/sessions/${session_id}/entries`, { format: "openai_chat", items });

  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const env = { CONTEXTD_URL: base };
  await client.connect(new StdioClientTransport({ command: process.env.CONTEXTD_BINARY, args: ["mcp"], env }));
  const spoken = client.getNegotiatedProtocolVersion();
  assert.match(spoken, version);
  const { tools } = await client.listTools();
  const call = (name, more) => client.callTool({ name, arguments: { session_id, ...more } });
  // At once: each is given its own answer.
  const queries = ["needle", "hay", "ünder", "where"];
  const found = await Promise.all(queries.map((query) => call("search", { query })));
  for (const [n, { isError, content }] of found.entries()) {
    assert.ok(!isError && content[0].text.toLowerCase().includes(`<mark>${queries[n]}</mark>`), content[0].text);
  }
  const refused = await call("search", { query: "" });
  assert.ok(refused.isError);
  await assert.rejects(client.readResource({ uri: "contextd://ö" }), /no such resource/);
  await client.close();
  console.log(`ok: ${spoken}, ${tools.length} tools, ${found.length} searches at once`);
}

await drive("legacy", /^2025-/);
await drive("auto", /^2026-/);
