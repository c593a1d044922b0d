import { type EventsOptions, EventStream } from "./events.js";
import { List, type Listing, type PageParams } from "./pages.js";
import { wire } from "./params.js";
import type { RequestOptions, Transport } from "./transport.js";

/** Calls by their method, with parameters in place of query and body. */
export class Calls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get<T>(path: string, params: object, options?: RequestOptions): Promise<T> {
    return this.#transport.json({ method: "GET", path, query: wire(params) }, options);
  }

  post<T>(path: string, params: object | undefined, options?: RequestOptions): Promise<T> {
    return this.#transport.json({ method: "POST", path, body: params && wire(params) }, options);
  }

  put<T>(path: string, params: object, options?: RequestOptions): Promise<T> {
    return this.#transport.json({ method: "PUT", path, body: wire(params) }, options);
  }

  patch<T>(path: string, params: object, options?: RequestOptions): Promise<T> {
    return this.#transport.json({ method: "PATCH", path, body: wire(params) }, options);
  }

  delete(path: string, options?: RequestOptions): Promise<void> {
    return this.#transport.json({ method: "DELETE", path }, options);
  }

  list<Item, Answer extends Listing<Item> = Listing<Item>>(
    path: string,
    params: PageParams,
    options?: RequestOptions,
  ): List<Item, Answer> {
    return new List((after) => this.get<Answer>(path, { ...params, after }, options), params.after);
  }

  /** The answer as JSON or as text, whichever it is. */
  read<T>(path: string, accept: string, options?: RequestOptions): Promise<T | string> {
    return this.#transport.jsonOrText({ method: "GET", path, accept }, options);
  }

  lines(
    path: string,
    accept: string,
    params: object,
    options?: RequestOptions,
  ): AsyncGenerator<string, void, undefined> {
    return this.#transport.lines({ method: "GET", path, accept, query: wire(params) }, options);
  }

  /** A stream that connects anew by itself. */
  events(path: string, options: EventsOptions): EventStream {
    const open = (lastEventId: string | undefined) => {
      const headers: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      const query = { names: options.names };
      const call = { method: "GET", path, query, accept: "text/event-stream", headers } as const;
      return this.#transport.lines(call, { signal: options.signal, maxRetries: 0 });
    };
    return new EventStream(open, options);
  }
}
