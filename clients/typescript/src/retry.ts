import { APIStatusError, ContextdError } from "./errors.js";

/** Milliseconds. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
/** Seconds. Longer than this nobody waits inside a call: the caller gets the error with its `retryAfter`. */
const LONGEST_RETRY_AFTER = 60;

/** The failed tries of one call, and the pauses between. */
export class Tries {
  readonly #maxRetries: number;
  #failed = 0;

  constructor(maxRetries: number) {
    this.#maxRetries = maxRetries;
  }

  /** Whether there was one before this. */
  get hasFailed(): boolean {
    return this.#failed > 0;
  }

  /** Waits until the next try; throws the failure where there is none. */
  async pause(failure: unknown, signal?: AbortSignal): Promise<void> {
    const asked = failure instanceof APIStatusError ? (failure.retryAfter ?? 0) : 0;
    const isTransient = failure instanceof ContextdError && failure.isTransient;
    if (!isTransient || this.#failed >= this.#maxRetries || asked > LONGEST_RETRY_AFTER) throw failure;
    const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#failed) * (0.5 + Math.random() / 2);
    this.#failed += 1;
    await sleep(Math.max(asked * 1000, pause), signal);
  }

  /** Forgets the failures: something came. */
  succeeded(): void {
    this.#failed = 0;
  }
}

/** Waits for so many milliseconds, or throws the signal's reason. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const wake = () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
