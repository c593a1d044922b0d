import type {
  Appended,
  AppendEntries,
  Compaction,
  CompactSession,
  Composition,
  Context,
  CreateSession,
  Erased,
  EraseSessions,
  FileLists,
  FillState,
  ForkSession,
  Format,
  Item,
  Navigated,
  NavigateTo,
  Prepared,
  PrepareCompaction,
  Put,
  RebuildContext,
  SearchHit,
  SearchPage,
  Session,
  Snapshot,
  Task,
  Timeline,
  Tree,
  UpdateSession,
  WholeTranscript,
} from "./api.js";
import type { Calls } from "./calls.js";
import type { EventsOptions, EventStream } from "./events.js";
import { InvalidRequestError } from "./errors.js";
import { parseJSON } from "./json.js";
import { externalIdKey } from "./keys.js";
import type { List, PageParams } from "./pages.js";
import { type Params, path } from "./params.js";
import type { RequestOptions } from "./transport.js";

/** A context whose messages are taken for another SDK's type. */
export type ContextOf<Message> = Omit<Context, "messages"> & { messages: Message[] };

/** What carries the context that was asked for. */
export type WithContext<Answer, Message> = Answer & { context: ContextOf<Message> };

export interface ListSessions extends PageParams {
  externalId?: string | undefined;
  state?: FillState | undefined;
  updatedAfter?: Date | string | undefined;
  /** Keys at the top of the metadata, and their values. */
  metadata?: Record<string, string | number | boolean | null> | undefined;
  /** The newest first (`created`), the last changed, or the most tokens. */
  order?: "created" | "activity" | "size" | undefined;
  /** Those alone whose anti-thrash guard held compactions back when they last changed. */
  guard?: "tripped" | undefined;
}

export interface ContextParams {
  format: Format;
  leafId?: string | undefined;
  maxTokens?: number | undefined;
  /** The ids of items in `openai_responses`: those that the provider takes (`sendable`), or all as they came. */
  itemIds?: "sendable" | "given" | undefined;
}

/** Transcripts, and what is made of them. */
export class Sessions {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  create(params: Params<CreateSession> = {}, options?: RequestOptions): Promise<Session> {
    return this.#calls.post("/v1/sessions", params, options);
  }

  /** The newest session with this external id, created where there is none: one, whoever else asks. */
  async getOrCreate(
    externalId: string,
    params: Params<CreateSession> = {},
    options?: RequestOptions,
  ): Promise<Session> {
    const newest = async () => (await this.list({ externalId, limit: 1 }, options)).items[0];
    const known = await newest();
    if (known) return known;
    const create = (idempotencyKey?: string) => this.create({ ...params, externalId }, { ...options, idempotencyKey });
    try {
      return await create(await externalIdKey(externalId));
    } catch (error) {
      // Somebody else has just created it, with another title or other settings.
      if (!(error instanceof InvalidRequestError && error.code === "idempotency_key_reused")) throw error;
      return (await newest()) ?? create();
    }
  }

  get(sessionId: string, options?: RequestOptions): Promise<Session> {
    return this.#calls.get(path`/v1/sessions/${sessionId}`, {}, options);
  }

  /** The newest session of an external id. */
  getByExternalId(externalId: string, options?: RequestOptions): Promise<Session> {
    return this.#calls.get(path`/v1/sessions/by-external-id/${externalId}`, {}, options);
  }

  /** Erases many sessions by what they are. While `more` is true, the call is made again with `next_cursor`. */
  erase(params: Params<EraseSessions>, options?: RequestOptions): Promise<Erased> {
    return this.#calls.post("/v1/sessions/erase", params, options);
  }

  /** Changes what is given, and nothing else. */
  update(sessionId: string, params: Params<UpdateSession>, options?: RequestOptions): Promise<Session> {
    return this.#calls.patch(path`/v1/sessions/${sessionId}`, params, options);
  }

  /** Erases the session and all that it holds. */
  delete(sessionId: string, options?: RequestOptions): Promise<void> {
    return this.#calls.delete(path`/v1/sessions/${sessionId}`, options);
  }

  /** Sessions, newest first or in another order. A page may be shorter than its limit. */
  list(params: ListSessions = {}, options?: RequestOptions): List<Session> {
    return this.#calls.list("/v1/sessions", params, options);
  }

