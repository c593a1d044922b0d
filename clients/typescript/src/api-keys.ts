import type { CreateKey, Key, RotateKey } from "./api.js";
import type { Calls } from "./calls.js";
import type { List, PageParams } from "./pages.js";
import { type Params, path } from "./params.js";
import type { RequestOptions } from "./transport.js";

/** The tenant's API keys, for a key with the scope `admin`. */
export class ApiKeys {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** A new key. This answer alone holds it: where it got lost, rotate the key. */
  create(params: Params<CreateKey>, options?: RequestOptions): Promise<Key> {
    return this.#calls.post("/v1/keys", params, options);
  }

  /** What a key may do, without its text. */
  get(keyId: string, options?: RequestOptions): Promise<Key> {
    return this.#calls.get(path`/v1/keys/${keyId}`, {}, options);
  }

  /** The newest first. */
  list(params: PageParams = {}, options?: RequestOptions): List<Key> {
    return this.#calls.list("/v1/keys", params, options);
  }

  /** A key that takes another's place, which goes on for `graceSeconds`. */
  rotate(keyId: string, params: Params<RotateKey> = {}, options?: RequestOptions): Promise<Key> {
    return this.#calls.post(path`/v1/keys/${keyId}/rotate`, params, options);
  }

  /** Ends a key for good. */
  revoke(keyId: string, options?: RequestOptions): Promise<void> {
    return this.#calls.delete(path`/v1/keys/${keyId}`, options);
  }
}
