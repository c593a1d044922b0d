import type { ModelMessage } from "ai";
import type { NativeMessage } from "../api.js";
import type { Contextd } from "../client.js";
import { itemOf, messagesOf } from "./model-messages.js";

/** Where a conversation is kept. */
export interface Conversation {
  client: Contextd;
  sessionId: string;
}

export interface PrepareStepOptions extends Conversation {
  /**
   * Told what went wrong, in place of an error that ends the run: the step then goes on with the messages as they are.
   * Nothing is lost, the next step hands them on.
   */
  onError?: (error: unknown) => void;
}

/** What is used of a step's options. */
export interface Step {
  messages: ModelMessage[];
  steps: readonly { usage: { inputTokens?: number | undefined; outputTokens?: number | undefined } }[];
  instructions?: string | { content: string } | { content: string }[] | undefined;
}

/**
 * A `prepareStep` for `generateText`, `streamText` and agents: stores what is new in the messages, and has the model
 * sent the context in their place. Give it the whole conversation at every turn, as the AI SDK has it.
 */
export function contextdPrepareStep(
  options: PrepareStepOptions,
): (step: Step) => Promise<{ messages?: ModelMessage[] }> {
  return async (step) => {
    try {
      return { messages: await contextOf(options, step) };
    } catch (error) {
      if (!options.onError) throw error;
      options.onError(error);
      return {};
    }
  };
}

/** Stores what is new in the messages: the last answer of a run, behind which no step comes. */
export async function storeMessages({ client, sessionId }: Conversation, messages: ModelMessage[]): Promise<void> {
  await client.sessions.putTranscript(sessionId, { format: "native", items: messages.map(itemOf) });
}

async function contextOf({ client, sessionId }: Conversation, step: Step): Promise<ModelMessage[]> {
  const items = step.messages.map(itemOf);
  const { context } = await client.sessions.putTranscript<NativeMessage>(sessionId, {
    format: "native",
    items,
    ...systemOf(step),
    ...usageOf(step),
    returnContext: "native",
  });
  const given = new Given(step.messages, items);
  // From the end: where a message was said twice, the later one is the one that is still there.
  const restored = [...context.messages].reverse().map((item) => given.take(item) ?? messagesOf(item));
  return restored.reverse().flat();
}

/** Messages as they were given, by what was stored of them. */
class Given {
  readonly #messages = new Map<string, ModelMessage[]>();

  constructor(messages: ModelMessage[], items: NativeMessage[]) {
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

function systemOf({ instructions }: Step): { system?: string } {
  if (instructions === undefined) return {};
  const parts = [instructions].flat();
  return { system: parts.map((part) => (typeof part === "string" ? part : part.content)).join("\n\n") };
}

/** What the provider counted at the last step, by OpenAI's names. */
function usageOf({ steps }: Step): { usage?: object } {
  const { inputTokens, outputTokens } = steps.at(-1)?.usage ?? {};
  if (inputTokens === undefined || outputTokens === undefined) return {};
  return { usage: { input_tokens: inputTokens, output_tokens: outputTokens } };
}
