import type {
  Compaction,
  CompactionDiff,
  PurgeCompactions,
  Purged,
  Reason,
  RefusedText,
  SummaryEvidence,
  Status,
  Strategy,
  Trigger,
} from "./api.js";
import type { Calls } from "./calls.js";
import { APITimeoutError } from "./errors.js";
import type { List, PageParams } from "./pages.js";
import { type Params, path } from "./params.js";
import { sleep } from "./retry.js";
import type { RequestOptions } from "./transport.js";

export interface WaitOptions {
  signal?: AbortSignal | undefined;
  /** How long to wait, in milliseconds; 120,000. */
  timeoutMs?: number | undefined;
}

export interface ListCompactions extends PageParams {
  status?: Status | undefined;
  trigger?: Trigger | undefined;
  /** The strategy that ran, or is to run. */
  strategy?: Strategy | undefined;
  /** Why it was skipped. */
  skipReason?: Reason | undefined;
  /** The upstream that was asked for the summary; where another stood in, the one that failed. */
  upstream?: string | undefined;
  /** Asked for at this time or later. */
  since?: Date | string | undefined;
  /** `true`: those that are written and wait for their context to turn red; `false`: all others. */
  prepared?: boolean | undefined;
}

export interface ListAllCompactions extends ListCompactions {
  /** Those of one session. */
  sessionId?: string | undefined;
}

const WAIT_MS = 120_000;
/** Milliseconds between two looks. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;
const UNFINISHED: readonly Status[] = ["queued", "running"];

/** Jobs that make contexts smaller. */
export class Compactions {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** A session's compactions, newest first. */
  list(sessionId: string, params: ListCompactions = {}, options?: RequestOptions): List<Compaction> {
    return this.#calls.list(path`/v1/sessions/${sessionId}/compactions`, params, options);
  }

  /** The compactions of all sessions, newest first. */
  listAll(params: ListAllCompactions = {}, options?: RequestOptions): List<Compaction> {
    return this.#calls.list("/v1/compactions", params, options);
  }

  get(compactionId: string, options?: RequestOptions): Promise<Compaction> {
    return this.#calls.get(path`/v1/compactions/${compactionId}`, {}, options);
  }

  /**
   * The compaction once it has ended, whatever its `status` is then.
   *
   * @throws {APITimeoutError} It has not ended in time; it goes on.
   */
  async wait(compactionId: string, { signal, timeoutMs = WAIT_MS }: WaitOptions = {}): Promise<Compaction> {
    const end = Date.now() + timeoutMs;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE)) {
      const compaction = await this.get(compactionId, { signal });
      if (!UNFINISHED.includes(compaction.status)) return compaction;
      if (Date.now() + pause > end)
        throw new APITimeoutError(`compaction ${compactionId} is still ${compaction.status}`);
      await sleep(pause, signal);
    }
  }

  /** Each statement of its notes, with the calls and messages that it cites. */
  evidence(compactionId: string, options?: RequestOptions): Promise<SummaryEvidence> {
    return this.#calls.get(path`/v1/compactions/${compactionId}/evidence`, {}, options);
  }

  /** The newest text of a model that was refused as its summary; kept for seven days. */
  refused(compactionId: string, options?: RequestOptions): Promise<RefusedText> {
    return this.#calls.get(path`/v1/compactions/${compactionId}/refused`, {}, options);
  }

  /** The context before a compaction and after it, `limit` messages at a time. */
  diff(compactionId: string, params: PageParams = {}, options?: RequestOptions): Promise<CompactionDiff> {
    return this.#calls.get(path`/v1/compactions/${compactionId}/diff`, params, options);
  }

  /** Does a failed compaction again. See `wait`. */
  retry(compactionId: string, options?: RequestOptions): Promise<Compaction> {
    return this.#calls.post(path`/v1/compactions/${compactionId}/retry`, undefined, options);
  }

  /** Forgets failed compactions, 1,000 at most. */
  purge(params: Params<PurgeCompactions> = {}, options?: RequestOptions): Promise<Purged> {
    return this.#calls.post("/v1/compactions/purge", params, options);
  }

  cancel(compactionId: string, options?: RequestOptions): Promise<Compaction> {
    return this.#calls.post(path`/v1/compactions/${compactionId}/cancel`, undefined, options);
  }

  /** Makes the context again what it was before. */
  revert(compactionId: string, options?: RequestOptions): Promise<Compaction> {
    return this.#calls.post(path`/v1/compactions/${compactionId}/revert`, undefined, options);
  }
}
