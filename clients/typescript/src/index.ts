export type * from "./api.js";
export { Contextd } from "./client.js";
export type { Chapters, Entries, ListEntries, ToolCalls } from "./collections.js";
export type { Compactions, ListAllCompactions, ListCompactions, WaitOptions } from "./compactions.js";
export type { ContextdOptions, Fetch } from "./config.js";
export {
  APIConnectionError,
  APIStatusError,
  APITimeoutError,
  AuthenticationError,
  ConflictError,
  ContextdError,
  InvalidRequestError,
  InvalidResponseError,
  NotFoundError,
  RateLimitError,
  ServerError,
  UnavailableError,
} from "./errors.js";
export type { EventsOptions, EventStream, StreamEvent } from "./events.js";
export type { ApiKeys } from "./api-keys.js";
export type { Hooks } from "./hooks.js";
export type { List, Listing, Page, PageParams } from "./pages.js";
export type { Params } from "./params.js";
export type { ContextOf, ContextParams, ListSessions, Sessions, WithContext } from "./sessions.js";
export type { RequestOptions } from "./transport.js";
