// One turn with a TypeScript client (`openapi-fetch`) over the types that were generated from the OpenAPI document.
// See `generated_typescript.sh`.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./contextd";

const [base, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: base, headers: key ? { authorization: `Bearer ${key}` } : {} });
const started = Date.now();

const created = await client.POST("/v1/sessions", {
  body: { title: "A generated client", settings: { context_window: 32_000, reserve_tokens: 4_000, keep_recent_tokens: 200, keep_recent_results: 0 } },
});
assert(created.data, JSON.stringify(created.error));
const path = { sid: created.data.id };
assert.equal(created.data.settings.context_window, 32_000);

const items: components["schemas"]["ChatMessage"][] = [
  { role: "user", content: "List the files in src." },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "bash", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "call_1", content: "main.rs\nparser.rs\n" + "a line of output\n".repeat(500) },
  { role: "assistant", content: "There are main.rs and parser.rs." },
];
const appended = await client.POST("/v1/sessions/{sid}/entries", {
  params: { path },
  body: { format: "openai_chat", items, return_context: "openai_chat" },
});
assert(appended.data, JSON.stringify(appended.error));
assert.equal(appended.data.entries.length, 4);
assert.deepEqual(appended.data.context?.messages, items);

const done = await client.POST("/v1/sessions/{sid}/compact", { params: { path }, body: { strategy: "mask", wait: 30 } });
assert(done.data, JSON.stringify(done.error));
assert.equal(done.data.status, "succeeded");
const context = await client.GET("/v1/sessions/{sid}/context", { params: { path, query: { format: "anthropic" } } });
assert(context.data && context.data.messages.length > 0 && context.data.tokens > 0);
const page = await client.GET("/v1/sessions/{sid}/entries", { params: { path, query: { limit: 2 } } });
assert(page.data && page.data.items.length === 2 && page.data.next_cursor);

const refused = await client.PATCH("/v1/sessions/{sid}", { params: { path }, body: { settings: { upstream: "nobody" } } });
assert.equal(refused.error?.code, "validation_failed");
assert.equal(refused.error?.errors?.[0]?.pointer, "/settings/upstream");
console.log(`typescript: a turn, a compaction (${done.data.status}) and a refusal in ${(Date.now() - started) / 1000} s`);
