import type { Processor, ProcessLLMRequestArgs, ProcessOutputResultArgs } from "@mastra/core/processors";
import type { ModelMessage } from "ai";
import type { CreateSession } from "../api.js";
import type { Contextd } from "../client.js";
import type { Params } from "../params.js";
import { promptMessage } from "./prompt-messages.js";
import { contextOf, type Conversation, guarded, type OnError, storeMessages, usageOf } from "./transcript.js";

export interface ContextdProcessorOptions extends OnError {
  client: Contextd;
  /** The session in contextd. Where it is left out, the thread of the agent's memory is its external id. */
  sessionId?: string;
  /** What a thread's session is created with: `model` or `settings` say how large the window is. */
  create?: Params<CreateSession>;
}

type Prompt = ProcessLLMRequestArgs["prompt"];
type Args = Pick<ProcessLLMRequestArgs, "requestContext" | "state">;

const CUT = "memory gave the end of the thread alone: raise its `lastMessages`";

/**
 * A processor of Mastra: as an agent's input processor it stores what is new in the conversation, and has the model
 * sent the context in its place; as its output processor it stores the answer. Needs the whole conversation at every
 * run, from memory or from the caller.
 */
export class ContextdProcessor implements Processor<"contextd"> {
  readonly id = "contextd";
  readonly #options: ContextdProcessorOptions;

  constructor(options: ContextdProcessorOptions) {
    this.#options = options;
  }

  async processLLMRequest(args: ProcessLLMRequestArgs): Promise<{ prompt: Prompt } | undefined> {
    return guarded(this.#options, async () => ({ prompt: await this.#promptOf(args) }));
  }

  async processOutputResult(args: ProcessOutputResultArgs): Promise<ProcessOutputResultArgs["messages"]> {
    const messages = args.messageList.get.all.aiV5.model() as ModelMessage[];
    await guarded(this.#options, async () => storeMessages(await this.#conversation(args), messages));
    return args.messages;
  }

  async #promptOf(args: ProcessLLMRequestArgs): Promise<Prompt> {
    const { system, messages } = partsOf(args.prompt);
    const instructions = system.map(({ content }) => content).join("\n\n");
    const whole = { messages, system: instructions || undefined, usage: usageOf(args.steps) };
    const version = args.model.specificationVersion;
    const made = (message: ModelMessage) => promptMessage(message, version);
    const { messages: context, isAnother } = await contextOf(await this.#conversation(args), whole, made);
    // What begins in the middle of a thread is no part of it to contextd.
    if (isAnother && args.messageList?.get.remembered.db().length) throw new RangeError(CUT);
    return [...system, ...(context as Prompt)];
  }

  async #conversation(args: Args): Promise<Conversation> {
    const { client, sessionId, create } = this.#options;
    const { state } = args;
    state["sessionId"] ??= sessionId ?? (await client.sessions.getOrCreate(threadOf(args), create)).id;
    return { client, sessionId: state["sessionId"] as string };
  }
}

/** The system messages that lead a prompt, and the conversation behind them. */
function partsOf(prompt: Prompt): { system: Prompt; messages: ModelMessage[] } {
  const begin = prompt.findIndex(({ role }) => role !== "system");
  const at = begin === -1 ? prompt.length : begin;
  return { system: prompt.slice(0, at), messages: prompt.slice(at) as ModelMessage[] };
}

/** The id of the thread that Mastra's memory names in the request's context. */
function threadOf({ requestContext }: Args): string {
  const { thread } = (requestContext?.get("MastraMemory") ?? {}) as { thread?: { id: string } };
  if (!thread) throw new TypeError("the run has no memory thread: give `sessionId`, or run the agent with `memory`");
  return thread.id;
}
