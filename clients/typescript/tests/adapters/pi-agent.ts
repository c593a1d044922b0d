/** pi itself, driven by its RPC mode, with a model that is played over HTTP. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeForPi } from "../node-for-pi.js";
import { fileText, pathIn, settings, TURNS } from "./reader.js";

const CLI = new URL("../../node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js", import.meta.url);

/** What pi asks its model. */
export interface Asked {
  messages: { role: string; content: unknown }[];
}

/** What pi says: answers to commands, and events. */
export interface Said {
  type: string;
  id?: string;
  success?: boolean;
  error?: string;
  data?: unknown;
}

/** A model that has a file read for every question, then answers: OpenAI's Chat Completions, streamed. */
export class PlayedProvider {
  readonly asked: Asked[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += String(piece)));
      request.on("end", () => {
        const asked = JSON.parse(body) as Asked;
        this.asked.push(asked);
        const chunk = (choice: object, more: object = {}) =>
          response.write(`data: ${JSON.stringify({ id: "r1", model: "played", choices: [choice], ...more })}\n\n`);
        response.writeHead(200, { "content-type": "text/event-stream" });
        const { delta, finish_reason } = answer(asked);
        chunk({ index: 0, delta: { role: "assistant", ...delta } });
        const prompt_tokens = Math.ceil(body.length / 4);
        const usage = { prompt_tokens, completion_tokens: 50, total_tokens: prompt_tokens + 50 };
        chunk({ index: 0, delta: {}, finish_reason }, { usage });
        response.end("data: [DONE]\n\n");
      });
    });
  }

  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function answer({ messages }: Asked): { delta: object; finish_reason: string } {
  const last = messages.at(-1);
  if (last?.role !== "user") return { delta: { content: "It exports one answer. ".repeat(8) }, finish_reason: "stop" };
  const path = pathIn(last.content);
  const call = { name: "read", arguments: JSON.stringify({ path }) };
  return {
    delta: { tool_calls: [{ index: 0, id: `call-${path}`, type: "function", function: call }] },
    finish_reason: "tool_calls",
  };
}

/** A folder for pi, with its configuration and the files that it is asked about. To be removed by the caller. */
export function folderOf(providerURL: string): string {
  const folder = mkdtempSync(join(tmpdir(), "contextd-pi-"));
  const model = { id: "played", contextWindow: settings.context_window, maxTokens: 400 };
  const models = [model, { ...model, id: "wide", contextWindow: 2 * settings.context_window }];
  const provider = { baseUrl: providerURL, api: "openai-completions", apiKey: "played", models };
  const compaction = { reserveTokens: settings.reserve_tokens, keepRecentTokens: settings.keep_recent_tokens };
  mkdirSync(join(folder, "src"));
  for (let turn = 0; turn < TURNS; turn++) {
    writeFileSync(join(folder, `src/module${turn}.ts`), fileText(`src/module${turn}.ts`));
  }
  writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: { played: provider } }));
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ compaction }));
  return folder;
}

export const EXTENSION = ["-e", fileURLToPath(new URL("./pi-extension.js", import.meta.url))];

/** pi, in such a folder, with arguments of its own. */
export class Pi {
  readonly #process: ChildProcess;
  readonly #said: Said[] = [];
  #stderr = "";
  #wake = () => {};
  #commands = 0;

  constructor(folder: string, args: string[], env: Record<string, string> = {}) {
    const chosen = ["--provider", "played", "--system-prompt", "You are careful.", "--tools", "read"];
    const bare = ["--mode", "rpc", "--offline", "--no-skills", "--no-context-files"];
    const cli = process.env["CONTEXTD_TEST_PI"] ?? fileURLToPath(CLI);
    this.#process = spawn(nodeForPi ?? assert.fail("no Node for pi"), [cli, ...bare, ...chosen, ...args], {
      cwd: folder,
      env: { ...process.env, PI_CODING_AGENT_DIR: folder, PI_OFFLINE: "1", ...env },
    });
    this.#process.stderr?.on("data", (piece) => (this.#stderr += String(piece)));
    this.#process.on("exit", () => this.#wake());
    this.#read();
  }

  /** Asks, and waits until pi has settled. */
  async prompt(message: string): Promise<void> {
    const begin = this.#said.length;
    await this.command({ type: "prompt", message });
    await this.#find(({ type }) => type === "agent_settled", begin);
  }

  /** Has a command carried out. Gives its data. */
  async command(command: { type: string } & Record<string, unknown>): Promise<unknown> {
    const id = `c${this.#commands++}`;
    this.#process.stdin?.write(JSON.stringify({ ...command, id }) + "\n");
    const { success, error, data } = await this.#find((said) => said.type === "response" && said.id === id);
    assert.ok(success, error);
    return data;
  }

  /** Errors of the extension. */
  get errors(): Said[] {
    return this.#said.filter(({ type }) => type === "extension_error");
  }

  async close(): Promise<void> {
    const isOver = this.#process.exitCode !== null || once(this.#process, "exit");
    this.#process.stdin?.end();
    await isOver;
  }

  #read(): void {
    let rest = "";
    this.#process.stdout?.on("data", (piece) => {
      const lines = (rest + String(piece)).split("\n");
      rest = lines.pop() ?? "";
      this.#said.push(...lines.map((line) => JSON.parse(line) as Said));
      this.#wake();
    });
  }

  async #find(wanted: (said: Said) => boolean, begin = 0): Promise<Said> {
    for (let at = begin; ; at++) {
      while (at >= this.#said.length) {
        assert.equal(this.#process.exitCode, null, this.#stderr);
        await new Promise<void>((wake) => (this.#wake = wake));
      }
      const said = this.#said[at];
      if (said && wanted(said)) return said;
    }
  }
}
