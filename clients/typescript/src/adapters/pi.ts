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
import type { CreateSession, SettingsPatch } from "../api.js";
import { Contextd } from "../client.js";
import type { Params } from "../params.js";
import { messagesOf, storedEntries } from "./pi-entries.js";

export interface ContextdExtensionOptions {
  /** Left out: of the service that `CONTEXTD_URL` and `CONTEXTD_API_KEY` name; it tries a call twice. */
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
    pi.on("context", (_, ctx) => branches.context(ctx));
    pi.on("agent_settled", (_, ctx) => branches.store(ctx));
    pi.on("session_before_compact", (event, ctx) => branches.compact(event, ctx));
    pi.on("model_select", (_, ctx) => branches.resize(ctx));
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
  async context(ctx: ExtensionContext): Promise<ContextEventResult> {
    try {
      return { messages: messagesOf(await this.#stored(ctx, ctx.sessionManager.getBranch(), ctx.signal)) };
    } catch (error) {
      // What the user broke off is no failure.
      if (ctx.signal?.aborted) return {};
      throw error;
    }
  }

  /** Stores the last answer, behind which no model is asked. */
  async store(ctx: ExtensionContext): Promise<void> {
    await this.#stored(ctx, ctx.sessionManager.getBranch());
  }

  /** A compaction as pi keeps it; none where there is nothing to compact: pi then does as it would. */
  async compact(
    { preparation, branchEntries, customInstructions, signal }: SessionBeforeCompactEvent,
    ctx: ExtensionContext,
  ): Promise<SessionBeforeCompactResult | undefined> {
    await this.#stored(ctx, branchEntries, signal);
    const sessionId = await this.#sessionId(ctx);
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
  async resize(ctx: ExtensionContext): Promise<void> {
    const id = this.#ids.get(ctx.sessionManager.getSessionId());
    if (id) await this.#client.sessions.update(id, { settings: this.#settings(ctx) });
  }

  /** Stores what is new in a branch. Gives the context. */
  async #stored(ctx: ExtensionContext, branch: SessionEntry[], signal?: AbortSignal): Promise<SessionEntry[]> {
    const sessionId = await this.#sessionId(ctx);
    const system = ctx.getSystemPrompt();
    const { context } = await this.#client.sessions.putTranscript<SessionEntry>(
      sessionId,
      { format, items: storedEntries(branch), system, returnContext: format },
      { signal },
    );
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

  async #sessionId(ctx: ExtensionContext): Promise<string> {
    const piId = ctx.sessionManager.getSessionId();
    const id = this.#ids.get(piId) ?? (await this.#open(piId, this.#settings(ctx)));
    this.#ids.set(piId, id);
    return id;
  }

  /** A session that is there may have the window of the model that it was used with before. */
  async #open(piId: string, settings: SettingsPatch): Promise<string> {
    const { id, settings: kept } = await this.#client.sessions.getOrCreate(piId, { ...this.#create, settings });
    const { context_window = kept.context_window } = settings;
    if (kept.context_window !== context_window) await this.#client.sessions.update(id, { settings });
    return id;
  }

  #settings({ model }: ExtensionContext): SettingsPatch {
    return { ...(model && { context_window: model.contextWindow }), ...this.#create.settings };
  }
}
