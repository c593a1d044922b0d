import type {
  CompactedItems,
  CompactedResponse,
  CompactItems,
  CompactResponse,
  Count,
  CountTokens,
  Health,
  KnownModel,
  Linted,
  LintItems,
  McpAnswer,
  McpRequest,
  SearchAllPage,
  SessionHit,
  Stats,
  UpstreamInfo,
} from "./api.js";
import { ApiKeys } from "./api-keys.js";
import { Calls } from "./calls.js";
import { Chapters, Entries, ToolCalls } from "./collections.js";
import { Compactions } from "./compactions.js";
import { configOf, type ContextdOptions } from "./config.js";
import type { EventsOptions, EventStream } from "./events.js";
import { Hooks } from "./hooks.js";
import type { List, PageParams } from "./pages.js";
import type { Params } from "./params.js";
import { Sessions } from "./sessions.js";
import { type RequestOptions, Transport } from "./transport.js";

/** contextd, over HTTP. Holds no connection and no state: one for a process will do. */
export class Contextd {
  readonly baseURL: string;
  readonly sessions: Sessions;
  readonly entries: Entries;
  readonly compactions: Compactions;
  readonly toolCalls: ToolCalls;
  readonly chapters: Chapters;
  readonly hooks: Hooks;
  readonly keys: ApiKeys;
  readonly #transport: Transport;
  readonly #calls: Calls;

  constructor(options: ContextdOptions = {}) {
    const config = configOf(options);
    this.baseURL = config.baseURL;
    this.#transport = new Transport(config);
    this.#calls = new Calls(this.#transport);
    this.sessions = new Sessions(this.#calls);
    this.entries = new Entries(this.#calls);
    this.compactions = new Compactions(this.#calls);
    this.toolCalls = new ToolCalls(this.#calls);
    this.chapters = new Chapters(this.#calls);
    this.hooks = new Hooks(this.#calls);
    this.keys = new ApiKeys(this.#calls);
  }

  /** What happens to all sessions of the tenant, from now on or behind an event. */
  events(options: EventsOptions = {}): EventStream {
    return this.#calls.events("/v1/events", options);
  }

  /** Compacts a transcript that is stored nowhere. */
  compact(params: Params<CompactItems>, options?: RequestOptions): Promise<CompactedItems> {
    return this.#calls.post("/v1/compact", params, options);
  }

  /** Compacts a conversation in the shapes of OpenAI's Responses, the summary sealed; stored nowhere. */
  compactResponse(params: Params<CompactResponse>, options?: RequestOptions): Promise<CompactedResponse> {
    return this.#calls.post("/v1/responses/compact", params, options);
  }

  /** Counts tokens, of each item and in all. */
  count(params: Params<CountTokens>, options?: RequestOptions): Promise<Count> {
    return this.#calls.post("/v1/count", params, options);
  }

  /** What a provider would refuse in a transcript, and a mended copy. */
  lint(params: Params<LintItems>, options?: RequestOptions): Promise<Linted> {
    return this.#calls.post("/v1/lint", params, options);
  }

  /** The tenant at a glance: sessions, compactions and what they brought, upstreams, queue. `bucket` is in seconds. */
  stats(
    params: { since?: Date | string | undefined; bucket?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<Stats> {
    return this.#calls.get("/v1/stats", params, options);
  }

  /** The settings of a session as a JSON Schema, with the defaults of this service. */
  settingsSchema(options?: RequestOptions): Promise<Record<string, unknown>> {
    return this.#calls.get("/v1/settings/schema", {}, options);
  }

  /** The models that may be asked for summaries. */
  upstreams(params: PageParams = {}, options?: RequestOptions): List<UpstreamInfo> {
    return this.#calls.list("/v1/upstreams", params, options);
  }

  /** The models whose windows are known by their names. */
  models(params: PageParams = {}, options?: RequestOptions): List<KnownModel> {
    return this.#calls.list("/v1/models", params, options);
  }

  /** Looks for text in all sessions, the newest first. Each page says how far it looked. */
  search(params: PageParams & { q: string }, options?: RequestOptions): List<SessionHit, SearchAllPage> {
    return this.#calls.list("/v1/search", params, options);
  }

  /** One message of MCP; a notification has no answer. Tried once: it knows no idempotency key. */
  mcp(request: McpRequest, options?: RequestOptions): Promise<McpAnswer | undefined> {
    const call = {
      method: "POST",
      path: "/mcp",
      body: request,
      accept: "application/json, text/event-stream",
    } as const;
    return this.#transport.json(call, { ...options, maxRetries: 0 });
  }

  /** Whether the process is alive. Tried once, unless told otherwise. */
  health(options?: RequestOptions): Promise<Health> {
    return this.#calls.get("/healthz", {}, { maxRetries: 0, ...options });
  }

  /** Whether it takes requests. Tried once, unless told otherwise. */
  ready(options?: RequestOptions): Promise<Health> {
    return this.#calls.get("/readyz", {}, { maxRetries: 0, ...options });
  }

  /** Metrics in Prometheus's text format. */
  metrics(options?: RequestOptions): Promise<string> {
    return this.#calls.read("/metrics", "text/plain", options);
  }
}
