import type { CreateHook, Delivery, Hook, UpdateHook } from "./api.js";
import type { Calls } from "./calls.js";
import type { List, PageParams } from "./pages.js";
import { type Params, path } from "./params.js";
import type { RequestOptions } from "./transport.js";

/** URLs that are called before and after compactions and navigations. */
export class Hooks {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** A new hook. This answer alone shows its secret. */
  create(params: Params<CreateHook>, options?: RequestOptions): Promise<Hook> {
    return this.#calls.post("/v1/hooks", params, options);
  }

  get(hookId: string, options?: RequestOptions): Promise<Hook> {
    return this.#calls.get(path`/v1/hooks/${hookId}`, {}, options);
  }

  /** Changes what is given, and nothing else. */
  update(hookId: string, params: Params<UpdateHook>, options?: RequestOptions): Promise<Hook> {
    return this.#calls.patch(path`/v1/hooks/${hookId}`, params, options);
  }

  delete(hookId: string, options?: RequestOptions): Promise<void> {
    return this.#calls.delete(path`/v1/hooks/${hookId}`, options);
  }

  list(params: PageParams = {}, options?: RequestOptions): List<Hook> {
    return this.#calls.list("/v1/hooks", params, options);
  }

  /** What the hook was sent, and what became of it. */
  deliveries(hookId: string, params: PageParams = {}, options?: RequestOptions): List<Delivery> {
    return this.#calls.list(path`/v1/hooks/${hookId}/deliveries`, params, options);
  }

  /** Sends a delivery once more. */
  redeliver(hookId: string, deliveryId: string, options?: RequestOptions): Promise<Delivery> {
    return this.#calls.post(path`/v1/hooks/${hookId}/deliveries/${deliveryId}/redeliver`, undefined, options);
  }
}
