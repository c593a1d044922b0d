import type { Config } from "./config.js";
import { Deadline } from "./deadline.js";
import { InvalidResponseError, NotFoundError, statusError } from "./errors.js";
import { parseJSON } from "./json.js";
import { newKey } from "./keys.js";
import { LineDecoder } from "./lines.js";
import { query, type Wire } from "./params.js";
import { Tries } from "./retry.js";
import { VERSION } from "./version.js";

/** What any call may be given besides its parameters. */
export interface RequestOptions {
  /** Ends the call; it then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** In place of the client's. */
  timeoutMs?: number | undefined;
  /** In place of the client's. */
  maxRetries?: number | undefined;
  /** Of a POST or PUT. One is made where none is given: the call acts once, however often it is tried. */
  idempotencyKey?: string | undefined;
}

/** One request. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Wire;
  body?: unknown;
  accept?: string;
  headers?: Record<string, string>;
}

/** A quiet stream has a comment every 15 s. */
const STREAM_IDLE_MS = 50_000;
const JSON_TYPE = "application/json";

/** Sends calls: limits of time, retries, errors. */
export class Transport {
  readonly #config: Config;

  constructor(config: Config) {
    this.#config = config;
  }

  /** The answer of a call that answers JSON, or nothing. */
  json<T>(call: Call, options: RequestOptions = {}): Promise<T> {
    return this.#answer(call, options, parsed<T>);
  }

  /** The answer of a call that answers JSON or text. */
  jsonOrText<T>(call: Call, options: RequestOptions = {}): Promise<T | string> {
    return this.#answer<T | string>(call, options, (response) =>
      mediaType(response) === JSON_TYPE ? parsed<T>(response) : response.text(),
    );
  }

  /** The lines of an answer, as they come. Once there was one, a failure is not tried again. */
  async *lines(call: Call, options: RequestOptions = {}): AsyncGenerator<string, void, undefined> {
    const request = this.#request(call, options);
    const tries = this.#tries(options);
    for (let isBegun = false; ; ) {
      try {
        for await (const line of this.#stream(request, options.signal)) {
          isBegun = true;
          yield line;
        }
        return;
      } catch (error) {
        if (isBegun) throw error;
        await tries.pause(error, options.signal);
      }
    }
  }

  async #answer<T>(call: Call, options: RequestOptions, read: Read<T>): Promise<T> {
    const request = this.#request(call, options);
    const tries = this.#tries(options);
    for (;;) {
      try {
        return await this.#once(request, options.signal, read);
      } catch (error) {
        // What a try before this may have erased without being able to say so.
        if (call.method === "DELETE" && tries.hasFailed && error instanceof NotFoundError) return undefined as T;
        await tries.pause(error, options.signal);
      }
    }
  }

  async #once<T>(request: Outgoing, signal: AbortSignal | undefined, read: Read<T>): Promise<T> {
    const deadline = new Deadline(signal);
    try {
      return await read(await this.#open(request, deadline));
    } catch (error) {
      throw deadline.reason(error);
    } finally {
      deadline.end();
    }
  }

  async *#stream(request: Outgoing, signal: AbortSignal | undefined): AsyncGenerator<string, void, undefined> {
    const deadline = new Deadline(signal);
    try {
      const { body } = await this.#open(request, deadline);
      if (body) yield* linesOf(body, deadline);
    } catch (error) {
      throw deadline.reason(error);
    } finally {
      deadline.end();
    }
  }

  /** Sends a request, and gives its answer if it was done. */
  async #open({ url, init, accept, timeoutMs }: Outgoing, deadline: Deadline): Promise<Response> {
    deadline.restart(timeoutMs);
    const response = await this.#config.fetch(url, { ...init, signal: deadline.signal });
    const { ok, status, headers } = response;
    if (!ok) throw statusError({ status, headers, body: await response.text() });
    const type = mediaType(response);
    if (type && !accept.includes(type)) throw new InvalidResponseError(`the answer is ${type}: is this contextd?`);
    return response;
  }

  #request(call: Call, options: RequestOptions): Outgoing {
    const accept = call.accept ?? JSON_TYPE;
    const headers = { accept, ...call.headers, ...this.#headers(call, options) };
    const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) };
    return {
      url: this.#config.baseURL + call.path + query(call.query ?? {}),
      // An answer that leads elsewhere is not followed: a key is for the service that it was given for.
      init: { method: call.method, headers, redirect: "manual", ...body },
      accept,
      timeoutMs: (options.timeoutMs ?? this.#config.timeoutMs) + waits(call),
    };
  }

  #headers(call: Call, options: RequestOptions): Record<string, string> {
    const headers: Record<string, string> = { "user-agent": `contextd-typescript/${VERSION}` };
    if (this.#config.apiKey) headers["authorization"] = `Bearer ${this.#config.apiKey}`;
    if (call.body !== undefined) headers["content-type"] = JSON_TYPE;
    if (call.method === "POST" || call.method === "PUT") {
      headers["idempotency-key"] = options.idempotencyKey ?? newKey();
    }
    return headers;
  }

  #tries(options: RequestOptions): Tries {
    return new Tries(options.maxRetries ?? this.#config.maxRetries);
  }
}

type Read<T> = (response: Response) => Promise<T>;

/** A call as it is sent, the same at every try. */
interface Outgoing {
  url: string;
  init: RequestInit;
  /** Media types that the answer may have. */
  accept: string;
  timeoutMs: number;
}

async function* linesOf(body: ReadableStream<Uint8Array>, deadline: Deadline): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const text = new TextDecoder();
  const lines = new LineDecoder();
  for (;;) {
    deadline.restart(STREAM_IDLE_MS);
    const { done, value } = await reader.read();
    deadline.pause();
    if (done) return;
    yield* lines.decode(text.decode(value, { stream: true }));
  }
}

async function parsed<T>(response: Response): Promise<T> {
  const text = await response.text();
  return text === "" ? (undefined as T) : parseJSON<T>(text, "the answer");
}

function mediaType({ headers }: Response): string {
  return headers.get("content-type")?.split(";")[0] ?? "";
}

/** Milliseconds that a call waits by its own wish. */
function waits({ body }: Call): number {
  const { wait } = Object(body) as { wait?: unknown };
  return typeof wait === "number" ? wait * 1000 : 0;
}
