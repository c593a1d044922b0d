import type {
  CompactionEntry,
  ContextEventResult,
  ExtensionAPI,
  ExtensionContext,
  ExtensionFactory,
  SessionBeforeCompactEvent,
  SessionBeforeCompactResult,
  SessionEntry,
} from "@earendil-works/pi-coding-agent";
import type { CreateSession } from "../api.js";
import { Contextd } from "../client.js";
import type { Params } from "../params.js";
import { messagesOf, storedEntries } from "./pi-entries.js";

export interface ContextdExtensionOptions {
  /** Left out: of the service that `CONTEXTD_URL` and `CONTEXTD_API_KEY` name. It tries a call twice, then pi goes on. */
  client?: Contextd;
  /** What pi's session is created with in contextd, its id being the external id. The window is the model's. */
  create?: Params<CreateSession>;
}

const format = "pi";

/**
 * An extension of pi: the branch is stored as its file has it, the model is sent the context in place of pi's, and pi's
 * compactions are contextd's. Where contextd fails, pi says so and goes on with its own.
 */
export function contextdExtension(options: ContextdExtensionOptions = {}): ExtensionFactory {
  return (pi: ExtensionAPI) => {
    const branches = new Branches(options);
    pi.on("context", (_, pi) => branches.context(pi));
    pi.on("agent_settled", (_, pi) => branches.store(pi));
    pi.on("session_before_compact", (event, pi) => branches.compact(event, pi));
    pi.on("model_select", (_, pi) => branches.resize(pi));
  };
}

/** pi's sessions, by their ids. */
class Branches {
  readonly #client: Contextd;
  readonly #create: Params<CreateSession>;
  readonly #ids = new Map<string, string>();

  constructor({ client, create }: ContextdExtensionOptions) {
    this.#client = client ?? new Contextd({ maxRetries: 1 });
    this.#create = create ?? {};
  }

  /** What the model is sent. */
  async context(pi: ExtensionContext): Promise<ContextEventResult> {
    const entries = await this.#stored(pi, pi.sessionManager.getBranch(), pi.signal);
    return { messages: messagesOf(entries) };
  }

  /** Stores the last answer, behind which no model is asked. */
  async store(pi: ExtensionContext): Promise<void> {
    await this.#stored(pi, pi.sessionManager.getBranch());
  }

  /** A compaction as pi keeps it; none where there is nothing to compact: pi then does as it would. */
  async compact(
    { preparation, branchEntries, customInstructions, signal }: SessionBeforeCompactEvent,
    pi: ExtensionContext,
  ): Promise<SessionBeforeCompactResult | undefined> {
    await this.#stored(pi, branchEntries, signal);
    const sessionId = await this.#sessionId(pi);
    const asked = { instructions: customInstructions ?? null, force: true };
    const { id: compactionId } = await this.#client.sessions.compact(sessionId, asked, { signal });
    const { status, result } = await this.#client.compactions.wait(compactionId, { signal });
    if (status !== "succeeded" || !result?.summary) return undefined;
    const entry = await this.#newest(sessionId, signal);
    if (!entry || !branchEntries.some(({ id }) => id === entry.firstKeptEntryId)) return undefined;
    const { summary, firstKeptEntryId } = entry;
    const details = { ...Object(entry.details), contextd: { compactionId } };
    return { compaction: { summary, firstKeptEntryId, tokensBefore: preparation.tokensBefore, details } };
  }

  /** Tells the window of another model. */
  async resize(pi: ExtensionContext): Promise<void> {
    if (this.#ids.has(pi.sessionManager.getSessionId())) {
      await this.#client.sessions.update(await this.#sessionId(pi), { settings: this.#settings(pi) });
    }
  }

  /** Stores what is new in a branch. Gives the context. */
  async #stored(pi: ExtensionContext, branch: SessionEntry[], signal?: AbortSignal): Promise<SessionEntry[]> {
    const params = { format, items: storedEntries(branch), system: pi.getSystemPrompt(), returnContext: format } as const;
    const { context } = await this.#client.sessions.putTranscript<SessionEntry>(await this.#sessionId(pi), params, {
      signal,
    });
    return context.messages;
  }

  /** The newest compaction, as pi's file has it: what stays before a summary stands at its head. */
  async #newest(sessionId: string, signal: AbortSignal): Promise<CompactionEntry | undefined> {
    let newest: CompactionEntry | undefined;
    for await (const entry of this.#client.sessions.export(sessionId, { format }, { signal })) {
      if (entry["type"] === "compaction") newest = entry as object as CompactionEntry;
    }
    return newest;
  }

  async #sessionId(pi: ExtensionContext): Promise<string> {
    const piId = pi.sessionManager.getSessionId();
    const create = { ...this.#create, settings: this.#settings(pi) };
    const id = this.#ids.get(piId) ?? (await this.#client.sessions.getOrCreate(piId, create)).id;
    this.#ids.set(piId, id);
    return id;
  }

  #settings({ model }: ExtensionContext): Params<CreateSession>["settings"] {
    return { ...(model && { context_window: model.contextWindow }), ...this.#create.settings };
  }
}