  /** A new session that shares the history up to an entry, or all of it. */
  fork(sessionId: string, params: Params<ForkSession> = {}, options?: RequestOptions): Promise<Session> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/fork`, params, options);
  }

  /** Stores what is new. With `returnContext` the answer has the context of the next model call, too. */
  append<Message extends object = Item>(
    sessionId: string,
    params: Params<AppendEntries> & { returnContext: Format },
    options?: RequestOptions,
  ): Promise<WithContext<Appended, Message>>;
  append(sessionId: string, params: Params<AppendEntries>, options?: RequestOptions): Promise<Appended>;
  append(sessionId: string, params: Params<AppendEntries>, options?: RequestOptions): Promise<Appended> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/entries`, params, options);
  }

  /** Takes the whole transcript, or the last context with what came since, and stores what is new in it. */
  putTranscript<Message extends object = Item>(
    sessionId: string,
    params: Params<WholeTranscript> & { returnContext: Format },
    options?: RequestOptions,
  ): Promise<WithContext<Put, Message>>;
  putTranscript(sessionId: string, params: Params<WholeTranscript>, options?: RequestOptions): Promise<Put>;
  putTranscript(sessionId: string, params: Params<WholeTranscript>, options?: RequestOptions): Promise<Put> {
    return this.#calls.put(path`/v1/sessions/${sessionId}/transcript`, params, options);
  }

  /** The context of the next model call. */
  context<Message extends object = Item>(
    sessionId: string,
    params: ContextParams,
    options?: RequestOptions,
  ): Promise<ContextOf<Message>> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/context`, params, options);
  }

  /** The context of the next model call, asked for by POST. */
  rebuild<Message extends object = Item>(
    sessionId: string,
    params: Params<RebuildContext>,
    options?: RequestOptions,
  ): Promise<ContextOf<Message>> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/rebuild`, params, options);
  }

  /** What fills the window: by category, by tool, and the `largest` entries. */
  composition(
    sessionId: string,
    params: { largest?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<Composition> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/composition`, params, options);
  }

  /** How the context grew and shrank, in at most `points` points, and what happened on the way. */
  timeline(
    sessionId: string,
    params: { points?: number | undefined } = {},
    options?: RequestOptions,
  ): Promise<Timeline> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/timeline`, params, options);
  }

  /** How full the window is. */
  snapshot(sessionId: string, options?: RequestOptions): Promise<Snapshot> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/snapshot`, {}, options);
  }

  /** Lets compactions start by themselves again. */
  resetAntiThrash(sessionId: string, options?: RequestOptions): Promise<Snapshot> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/anti-thrash/reset`, undefined, options);
  }

  /** What a compaction would do. Asks no model and changes nothing. */
  prepare(sessionId: string, params: Params<PrepareCompaction> = {}, options?: RequestOptions): Promise<Prepared> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/prepare`, params, options);
  }

  /** Starts a compaction; with `wait` (seconds) the answer comes when it has ended. See `compactions.wait`. */
  compact(sessionId: string, params: Params<CompactSession> = {}, options?: RequestOptions): Promise<Compaction> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/compact`, params, options);
  }

  tree(sessionId: string, options?: RequestOptions): Promise<Tree> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/tree`, {}, options);
  }

  /** Moves the leaf to another entry. */
  navigate(sessionId: string, params: Params<NavigateTo>, options?: RequestOptions): Promise<Navigated> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/navigate`, params, options);
  }

  /** The numbered tasks: one for each turn of the user that starts one. */
  tasks(sessionId: string, options?: RequestOptions): Promise<Task[]> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/tasks`, {}, options);
  }

  /** Files that were read and modified. */
  files(sessionId: string, options?: RequestOptions): Promise<FileLists> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/files`, {}, options);
  }

  /** Looks for text in every entry, compacted or not. */
  search(sessionId: string, params: PageParams & { q: string }, options?: RequestOptions): List<SearchHit, SearchPage> {
    return this.#calls.list(path`/v1/sessions/${sessionId}/search`, params, options);
  }

  /** What happens to the session, from now on or behind an event. */
  events(sessionId: string, options: EventsOptions = {}): EventStream {
    return this.#calls.events(path`/v1/sessions/${sessionId}/events`, options);
  }

  /** The session's items, one after the other; of pi's format with every branch. */
  async *export(
    sessionId: string,
    params: Pick<ContextParams, "format" | "leafId">,
    options?: RequestOptions,
  ): AsyncGenerator<Item, void, undefined> {
    const target = path`/v1/sessions/${sessionId}/export`;
    const lines = this.#calls.lines(target, "application/x-ndjson", params, options);
    for await (const line of lines) yield parseJSON<Item>(line, "a line of the export");
  }
}
