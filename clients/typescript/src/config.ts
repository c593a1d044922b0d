import type { RequestOptions } from "./transport.js";

/** What a client is made from. Whatever is missing comes from the environment, then from the defaults. */
export interface ContextdOptions {
  /** `CONTEXTD_URL`; http://127.0.0.1:8080. */
  baseURL?: string | undefined;
  /** `CONTEXTD_API_KEY`; none, as `contextd serve --dev` has it. */
  apiKey?: string | undefined;
  /** How long an answer may take, in milliseconds, besides what a call waits by its own wish (`wait`); 130,000. */
  timeoutMs?: number | undefined;
  /** How often a call is tried again after the first time; 5. */
  maxRetries?: number | undefined;
  /** In place of the runtime's own. */
  fetch?: Fetch | undefined;
}

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What all calls of a client have in common. */
export interface Config extends Required<Pick<RequestOptions, "timeoutMs" | "maxRetries">> {
  baseURL: string;
  apiKey: string | undefined;
  fetch: Fetch;
}

const BASE_URL = "http://127.0.0.1:8080";
/** The service gives an answer within 120 s, if only to say that it gave up. */
const TIMEOUT_MS = 130_000;
const MAX_RETRIES = 5;

/** Arguments, else the environment, else defaults. */
export function configOf(options: ContextdOptions): Config {
  return {
    baseURL: checkedURL(options.baseURL || environment("CONTEXTD_URL") || BASE_URL),
    apiKey: checkedKey(options.apiKey || environment("CONTEXTD_API_KEY")),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    maxRetries: options.maxRetries ?? MAX_RETRIES,
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
  };
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

function checkedURL(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain) throw new TypeError("baseURL must be http:// or https://, without user, password, query and fragment");
  return text.replace(/\/+$/, "");
}

/** Refused here: what a header can't hold would be shown, secret and all, by the error further down. */
function checkedKey(key: string | undefined): string | undefined {
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("apiKey must be of visible ASCII characters");
  return key;
}
