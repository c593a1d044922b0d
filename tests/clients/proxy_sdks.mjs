// Asks a played provider through the proxy with the published SDKs (npm `openai` and `@anthropic-ai/sdk`).
//
//     CONTEXTD_CLIENTS_NODE=$PWD/clients/typescript cargo test --test it proxy::sdks::published_typescript -- --ignored
//
// CONTEXTD_CLIENTS_NODE names a folder whose node_modules has them. Arguments: the provider's root, the service's, and what
// to do. `compare` asks the same questions directly and through the proxy, and fails where an SDK reads another answer;
// `converse` has a long conversation by each API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const folder = resolve(process.env.CONTEXTD_CLIENTS_NODE);
const require = createRequire(join(folder, "package.json"));
const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");

const TURNS = 24;
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

const APIS = {
  async chat({ chat }, messages, stream) {
    const answer = chat.chat.completions.create({ model: "gpt-5", messages, stream });
    if (!stream) return (await answer).choices[0].message.content;
    return (await all(answer)).map(({ choices }) => choices[0].delta.content ?? "").join("");
  },
  async responses({ chat }, input, stream) {
    const answer = chat.responses.create({ model: "gpt-5", input, store: false, stream });
    if (!stream) return (await answer).output_text;
    return (await all(answer)).map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join("");
  },
  async messages({ claude }, messages, stream) {
    const answer = claude.messages.create({ model: "claude-sonnet-4-5", max_tokens: 99, messages, stream });
    if (!stream) return (await answer).content[0].text;
    return (await all(answer)).map(({ type, delta }) => (type === "content_block_delta" ? delta.text : "")).join("");
  },
};

async function converse(_, service) {
  for (const [name, ask] of Object.entries(APIS)) {
    const both = clients(`${service}/openai/v1`, `${service}/anthropic`, name);
    const messages = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const fact = turn === 1 ? " The release is called KESTREL-7 and must ship before 2031-04-05." : "";
      const text = `Question ${turn}: what does src/module${turn}.ts export?${fact}${" It was long ago.".repeat(60)}`;
      messages.push({ role: "user", content: text });
      const answer = await ask(both, messages, turn % 2 === 1);
      assert.ok(answer, `${name}, turn ${turn}`);
      messages.push({ role: "assistant", content: answer });
    }
    console.log(`${versions}: ${TURNS} turns of ${name}`);
  }
}

const [provider, service, task] = process.argv.slice(2);
await { compare, converse }[task](provider, service);
