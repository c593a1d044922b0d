import type { AgentInputItem, Session } from "@openai/agents";
import type { CreateSession, EntryView, ResponsesItem } from "../api.js";
import type { Contextd } from "../client.js";
import type { Params } from "../params.js";
import { agentItems, storedItem } from "./agent-items.js";

export interface ContextdSessionOptions {
  client: Contextd;
  /** The conversation's id in the application, an external id to contextd. */
  sessionId: string;
  /** What a new conversation is created with: `model` or `settings` say how large the window is. */
  create?: Params<CreateSession>;
}

/** Items that one append takes. */
const MAX_ITEMS = 1_000;
const format = "openai_responses";

/**
 * A session of the OpenAI Agents SDK: a run is given the context that fits the model's window. What was compacted away
 * stays stored.
 */
export class ContextdSession implements Session {
  readonly #options: ContextdSessionOptions;
  #id: Promise<string> | undefined;

  constructor(options: ContextdSessionOptions) {
    this.#options = options;
  }

  /** The id of the session in contextd, which is created when it is first asked for. */
  async contextdId(): Promise<string> {
    this.#id ??= this.#open();
    try {
      return await this.#id;
    } catch (error) {
      this.#id = undefined;
      throw error;
    }
  }

  async getSessionId(): Promise<string> {
    return this.#options.sessionId;
  }

  /** The context; with a limit, its end. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    // The SDK knows its items by their ids, also by those that no provider takes.
    const wanted = { format, itemIds: "given" } as const;
    const { messages } = await this.#sessions.context<ResponsesItem>(await this.contextdId(), wanted);
    const items = agentItems(messages);
    return limit === undefined ? items : items.slice(Math.max(0, items.length - Math.max(0, limit)));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const sessionId = await this.contextdId();
    for (let at = 0; at < items.length; at += MAX_ITEMS) {
      const some = items.slice(at, at + MAX_ITEMS).map(storedItem);
      await this.#sessions.append(sessionId, { format, items: some });
    }
  }

  /** Takes the newest item off the conversation. It stays stored, on a branch that is left. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const sessionId = await this.contextdId();
    const { leaf_id } = await this.#sessions.get(sessionId);
    let newest = await this.#entry(leaf_id);
    // A compaction is no item.
    while (newest && newest.type !== "message") newest = await this.#entry(newest.parent_id);
    if (!newest) return undefined;
    const parent = await this.#entry(newest.parent_id);
    const { leaf_id: landed } = await this.#sessions.navigate(sessionId, { targetId: parent?.id ?? null });
    // Onto what the user said means before it, to say it anew: so it is said anew.
    if (parent && landed !== parent.id) {
      await this.#sessions.append(sessionId, { format: parent.source_format, items: [parent.item] });
    }
    return agentItems(parent ? [parent.item, newest.item] : [newest.item]).at(-1);
  }

  /** Erases the conversation. */
  async clearSession(): Promise<void> {
    await this.#sessions.delete(await this.contextdId());
    this.#id = undefined;
  }

  get #sessions(): Contextd["sessions"] {
    return this.#options.client.sessions;
  }

  async #entry(entryId: string | null | undefined): Promise<(EntryView & { item: ResponsesItem }) | undefined> {
    if (!entryId) return undefined;
    const entry = await this.#options.client.entries.get(await this.contextdId(), entryId);
    return { ...entry, item: entry.item as ResponsesItem };
  }

  async #open(): Promise<string> {
    const { sessionId, create } = this.#options;
    return (await this.#sessions.getOrCreate(sessionId, create)).id;
  }
}
