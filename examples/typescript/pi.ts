// pi, in this process. What is contextd's ends with `// contextd`.

import { fauxAssistantMessage, fauxProvider, fauxToolCall } from "@earendil-works/pi-ai";
import { createAgentSession, DefaultResourceLoader, ModelRuntime } from "@earendil-works/pi-coding-agent";
import { SessionManager, SettingsManager } from "@earendil-works/pi-coding-agent";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Contextd } from "contextd"; // contextd
import { contextdExtension } from "contextd/pi"; // contextd
import { answer, questions, readFile, report, settings, wanted } from "./played.ts";

const folder = mkdtempSync(join(tmpdir(), "contextd-example-"));
mkdirSync(join(folder, "src"));
for (let part = 0; part < 15; part++) writeFileSync(join(folder, `src/part${part}.ts`), readFile(`src/part${part}.ts`));

const played = { id: "played", contextWindow: settings.context_window, maxTokens: 400 };
const { provider, setResponses, getModel } = fauxProvider({ models: [played] });
setResponses(
  Array.from({ length: 2 * questions.length }, () => ({ messages }) => {
    const file = wanted(messages.at(-1)!);
    if (!file) return fauxAssistantMessage(answer(messages));
    const call = fauxToolCall("read", { path: file.path }, { id: file.id });
    return fauxAssistantMessage(call, { stopReason: "toolUse" });
  }),
);
const modelRuntime = await ModelRuntime.create({ authPath: join(folder, "auth.json"), modelsPath: null });
modelRuntime.registerNativeProvider(provider);

const client = new Contextd(); // contextd
const extension = contextdExtension({ client, create: { settings } }); // contextd
const at = { cwd: folder, agentDir: folder };
const compaction = { reserveTokens: settings.reserve_tokens, keepRecentTokens: settings.keep_recent_tokens };
const settingsManager = SettingsManager.inMemory({ compaction });
const resourceLoader = new DefaultResourceLoader({
  ...at,
  settingsManager,
  systemPrompt: "You are careful.",
  extensionFactories: [extension], // contextd
});
await resourceLoader.reload();
const sessionManager = SessionManager.inMemory(folder);
const agent = { model: getModel(), tools: ["read"], modelRuntime, resourceLoader, sessionManager, settingsManager };
const { session } = await createAgentSession({ ...at, ...agent });

for (const question of questions) await session.prompt(question);
const { id } = await client.sessions.getOrCreate(session.sessionId);
await report(client, id, session.getLastAssistantText() ?? "");
session.dispose();
rmSync(folder, { recursive: true });
