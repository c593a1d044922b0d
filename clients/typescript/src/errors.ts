import type { InvalidField, Problem, ProblemCode } from "./api.js";

/** Any failure of a call. An abort by the caller's own signal is none: it throws the signal's reason. */
export class ContextdError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** Whether the same call may succeed a little later. */
  get isTransient(): boolean {
    return false;
  }
}

/** No answer came, or not all of it; `cause` says more. */
export class APIConnectionError extends ContextdError {
  override get isTransient(): boolean {
    return true;
  }
}

/** No answer came in time. */
export class APITimeoutError extends APIConnectionError {}

/** A successful answer that contextd does not give: somebody else answered. */
export class InvalidResponseError extends ContextdError {}

/** A conflict that is over by itself. */
const PASSING_CONFLICTS = ["idempotency_in_progress", "in_progress"];
const SHOWN_CHARS = 200;

/** What an error answer says. */
export interface ErrorAnswer {
  status: number;
  headers: Headers;
  body: string;
}

/** An answer with an error status: the members of its `application/problem+json` body. */
export class APIStatusError extends ContextdError {
  readonly status: number;
  /** Stable word, one of `ProblemCode` unless the service is newer; undefined where somebody else answered. */
  readonly code: ProblemCode | (string & {}) | undefined;
  readonly title: string;
  readonly detail: string;
  /** Where the request does not validate. */
  readonly errors: readonly InvalidField[];
  /** The log of the service has more under this id. */
  readonly requestId: string | undefined;
  /** Seconds after which the service asks to be called again. */
  readonly retryAfter: number | undefined;
  /** The whole body: some codes add figures. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(answer: ErrorAnswer) {
    const problem = problemOf(answer);
    const title = problem.title ?? `HTTP ${answer.status}`;
    const detail = problem.detail ?? answer.body.slice(0, SHOWN_CHARS);
    const errors = Array.isArray(problem.errors) ? problem.errors : [];
    super([`${answer.status} ${problem.code ?? title}: ${detail}`, ...errors.map(told)].join("; "));
    this.status = answer.status;
    this.code = problem.code;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.requestId = problem.request_id ?? answer.headers.get("x-request-id") ?? undefined;
    this.retryAfter = seconds(answer.headers.get("retry-after"));
    this.problem = { ...problem };
  }

  /** JSON pointer to the first fault of the request. */
  get pointer(): string | undefined {
    return this.errors[0]?.pointer;
  }

  override get isTransient(): boolean {
    const { status, code } = this;
    return (
      status === 408 || status === 429 || status >= 500 || (code !== undefined && PASSING_CONFLICTS.includes(code))
    );
  }
}

/** The request is not valid (400, 405, 413, 415, 422): see `errors`. */
export class InvalidRequestError extends APIStatusError {}
/** No key, or one that does not allow this (401, 403). */
export class AuthenticationError extends APIStatusError {}
/** There is no such thing, or it belongs to somebody else (404). */
export class NotFoundError extends APIStatusError {}
/** The state is not what the call needs (409). */
export class ConflictError extends APIStatusError {}
/** Too much at once (429): see `retryAfter`. */
export class RateLimitError extends APIStatusError {}
/** A fault of the service (5xx). */
export class ServerError extends APIStatusError {}
/** The service can't answer right now (503): see `retryAfter`. */
export class UnavailableError extends ServerError {}

const CLASSES: Readonly<Record<number, typeof APIStatusError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  405: InvalidRequestError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitError,
  503: UnavailableError,
};

/** The error of an answer's status. */
export function statusError(answer: ErrorAnswer): APIStatusError {
  const Class = CLASSES[answer.status] ?? (answer.status >= 500 ? ServerError : APIStatusError);
  return new Class(answer);
}

function problemOf({ headers, body }: ErrorAnswer): Partial<Problem> {
  if (!headers.get("content-type")?.startsWith("application/problem+json")) return {};
  try {
    return Object(JSON.parse(body)) as Partial<Problem>;
  } catch {
    return {};
  }
}

function told({ pointer, detail }: InvalidField): string {
  return `${pointer}: ${detail}`;
}

/** Seconds that `Retry-After` asks for, as a number or as a date. */
function seconds(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
