import { APIConnectionError, APITimeoutError, ContextdError } from "./errors.js";

/** A time limit joined with the caller's signal. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted) this.#abort();
    caller?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Begins anew: so many milliseconds from now. */
  restart(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(new APITimeoutError(`nothing came within ${ms} ms`)), ms);
  }

  /** No limit until it begins anew: the next move is the caller's. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** What to throw for what a request under this deadline threw. */
  reason(error: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof ContextdError) return error;
    return new APIConnectionError(`no answer: ${causes(error)}`, { cause: error });
  }

  /** Ends request and watch. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#abort);
    this.#controller.abort();
  }
}

/** What failed, and what it failed of. */
function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`;
}
