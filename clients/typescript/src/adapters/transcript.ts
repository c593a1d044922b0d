/** Whole conversations in the AI SDK's messages: what is new in them is stored, and the context comes in their place. */

import type { ModelMessage } from "ai";
import type { NativeMessage } from "../api.js";
import type { Contextd } from "../client.js";
import { itemOf, messagesOf } from "./model-messages.js";

/** Where a conversation is kept. */
export interface Conversation {
  client: Contextd;
  sessionId: string;
}

/** What becomes of failures. */
export interface OnError {
  /**
   * Told what went wrong, in place of an error that ends the run: the model is then sent the messages as they are.
   * Nothing is lost, the next step hands them on.
   */
  onError?: (error: unknown) => void;
}

/** A conversation so far, and what is said beside it. */
export interface Whole {
  messages: readonly ModelMessage[];
  system?: string | undefined;
  /** What the provider counted at the last step, by OpenAI's names. */
  usage?: object | undefined;
}

/** What is used of a step that was taken. */
export interface TakenStep {
  usage: { inputTokens?: number | undefined; outputTokens?: number | undefined };
}

/** What the work gives; nothing where it failed and the caller wants to go on. */
export async function guarded<Result>(options: OnError, work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!options.onError) throw error;
    options.onError(error);
    return undefined;
  }
}

/** Stores what is new in the messages: the last answer of a run, behind which no step comes. */
export async function storeMessages(
  { client, sessionId }: Conversation,
  messages: readonly ModelMessage[],
): Promise<void> {
  await client.sessions.putTranscript(sessionId, { format: "native", items: messages.map(itemOf) });
}

/** The context of the next call. */
export interface Shown<Message> {
  /** The very messages that were given, and in place of others what was made of messages that are new. */
  messages: (ModelMessage | Message)[];
  /** None of the messages was known, though some were stored before. */
  isAnother: boolean;
}

/** Stores what is new in the messages, and gives the context; `made` turns messages that are new into the caller's. */
export async function contextOf<Message>(
  { client, sessionId }: Conversation,
  { messages, system, usage }: Whole,
  made: (message: ModelMessage) => Message,
): Promise<Shown<Message>> {
  const items = messages.map(itemOf);
  const { context, forked, matched } = await client.sessions.putTranscript<NativeMessage>(sessionId, {
    format: "native",
    items,
    ...(system === undefined ? {} : { system }),
    ...(usage === undefined ? {} : { usage }),
    returnContext: "native",
  });
  const given = new Given(messages, items);
  // From the end: where a message was said twice, the later one is the one that is still there.
  const restored = [...context.messages].reverse().map((item) => given.take(item) ?? messagesOf(item).map(made));
  return { messages: restored.reverse().flat(), isAnother: forked && matched === 0 };
}

/** What the provider counted at the last step, by OpenAI's names. */
export function usageOf(steps: readonly TakenStep[]): object | undefined {
  const { inputTokens, outputTokens } = steps.at(-1)?.usage ?? {};
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return { input_tokens: inputTokens, output_tokens: outputTokens };
}

/** Messages as they were given, by what was stored of them. */
class Given {
  readonly #messages = new Map<string, ModelMessage[]>();

  constructor(messages: readonly ModelMessage[], items: NativeMessage[]) {
    messages.forEach((message, place) => {
      const key = said(items[place]);
      const same = this.#messages.get(key);
      if (same) same.push(message);
      else this.#messages.set(key, [message]);
    });
  }

  /** The last message, not taken yet, that was stored as this item. */
  take(item: NativeMessage): ModelMessage | undefined {
    return this.#messages.get(said(item))?.pop();
  }
}

/** What makes an item that item: not what a provider is told beside it, which may change from step to step. */
function said(item: NativeMessage | undefined): string {
  return JSON.stringify(item ?? null, (name, value: unknown) => (isAside(name, value) ? undefined : value));
}

function isAside(name: string, value: unknown): boolean {
  return name === "provider_options" || (name === "is_error" && value === false);
}
