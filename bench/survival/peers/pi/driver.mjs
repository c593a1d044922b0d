// pi's compaction: what `/compact` does to a session. Its 16,384 and 20,000 tokens are kept as shares of a window of 128,000.
// A request a line on standard input, an answer a line on standard output, as in `../line.py`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const packages = process.argv[2];
const root = join(packages, "node_modules/@earendil-works/pi-coding-agent");
const load = (path) => import(pathToFileURL(join(root, path)).href);
const { compact, prepareCompaction } = await load("dist/core/compaction/index.js");
const { SessionManager } = await load("dist/core/session-manager.js");
const { convertToLlm } = await load("dist/core/messages.js");
const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
let url, session, window, names;

function argumentsOf(text) {
  try {
    const value = JSON.parse(text || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : { value };
  } catch {
    return { text };
  }
}

function toPi(message, at) {
  if (message.role === "user") return { role: "user", content: [{ type: "text", text: message.content }], timestamp: at };
  if (message.role === "tool") {
    const content = [{ type: "text", text: message.content }];
    return { role: "toolResult", toolCallId: message.tool_call_id, toolName: names.get(message.tool_call_id) ?? "tool", content, isError: false, timestamp: at };
  }
  const content = message.content ? [{ type: "text", text: message.content }] : [];
  for (const call of message.tool_calls ?? []) {
    names.set(call.id, call.function.name);
    content.push({ type: "toolCall", id: call.id, name: call.function.name, arguments: argumentsOf(call.function.arguments) });
  }
  return { role: "assistant", content, api: "openai-completions", provider: "openai", model: "played", usage, stopReason: "stop", timestamp: at };
}

const textOf = (content) => (typeof content === "string" ? content : content.filter((part) => part.type === "text").map((part) => part.text).join("\n"));

function toChat(message) {
  if (message.role === "user") return { role: "user", content: textOf(message.content) };
  if (message.role === "toolResult") return { role: "tool", tool_call_id: message.toolCallId, content: textOf(message.content) };
  const calls = message.content
    .filter((part) => part.type === "toolCall")
    .map((part) => ({ id: part.id, type: "function", function: { name: part.name, arguments: JSON.stringify(part.arguments) } }));
  return { role: "assistant", content: textOf(message.content) || null, ...(calls.length ? { tool_calls: calls } : {}) };
}

const model = () => ({
  id: "played", name: "played", api: "openai-completions", provider: "openai", baseUrl: url, reasoning: false, input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 128000, maxTokens: 16384,
});

const operations = {
  hello: ({ model_url }) => {
    url = model_url;
    return { version };
  },
  start: (request) => {
    window = request.window;
    names = new Map();
    session = SessionManager.inMemory("/");
    return {};
  },
  compact: async ({ messages }) => {
    let at = Date.now();
    for (const message of messages) session.appendMessage(toPi(message, at++));
    const settings = { enabled: true, reserveTokens: Math.floor((window * 16384) / 128000), keepRecentTokens: Math.floor((window * 20000) / 128000) };
    const preparation = prepareCompaction(session.getBranch(), settings);
    if (preparation && preparation.messagesToSummarize.length + preparation.turnPrefixMessages.length > 0) {
      const done = await compact(preparation, model(), "none");
      session.appendCompaction(done.summary, done.firstKeptEntryId, done.tokensBefore, done.details);
    }
    return { messages: convertToLlm(session.buildSessionContext().messages).map(toChat) };
  },
  end: () => ({}),
};

console.log = console.error;
for await (const line of createInterface({ input: process.stdin })) {
  const { do: operation, ...request } = JSON.parse(line);
  let answer;
  try {
    answer = await operations[operation](request);
  } catch (error) {
    answer = { error: String(error?.stack ?? error).slice(0, 600) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
