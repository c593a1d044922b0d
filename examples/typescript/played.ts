// What stands in for a model: it has every file read that it is asked about, and says of the deadline what its prompt
// still holds.

import type { Contextd } from "contextd";

/** A window that the questions outgrow. */
export const settings = { context_window: 4_000, reserve_tokens: 500, keep_recent_tokens: 400 };

export const questions = [
  "The deadline of the release is 2031-04-05.",
  ...Array.from({ length: 15 }, (_, part) => `What does src/part${part}.ts export?`),
  "When is the deadline?",
];

export function readFile(path: string): string {
  return `// ${path}\n` + "export const value = 1;\n".repeat(40);
}

/** The file that a model asks for. None: it answers. */
export function wanted(last: { role: string }): { id: string; path: string } | undefined {
  const path = last.role === "user" ? /src\/part\d+\.ts/.exec(JSON.stringify(last))?.[0] : undefined;
  return path === undefined ? undefined : { id: `call-${path}`, path };
}

export function answer(prompt: unknown): string {
  return `The deadline is ${/\d{4}-\d\d-\d\d/.exec(JSON.stringify(prompt))?.[0] ?? "unknown"}.`;
}

/** Says what became of a conversation. */
export async function report(client: Contextd, sessionId: string, said: string): Promise<void> {
  let compactions = 0;
  for await (const { status } of client.compactions.list(sessionId)) compactions += Number(status === "succeeded");
  console.log(`${said} ${(await client.sessions.get(sessionId)).entry_count} entries, ${compactions} compactions.`);
}
