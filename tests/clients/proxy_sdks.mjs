// Asks a played provider through the proxy with the published SDKs (npm `openai` and `@anthropic-ai/sdk`).
//
//     CONTEXTD_CLIENTS_NODE=$PWD/clients/typescript cargo test --test it proxy::sdks::published_typescript -- --ignored
//
// CONTEXTD_CLIENTS_NODE names a folder whose node_modules has them. Arguments: the provider's root, the service's, and what
// to do. `compare` asks the same questions directly and through the proxy, and fails where an SDK reads another answer;
// `converse` has a conversation by each API, of the turns in the file that is named behind it: what the user says, what the
// tool gives if the model calls it, and whether it is streamed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const folder = resolve(process.env.CONTEXTD_CLIENTS_NODE);
const require = createRequire(join(folder, "package.json"));
const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");

const parameters = { type: "object", properties: { path: { type: "string" } } };
const version = (name) => JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"))).version;
const versions = `openai ${version("openai")}, @anthropic-ai/sdk ${version("@anthropic-ai/sdk")}`;

function clients(openaiURL, anthropicURL, session) {
  const options = { apiKey: "sk-client", maxRetries: 0, defaultHeaders: { "contextd-session": session } };
  return { chat: new OpenAI({ ...options, baseURL: openaiURL }), claude: new Anthropic({ ...options, baseURL: anthropicURL }) };
}

async function all(stream) {
  const events = [];
  for await (const event of await stream) events.push(event);
  return events;
}

/** What each SDK makes of the answers, streamed and whole. */
async function said(openaiURL, anthropicURL) {
  const { chat, claude } = clients(openaiURL, anthropicURL, "sdk");
  const messages = [{ role: "user", content: "héllo" }];
  const tools = [{ type: "function", function: { name: "read", parameters } }];
  const completion = { model: "gpt-5", messages, tools };
  const response = { model: "gpt-5", input: "héllo", instructions: "Be brief.", store: false };
  const message = { model: "claude-sonnet-4-5", max_tokens: 99, messages, system: "Be brief." };
  return [
    await chat.chat.completions.create(completion),
    await all(chat.chat.completions.create({ ...completion, stream: true })),
    await chat.responses.create(response),
    await all(chat.responses.create({ ...response, stream: true })),
    await claude.messages.create(message),
    await all(claude.messages.create({ ...message, stream: true })),
    await claude.messages.countTokens({ model: message.model, messages }),
    (await all(chat.models.list())).map(({ id }) => id),
  ];
}

async function compare(provider, service) {
  const direct = await said(`${provider}/v1`, provider);
  const through = await said(`${service}/openai/v1`, `${service}/anthropic`);
  assert.deepEqual(through, direct);
  console.log(`${versions}: ${direct.length} questions, all answers equal`);
}

/** What each API says next, the call in it if there is one, and how the call's result is told. */
const APIS = {
  chat: {
    async ask({ chat }, messages, stream) {
      const asked = { model: "gpt-5", messages };
      const answer = stream
        ? await chat.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion()
        : await chat.chat.completions.create(asked);
      const { content, tool_calls } = answer.choices[0].message;
      if (!tool_calls?.length) return { items: [{ role: "assistant", content }] };
      const [{ id, function: { name, arguments: text } }] = tool_calls;
      const call = { id, type: "function", function: { name, arguments: text } };
      return { items: [{ role: "assistant", content, tool_calls: [call] }], call: id };
    },
    result: (call, text) => ({ role: "tool", tool_call_id: call, content: text }),
  },
  responses: {
    async ask({ chat }, input, stream) {
      const asked = { model: "gpt-5", input, store: false };
      const { output } = stream ? await chat.responses.stream(asked).finalResponse() : await chat.responses.create(asked);
      const items = output.map(({ parsed_arguments, ...item }) => item);
      return { items, call: items[0].call_id };
    },
    result: (call, text) => ({ type: "function_call_output", call_id: call, output: text }),
  },
  messages: {
    async ask({ claude }, messages, stream) {
      const asked = { model: "claude-sonnet-4-5", max_tokens: 99, messages };
      const { content } = stream ? await claude.messages.stream(asked).finalMessage() : await claude.messages.create(asked);
      return { items: [{ role: "assistant", content }], call: content[0].type === "tool_use" ? content[0].id : undefined };
    },
    result: (call, text) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: call, content: text }] }),
  },
};

async function converse(_, service, plan) {
  for (const [name, { ask, result }] of Object.entries(APIS)) {
    const both = clients(`${service}/openai/v1`, `${service}/anthropic`, name);
    const said = [];
    for (const turn of JSON.parse(readFileSync(plan, "utf8"))) {
      said.push({ role: "user", content: turn.text });
      let { items, call } = await ask(both, said, turn.stream);
      said.push(...items);
      assert.equal(call === undefined, turn.result === null, `${name}: ${turn.text}`);
      if (call === undefined) continue;
      said.push(result(call, turn.result));
      ({ items, call } = await ask(both, said, turn.stream));
      assert.equal(call, undefined);
      said.push(...items);
    }
  }
  console.log(`${versions}: conversations by ${Object.keys(APIS).join(", ")}`);
}

const [provider, service, task, ...more] = process.argv.slice(2);
await { compare, converse }[task](provider, service, ...more);
