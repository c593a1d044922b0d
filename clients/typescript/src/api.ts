// Written by scripts/generate.mjs from openapi/openapi.json; not to be edited.

/** The guard's state, stored per session and shown in snapshots and results. */
export interface AntiThrash {
  last_savings_pct?: number | null;
  /** Of these, those that saved enough and were a loss of money. */
  losses: number;
  /**
   * Compactions in a row that saved less than `min_savings_pct`, or that nobody asked for and that cost more than they
   * bring.
   */
  low_savings_streak: number;
  max_consecutive_low_savings: number;
  min_savings_pct: number;
  /** Why it was last re-armed: `growth`, `new_messages`, `manual`, `settings`. */
  reset_reason?: string | null;
  /** The size from which it tries again; `null` unless it waits for growth. */
  retry_at_tokens?: number | null;
  tripped: boolean;
  /** The number of messages in the context when it gave up. */
  tripped_at_messages?: number | null;
  /** The size at which it gave up. */
  tripped_at_tokens?: number | null;
  tripped_by: TrippedBy | null;
}

/** What an append did, with the context if it was asked for. */
export type AppendAnswer = Appended & {
  context?: Context | null;
};

export interface AppendEntries {
  /** 409 `leaf_moved` unless this is the leaf; null: unless the session is empty. */
  expected_leaf_id?: string | null;
  format: Format;
  /** Items of that format, in order. All land or none. */
  items: Item[];
  /** The entry to append under; the leaf when left out. */
  parent_id?: string | null;
  /** The text of a failed model call. */
  provider_error?: string | null;
  return_context?: Format | null;
  /** The provider's own usage object for the newest answer. */
  usage?: {
    [key: string]: unknown;
  } | null;
}

/** What an append did. */
export interface Appended {
  compaction?: CompactionRef | null;
  entries: AppendedEntry[];
  leaf_id?: string | null;
  overflow?: Overflow | null;
  snapshot: Snapshot;
  warnings: Warning[];
}

export interface AppendedEntry {
  id: string;
  role?: string | null;
  source_id?: string | null;
  tokens: number;
  type: string;
}

/** The summary that a move of the leaf has left. */
export interface BranchSummary {
  details: FileLists;
  fallback: Fallback;
  messages_summarized: number;
  /** As the model is shown it. */
  text: string;
  tokens: number;
  upstream: UpstreamReport;
}

/** Tokens by part; together they are the snapshot's `tokens`. */
export interface Breakdown {
  messages: number;
  summary: number;
  system: number;
  tool_results: number;
  tools: number;
  /** What the provider counts and the client never posts: its system prompt and tools, where it keeps them to itself. */
  unposted: number;
}

/**
 * Whether an upstream is called or left alone after many failures: `open` where any process of the service leaves it
 * alone.
 */
export interface Breaker {
  /** Until all of them try it again; null where none leaves it alone. */
  retry_after_ms?: number | null;
  state: BreakerState;
}

export type BreakerState = "closed" | "open";

/** What is known of a call's end. That it worked is never known. */
export type CallEnd = "returned" | "failed" | "refused" | "open";

/** How a call is carried out, which decides how it is paired and where it may be replayed. */
export type CallKind = "function" | "custom" | "server";

/**
 * Part of a context. `system` and `tools` travel beside the messages; `unposted` is what the provider counts besides and
 * the client never posts; `instructions` are system messages among them;
 * an answer's words, thinking and calls are `assistant`; a message that holds results alone is `tool_results`, its frame
 * too.
 */
export type Category = "system" | "tools" | "unposted" | "summary" | "chapters" | "branch_summaries" | "instructions" | "user" | "assistant" | "tool_results" | "other";

/** A category of a context. */
export interface CategoryPart {
  category: Category;
  share_pct: number;
  tokens: number;
}

/** What became of a message of the context before. */
export interface Change {
  entry_id: string;
  kind: ChangeKind;
  tokens_after: number;
  tokens_before: number;
}

/** How many messages became what. */
export interface ChangeCounts {
  anchored: number;
  elided: number;
  kept: number;
  summarised: number;
}

/**
 * What became of a message: it is as it was (`kept`), the same although it stands before the cut (`anchored`), shown
 * shorter (`elided`), or told by a summary or a chapter (`summarised`).
 */
export type ChangeKind = "kept" | "summarised" | "elided" | "anchored";

/** Task numbers are those of the index and of the context, inclusive. */
export interface ChapterInput {
  end: number;
  /** What stands in the context in place of the tasks. */
  message: string;
  name: string;
  start: number;
}

/** All chapters of a path, as a list of its own kind: they are few, so there is one page. */
export interface ChapterList {
  items: ChapterView[];
  next_cursor?: string | null;
}

export interface ChapterRefused {
  detail: string;
  end: number;
  /** Place in the call, from 0. */
  index: number;
  name: string;
  reason: Refusal;
  start: number;
}

/** Whether the agent is asked to close chapters. */
export interface ChapterTask {
  pending: boolean;
}

/** What to hand the agent when chapters are due. */
export interface ChapterTaskView {
  /** As in the snapshot. The rest is given in any case. */
  pending: boolean;
  prompt: string;
  tasks: Task[];
  /** Name, description and JSON schema of the parameters, which are the body of `POST chapters`. */
  tool: {
    [key: string]: unknown;
  };
}

/** A chapter with those nested in it. */
export interface ChapterView {
  chapters: ChapterView[];
  end: number;
  id: string;
  /** It is shown at the leaf: neither nested in another nor replaced by a summary. */
  in_context: boolean;
  message: string;
  name: string;
  /** Its folder under `vfs`. */
  path: string;
  savings_pct: number;
  slug: string;
  /** Task numbers as they were when it was closed. */
  start: number;
  tokens_after: number;
  tokens_before: number;
}

/** `tokens_before` is the estimate of what the chapter hides, `tokens_after` that of its own message. */
export interface ChapterWritten {
  end: number;
  id: string;
  name: string;
  /** Its folder under `vfs`. */
  path: string;
  savings_pct: number;
  slug: string;
  start: number;
  tokens_after: number;
  tokens_before: number;
}

/** What a chapters call did. */
export interface ChaptersWritten {
  chapters: ChapterWritten[];
  /** Reverting it takes all chapters of the call back; null after an empty list. */
  compaction_id?: string | null;
  leaf_id?: string | null;
  /** Chapters of the call that could not be written; the others were. */
  refused: ChapterRefused[];
  snapshot: Snapshot;
}

/**
 * A call that a statement cites, the `number`-th of the path. The entry is null where the call is not there, or stands so
 * far back that it was not read again.
 */
export interface CitedCall {
  entry_id?: string | null;
  number: number;
  tool_call_id?: string | null;
}

/** A message that a statement cites, the `number`-th of the user's own on the path. */
export interface CitedMessage {
  entry_id?: string | null;
  number: number;
}

export interface CompactItems {
  focus_topic?: string | null;
  format: Format;
  items: Item[];
  /** As a session's. */
  settings?: SettingsPatch | null;
  strategy?: Strategy | null;
  system?: SystemPrompt;
  tools?: ToolDefinition[] | null;
}

/** OpenAI's request. Fields that are not named here are taken, and nothing is done about them. */
export interface CompactResponse {
  /**
   * The whole conversation: a text, or a list of at most 20,000 items. What an earlier compaction gave may be among
   * them.
   */
  input: unknown;
  /** The system prompt. */
  instructions?: string | null;
  /** Its window decides how many of the user's messages stay. */
  model?: string | null;
  /** Refused: responses are kept nowhere here, so `input` has to hold the whole conversation. */
  previous_response_id?: string | null;
}

export interface CompactSession {
  /** Kept with the compaction. */
  details?: {
    [key: string]: unknown;
  } | null;
  /** 409 `leaf_moved` unless this is the leaf: binds the call to a prepared plan. */
  expected_leaf_id?: string | null;
  /** The first entry that stays, in place of the planned cut. */
  first_kept_entry_id?: string | null;
  focus_topic?: string | null;
  /** Passes the anti-thrash guard; nothing passes the validity rules. */
  force?: boolean;
  instructions?: string | null;
  /** Settings for this compaction only. */
  settings?: SettingsPatch | null;
  strategy?: Strategy | null;
  /**
   * The caller's own summary, used as given: no model is asked. 422 where it is empty or a tool call; what would be larger
   * than what it replaces is skipped (`would_grow`).
   */
  summary?: string | null;
  /** Seconds to wait for the end. */
  wait?: number | null;
  when?: When;
}

/** The compacted transcript, in the format that it came in. */
export interface CompactedItems {
  /** Valid as they are. */
  messages: Item[];
  result: CompactionResult;
  /** The system prompt that goes with them. */
  system?: unknown;
}

/** OpenAI's answer. */
export interface CompactedResponse {
  /** Seconds since 1970. */
  created_at: number;
  id: string;
  /** `response.compaction`. */
  object: string;
  /**
   * The user's messages, instructions that stood among them, and at the end one item of type `compaction`: its
   * `encrypted_content` stands for all else, wherever it comes back.
   */
  output: {
    [key: string]: unknown;
  }[];
  usage: ResponseUsage;
}

/** A compaction job. */
export interface Compaction {
  attempts: number;
  created_at: string;
  /** What went wrong last, for people; null otherwise. */
  error?: string | null;
  finished_at?: string | null;
  id: string;
  /** Its summary is written and waits for the context to turn red; the status is `running` meanwhile. */
  prepared: boolean;
  result?: CompactionResult | null;
  reverted_at?: string | null;
  session_id: string;
  snapshot_after?: Snapshot | null;
  snapshot_before?: Snapshot | null;
  /** What its calls of models came to, whatever became of it. */
  spent: CompactionSpending;
  started_at?: string | null;
  status: Status;
  strategy: Strategy;
  trigger: Trigger;
}

/**
 * Compactions that ended. `by_reason`: those that were skipped, by their `skip_reason`. `prepared` are none of them: written
 * by now, they wait for their context to turn red.
 */
export interface CompactionCounts {
  by_reason: {
    [key: string]: number;
  };
  by_status: {
    [key: string]: number;
  };
  by_strategy: {
    [key: string]: number;
  };
  prepared: number;
}

/**
 * The context before a compaction and after it, part by part: `before` and `changes` have `limit` messages each, and
 * `after` has what goes with them.
 */
export interface CompactionDiff {
  after: ShownEntry[];
  before: ShownEntry[];
  /** One for each message of `before`, in its order. */
  changes: Change[];
  compaction_id: string;
  counts: ChangeCounts;
  /** The compaction's entry; in `after`, its summary. */
  entry_id: string;
  messages_after: number;
  /** Of all parts together. */
  messages_before: number;
  next_cursor?: string | null;
  session_id: string;
  tokens_after: number;
  /** The contexts as they were measured when the compaction was committed. */
  tokens_before: number;
}

/** A job that an append started or, where it was prepared ahead, carried out. */
export interface CompactionRef {
  id: string;
  status: Status;
  trigger: Trigger;
}

/** What a compaction did: stored with its job, shown by the API. Tokens are integers, percentages 0-100. */
export interface CompactionResult {
  anti_thrash: AntiThrash;
  /** Calls of the model since the compaction before, or from the beginning. */
  calls_before?: number;
  details: FileLists;
  duration_ms: number;
  entry_id?: string | null;
  evidence?: EvidenceCounts | null;
  fallback: Fallback;
  final_state: FillState;
  first_kept_entry_id?: string | null;
  /** The hooks that were asked, in order. */
  hooks?: HookReport[];
  identifiers: IdentifierReport;
  is_split_turn: boolean;
  masking_tokens_freed: number;
  messages_kept: number;
  messages_removed: number;
  messages_summarized: number;
  net: NetReport;
  previous_summary_reused: boolean;
  savings_pct: number;
  skip_reason?: Reason | null;
  strategy_requested: Strategy;
  strategy_used: Strategy;
  summary?: string | null;
  target_reached?: boolean | null;
  /**
   * The size that `truncate`, `sliding` or `smart` shrank to, and whether `tokens_after` is within it: what has to stay
   * may be more. `null` for other strategies.
   */
  target_tokens?: number | null;
  tokens_after: number;
  tokens_before: number;
  tokens_saved: number;
  tool_results_masked: number;
  tool_results_pruned: number;
  upstream: UpstreamReport;
  was_skipped_due_to_low_savings: boolean;
}

/**
 * What all calls of models for a compaction came to, whatever became of it: those of attempts that failed, were refused or
 * were overtaken too. `errors`: calls that gave no answer.
 */
export interface CompactionSpending {
  cache_write_tokens: number;
  /** Parts of `input_tokens`: read from the provider's prompt cache, and written to it. */
  cached_tokens: number;
  calls: number;
  cost_usd: number;
  errors: number;
  input_tokens: number;
  output_tokens: number;
}

/**
 * The context at the leaf, taken apart. What is `source` `estimate` is counted here; with `usage` the parts are the
 * estimates brought to the size that the provider told.
 */
export interface Composition {
  /** Every category; together they are `tokens`. */
  categories: CategoryPart[];
  /** What tool results and arguments that are shown shorter would take besides. */
  elided_tokens: number;
  /** Entries shown, the summary's among them. */
  entries: number;
  /** The largest first. */
  largest: LargeEntry[];
  leaf_id?: string | null;
  reserve_tokens: number;
  session_id: string;
  source: Source;
  state: FillState;
  tokens: number;
  /** The tools by the tokens of their results; 100 at most. */
  tools: ToolPart[];
  window: number;
}

/** A context, ready to be sent. */
export interface Context {
  conversion_notes: ConversionNote[];
  elided: Elided[];
  /** The entries shown, in order. */
  entry_ids: string[];
  exceeds_window?: Excess | null;
  format: Format;
  leaf_id?: string | null;
  messages: Item[];
  session_id: string;
  /** Leading messages unchanged since the previous rebuild at this format. */
  stable_prefix_messages: number;
  state: FillState;
  summary_entry_id?: string | null;
  /**
   * The system prompt that travels beside the messages, in the form that `format` gives it: as it was given where
   * that is its own. For `anthropic` and `gemini`, system messages that lead the transcript are here too.
   */
  system?: unknown;
  /** Of what is handed out, system prompt and tools included. */
  tokens: number;
}

/** What the context says otherwise than the stored items do. */
export interface ConversionNote {
  code: NoteCode;
  detail: string;
  entry_id?: string | null;
}

/** `tokens` is the sum of `per_item`, the system prompt and the tools. */
export interface Count {
  per_item: number[];
  tokens: number;
}

export interface CountTokens {
  estimator?: Estimator | null;
  format: Format;
  items: Item[];
  /** A text or a list of blocks. */
  system?: SystemPrompt;
  /** Tool definitions. */
  tools?: ToolDefinition[] | null;
}

export interface CreateHook {
  /** Default true. */
  enabled?: boolean | null;
  events: Event[];
  on_error?: OnError;
  /** What messages are signed with: `whsec_` and base64, or any text. One is made where none is given. */
  secret?: string | null;
  /** For one attempt. */
  timeout_ms?: number | null;
  /** `http` or `https`; in the public internet, unless the operator allows other addresses. */
  url: string;
}

export interface CreateKey {
  /** From then on it opens nothing. Default: it does not end by itself. */
  expires_at?: string | null;
  limits?: KeyLimits | null;
  /** To tell it from others. */
  name: string;
  /** What it may do: `admin` includes `write`, and `write` includes `read`. Default: `write`. */
  scopes?: Scope[] | null;
}

export interface CreateSession {
  /** The client's own id for it; need not be unique. */
  external_id?: string | null;
  /** Any object; kept as given. */
  metadata?: {
    [key: string]: unknown;
  } | null;
  /** Decides the window where the settings do not. */
  model?: string | null;
  /** Names and ranges as in the session's `settings`. */
  settings?: SettingsPatch | null;
  /** A text or a list of blocks; kept as given. */
  system?: SystemPrompt;
  title?: string | null;
  /** Tool definitions in the provider's format; kept as given. */
  tools?: ToolDefinition[] | null;
}

/** One message to a hook and how it went. */
export interface Delivery {
  attempts: number;
  compaction_id?: string | null;
  created_at: string;
  duration_ms?: number | null;
  /** What was wrong with the last attempt. */
  error?: string | null;
  event: string;
  finished_at?: string | null;
  /** The message's `webhook-id`. */
  id: string;
  /** Where it is pending. */
  next_attempt_at?: string | null;
  /** What became of the answer to a question: `passed`, `replaced` (it was used), `unused`, `cancelled` or `failed`. */
  outcome?: string | null;
  /** Why it was not used, all of it or a part. */
  outcome_detail?: string | null;
  /** The first thousand characters of the answer. */
  response?: string | null;
  response_status?: number | null;
  session_id: string;
  /** `pending`, `running`, `delivered` or `failed`. */
  status: string;
}

/** A tool result, or the arguments of a call, shown shorter than they are; `tool-calls/{tool_call_id}` gives the whole. */
export interface Elided {
  entry_id: string;
  part: ElidedPart;
  /** Tokens of the original. */
  tokens: number;
  tool_call_id: string;
}

/** The half of a call, or the words of a message, that an [`Elision`] is about. */
export type ElidedPart = "result" | "arguments" | "words";

/** One entry, whole. */
export interface EntryView {
  created_at: string;
  id: string;
  /** The item as it came. */
  item: Item;
  label?: string | null;
  /** The item as the service understands it (native format); null where it says nothing. */
  message?: {
    [key: string]: unknown;
  } | null;
  parent_id?: string | null;
  role?: string | null;
  seq: number;
  source_format: Format;
  source_id?: string | null;
  tokens: number;
  type: string;
}

/** Which sessions: those that are all of what is named. Nothing named is refused without `all`. */
export interface EraseSessions {
  /** `next_cursor` of the call before. */
  after?: string | null;
  /** Every session. Not together with anything that names some. */
  all?: boolean;
  created_before?: string | null;
  /** Erases nothing and counts them, also beyond `limit`. */
  dry_run?: boolean;
  /** All sessions of each. Not together with `ids`. */
  external_ids?: string[] | null;
  ids?: string[] | null;
  /** Most sessions that this call erases. */
  limit?: number | null;
  /**
   * Keys at the top of the metadata, each with its value: a text, a number, a boolean or null. Compared as in
   * `GET /v1/sessions`: a text also with the JSON of a number, and the other way round.
   */
  metadata?: {
    [key: string]: unknown;
  } | null;
  /** `green`, `yellow` or `red`. */
  state?: string | null;
  /** Not changed since. */
  updated_before?: string | null;
}

/** What came of it. */
export interface Erased {
  /** Those of them that are erased: no call finds them any more. One that no longer fitted when its turn came is not. */
  erased: number;
  /** Sessions that were found, the newest first. */
  matched: number;
  /** Not all sessions were looked at: the same call again, with `next_cursor` as `after`, goes on. */
  more: boolean;
  next_cursor?: string | null;
}

export interface Estimate {
  /** 0 where no model would be asked. Null where the upstream has no price. */
  cost_usd?: number | null;
  /** As a compaction of now would report it. */
  net: NetReport;
  savings_pct: number;
  /** Of what a summariser would read: the span as it is told it, the summary before and the prompt. */
  summarizer_input_tokens: number;
  tokens_after: number;
}

/** How tokens are counted. */
export type Estimator = "o200k" | "cl100k" | "pi" | "praison";

/** What a hook is called for. */
export type Event = "before_compact" | "after_compact" | "before_navigate" | "after_navigate" | "chapter_requested" | "prune_tool_results" | "format_messages" | "build_summary";

/**
 * How many statements a summary makes that need evidence, and how many of them have it. `cited`: they name calls or
 * messages that are there and fit them. `unsupported`: they name none, or wrongly; those that say that they are inferred
 * are neither.
 */
export interface EvidenceCounts {
  cited: number;
  statements: number;
  unsupported: number;
}

/** What became of a statement's citations. */
export type EvidenceStatus = "cited" | "inferred" | "open" | "elsewhere" | "uncited" | "unknown_number" | "failed" | "unrelated" | "other_number";

/** Said with a context that is larger than the window. */
export interface Excess {
  fixed: FixedParts;
  /** Tokens beyond the window. */
  over_by: number;
  reason: ExcessReason;
  window: number;
}

/** Why such a context is handed out. */
export type ExcessReason = "fixed_overhead" | "disabled" | "upstream_required" | "recounting" | "reverted" | "not_the_leaf";

/**
 * Whether another upstream or the built-in summariser stood in, for which upstream and why that one failed. `from` is
 * null where `llm_summarize` found no model to ask. `docs/CODES.md` lists the words of `reason`, under "Why another
 * wrote the summary" and, for an answer that was refused, under "Refused summaries".
 */
export interface Fallback {
  from?: string | null;
  reason?: string | null;
  used: boolean;
}

export type FileKind = "read" | "write" | "edit";

/** Files that the summarised calls read and changed, sorted by UTF-16 code units; disjoint. */
export interface FileLists {
  modified_files?: string[];
  read_files?: string[];
}

/** Sorted paths by what was done to them. */
export interface FileOpsView {
  edited: string[];
  read: string[];
  written: string[];
}

/** What a tool does with a file and which of its arguments holds the path. */
export interface FileTool {
  kind: FileKind;
  path: string;
}

/** How full the window is. */
export type FillState = "green" | "yellow" | "red";

/** Tokens of what stays, by why it stays. Each message counts once. */
export interface FixedParts {
  /** The first message that the user wrote, and what else earlier compactions keep word for word. */
  anchors: number;
  /** System messages of the transcript: those that lead it and the newest of their kind. */
  instructions: number;
  /** The newest message, with the calls and results that it can't be parted from. */
  newest: number;
  /** Pinned entries. */
  pinned: number;
  /** The system prompt beside the messages. */
  system: number;
  tools: number;
  /** What the provider counts and the client never posts. */
  unposted: number;
}

export interface FolderEntry {
  /** `folder` or `file`. */
  kind: string;
  name: string;
  /** Bytes of a file; null for a folder. */
  size?: number | null;
}

export interface ForkSession {
  /** The last entry that the new session shares; the leaf when left out. */
  entry_id?: string | null;
}

/** A wire format, named as in the API. */
export type Format = "native" | "openai_chat" | "openai_responses" | "anthropic" | "gemini" | "pi" | "claude_code" | "codex";

export type GuardReset = "growth" | "new_messages";

export interface Health {
  /** `ok` or `ready`. */
  status: string;
}

/** A place that is asked and told. */
export interface Hook {
  created_at: string;
  enabled: boolean;
  events: Event[];
  id: string;
  on_error: OnError;
  /** In the answer to the creation only. */
  secret?: string | null;
  /** For one attempt, in milliseconds. */
  timeout_ms: number;
  updated_at: string;
  url: string;
}

export type HookOutcome = "passed" | "replaced" | "unused" | "cancelled" | "failed";

/** What a hook made of a compaction; stored with its result. */
export interface HookReport {
  /** In the hook's log. */
  delivery_id: string;
  /** The hook's reason for cancelling, or what was wrong with its answer. */
  detail?: string | null;
  event: Event;
  hook_id: string;
  outcome: HookOutcome;
}

/**
 * The identifiers that people, the model and its calls used most in what was replaced, told by their form: how many there
 * are, at most 40, how many of them the summary's body has (whole, or by the end of a path), and how many more of them
 * stand in what code put beside it. `recall` (0-1) is the body's share.
 */
export interface IdentifierReport {
  found: number;
  kept: number;
  recall: number;
  restored: number;
}

export interface InputTokensDetails {
  /** 0: upstreams do not say. */
  cache_write_tokens: number;
  cached_tokens: number;
}

/** One part of a request that does not validate. */
export interface InvalidField {
  detail: string;
  /** JSON pointer into the body; for a query parameter `/query/{name}`, for a header `/headers/{name}`. */
  pointer: string;
}

/**
 * The ids of items in a context. `sendable`: as the provider takes them; one that is not of its form is left out.
 * `given`: as they came, for a client that knows its items by them.
 */
export type ItemIds = "sendable" | "given";

/** An API key. */
export interface Key {
  created_at: string;
  /** From then on it opens nothing. Null: it does not end by itself. */
  expires_at?: string | null;
  id: string;
  /** The key itself, in the answer to its creation and to a rotation only. */
  key?: string | null;
  /** To the minute. */
  last_used_at?: string | null;
  limits: KeyLimits;
  name: string;
  /** The key that a rotation has put in its place. */
  replaced_by?: string | null;
  revoked_at?: string | null;
  /** What it may do: `admin` includes `write`, and `write` includes `read`. */
  scopes: Scope[];
  status: KeyStatus;
}

/** How much a key may be used. */
export interface KeyLimits {
  /** At each process of the service; more is 429. Null: no limit. */
  requests_per_minute?: number | null;
}

/** Whether a key opens anything. */
export type KeyStatus = "active" | "rotated" | "expired" | "revoked";

/** Prices of cached input as shares of the price of plain input. */
export interface KnownCacheRates {
  read: number;
  write: number;
}

/** Models whose names begin alike; of several beginnings the longest counts. */
export interface KnownModel {
  /** The month in which this was collected from public documentation. */
  as_of: string;
  cache?: KnownCacheRates | null;
  /** Prompt and answer together, in tokens. */
  context_window: number;
  /** How their tokens are counted where the settings do not say. */
  estimator: Estimator;
  /** The most that they take in one request, in tokens: the window, or less. */
  max_input_tokens: number;
  /** The beginning of their names, without what providers put before it. */
  prefix: string;
}

/** One of the largest entries of a context; of a compaction, its summary. */
export interface LargeEntry {
  /** It is shown shorter than it is. */
  elided: boolean;
  entry_id: string;
  role?: string | null;
  share_pct: number;
  tokens: number;
  /** The tool that it calls, or whose result it holds; the first of several. */
  tool_name?: string | null;
  type: string;
}

export interface LintItems {
  format: Format;
  items: Item[];
}

/** What the provider of the format would refuse, and a copy that it takes. */
export interface Linted {
  /** A patch from `items` to `repaired`, to be applied in order. */
  diff: PatchStep[];
  /** A valid transcript in the same format. */
  repaired: Item[];
  /** Nothing is wrong, and `repaired` is equal to `items`. */
  valid: boolean;
  violations: Violation[];
}

/** What masking alone would free, and whether that is enough to leave red. */
export interface MaskForecast {
  sufficient: boolean;
  tokens_freed: number;
  tool_results: number;
}

export type Matched = "all" | "any";

export interface NavigateTo {
  /** What the summary should look at. */
  instructions?: string | null;
  /** `instructions` stand in place of the service's own, not after them. */
  replace_instructions?: boolean;
  /** Leave a summary of the branch that is left. */
  summarize?: boolean;
  /** The new leaf; null: before the first entry. */
  target_id: string | null;
  /** With `summarize`: seconds to wait for an upstream before the built-in summariser writes the summary. */
  wait?: number | null;
}

export interface Navigated {
  /** The text of the user message that was navigated onto, to be edited and sent again. */
  editor_text?: string | null;
  leaf_id?: string | null;
  old_leaf_id?: string | null;
  snapshot: Snapshot;
  summary?: BranchSummary | null;
  /** Null where no summary was asked for, or nothing was left that one could tell. */
  summary_entry_id?: string | null;
}

/**
 * What the compaction is worth: tokens no longer sent each turn against what it cost once, the summary's calls and the
 * provider's prompt cache, which has to take in anew what the new context does not begin with as the old one did.
 */
export interface NetReport {
  /**
   * Calls of the model after which both costs are made up for, with all input that can be read from the prompt cache
   * before and after. `null` without savings, or where the summary cost something and one of the prices is not known.
   */
  break_even_turns?: number | null;
  /**
   * Cost of writing `tokens_rewritten` to the prompt cache instead of reading them from it; `null` where the price of
   * the session's model is not known.
   */
  cache_cost_usd?: number | null;
  summary_cost_usd: number;
  /** Tokens of the new context behind the beginning that it has in common with the old one. */
  tokens_rewritten?: number;
  tokens_shed_per_turn: number;
}

/**
 * Codes of `conversion_notes`: what a context says otherwise than the stored items do.
 * Later versions may add some: `detail` says in words what an unknown one means.
 *
 * - `orphan_result_dropped`: A result without a call, before it or behind it, is left out.
 * - `duplicate_result_dropped`: A second result of a call is left out.
 * - `synthetic_result`: A call has no result; one that says so is put in.
 * - `result_moved`: A result is put right behind its call.
 * - `messages_merged`: Parallel calls, the results of one batch, or system messages in a row go in one message.
 * - `call_id_renamed`: A call goes under another id: the provider refuses its own, or an earlier call has it.
 * - `tool_name_renamed`: A tool goes under a name that the provider takes.
 * - `arguments_wrapped`: Arguments that are no object become the one argument `input`; an empty list becomes an empty object.
 * - `error_flag_dropped`: The format can't mark a result as an error.
 * - `result_media_moved`: Media of a result follow it in a user message.
 * - `server_tool_as_text`: A tool that another provider ran is told in words.
 * - `server_tool_unpaired`: A tool that the provider ran lacks its call or its result; the other half is left out.
 * - `missing_link`: What names by its id something that is not in the context goes without that name, or is left out.
 * - `thinking_dropped`: Thinking that the provider would refuse is left out.
 * - `thinking_of_other_model`: Thinking was signed for another model than the newest, and is kept, as set.
 * - `thinking_missing`: The running tool-use turn has thinking that can't be given back: send it with thinking off.
 * - `thinking_after_compaction`: Signed thinking stands behind a summary or behind shortened tool traffic; the provider may refuse it.
 * - `thinking_stripped`: Thinking is left out, as set.
 * - `signature_placeholder`: A call goes with the word that Gemini takes in place of a signature: another model made it, or its own is lost.
 * - `reasoning_unpaired`: Reasoning is left out: what it led to is not there.
 * - `reasoning_by_reference`: Reasoning goes by its id alone: the provider must have stored the response.
 * - `media_dropped`: An image or a document can't be given to the provider here.
 * - `image_dropped`: An image is left out: pi holds images by their bytes only.
 * - `document_dropped`: A document is left out: pi holds none.
 * - `document_as_link`: A document is told by its URL.
 * - `document_as_text`: A document of plain text is sent as text.
 * - `raw_dropped`: A block that only another provider understands is left out.
 * - `raw_block_dropped`: The same in `openai_chat`.
 * - `provider_compaction_dropped`: Another provider's compaction is left out: only that provider can read it.
 * - `provider_compaction_as_text`: The summary of another provider's compaction is sent as text.
 * - `empty_text_dropped`: Blocks without text are left out.
 * - `empty_message_dropped`: A message of which nothing can be sent is left out.
 * - `response_fields_removed`: Fields that only answers have are left out.
 * - `trailing_space_trimmed`: White space at the end of the context is cut off: the provider refuses it behind an answer.
 * - `system_as_user`: A system message inside the conversation is passed on by the user.
 * - `user_message_inserted`: A user message is put first: the provider wants one there.
 * - `half_character_replaced`: Halves of characters, which no strict reader of JSON takes, are sent as U+FFFD.
 * - `cache_marks_removed`: Cache marks are taken off or shortened: the provider takes no such ones, or not so many.
 * - `item_repaired`: A stored item is mended: the provider would refuse it as it came.
 * - `item_unreadable`: A stored item can't be read any more; its calls alone are sent.
 * - `item_id_changed`: An item goes under another id: an earlier one has its own, or the provider takes none such (its form, its length).
 * - `item_id_removed`: An item goes without its id: an earlier one has it, or the provider takes none such (its form, its length).
 * - `duplicate_item_dropped`: An item is left out: an earlier one has its id, and it needs one.
 * - `parent_changed`: A pi entry hangs under the entry that is shown before it.
 * - `name_dropped`: The name of whoever speaks is left out: the format has no field for it, and it is no user's, whose words it would stand before.
 * - `tasks_numbered`: Tasks begin with their number, as `chaptering_trigger` has it.
 */
export type NoteCode = "orphan_result_dropped" | "duplicate_result_dropped" | "synthetic_result" | "result_moved" | "messages_merged" | "call_id_renamed" | "tool_name_renamed" | "arguments_wrapped" | "error_flag_dropped" | "result_media_moved" | "server_tool_as_text" | "server_tool_unpaired" | "missing_link" | "thinking_dropped" | "thinking_of_other_model" | "thinking_missing" | "thinking_after_compaction" | "thinking_stripped" | "signature_placeholder" | "reasoning_unpaired" | "reasoning_by_reference" | "media_dropped" | "image_dropped" | "document_dropped" | "document_as_link" | "document_as_text" | "raw_dropped" | "raw_block_dropped" | "provider_compaction_dropped" | "provider_compaction_as_text" | "empty_text_dropped" | "empty_message_dropped" | "response_fields_removed" | "trailing_space_trimmed" | "system_as_user" | "user_message_inserted" | "half_character_replaced" | "cache_marks_removed" | "item_repaired" | "item_unreadable" | "item_id_changed" | "item_id_removed" | "duplicate_item_dropped" | "parent_changed" | "name_dropped" | "tasks_numbered";

/** What becomes of the work that a hook was asked about where it gives no good answer. */
export type OnError = "continue" | "cancel";

export type OnUpstreamFailure = "fallback" | "fail";

/** What a change does; the words are those of JSON Patch (RFC 6902). */
export type Op = "add" | "remove" | "replace";

export interface OutputTokensDetails {
  reasoning_tokens: number;
}

/** What a `provider_error` came to. */
export interface Overflow {
  compaction_id?: string | null;
  reason: OverflowReason;
  /** The text says that the context was too long for the model. */
  recognised: boolean;
  /** Ask the model once more, with the context as it is once `compaction_id` has ended. */
  retry: boolean;
}

/** Why to try again, or not. */
export type OverflowReason = "not_overflow" | "compacted" | "compacting" | "already_tried" | "fixed_overhead" | "queue_full";

/** Patterns of the session's own, beside those of `auto`. */
export interface OwnPatterns {
  /** Regular expressions without look-around and back references. Where one has a group, the first is what is replaced. */
  patterns: string[];
}

/** One step of a patch. Applied in order to the list of items, the steps give the repaired copy. */
export interface PatchStep {
  /** The item as it was given, counted from 0; for `add`, the given item that it is put before. */
  index: number;
  op: Op;
  /** JSON pointer into the list of items, as it is when this step's turn has come. */
  path: string;
  value?: {
    [key: string]: unknown;
  } | null;
}

/** An entry id, or with `include_messages` the message too. */
export type PlannedMessage = string | PlannedEntry;

export type Policy = "conservative" | "balanced" | "aggressive";

export interface Preparation {
  anchor_entry_ids: string[];
  estimate: Estimate;
  file_ops: FileOpsView;
  first_kept_entry_id?: string | null;
  is_split_turn: boolean;
  leaf_id?: string | null;
  mask: MaskForecast;
  messages_to_summarize: PlannedMessage[];
  previous_summary?: string | null;
  settings: Settings;
  tokens_before: number;
  tokens_kept: number;
  tokens_to_summarize: number;
  turn_prefix_messages: PlannedMessage[];
}

export interface PrepareCompaction {
  /** List messages, not only their entry ids. */
  include_messages?: boolean;
  /** Another leaf than the session's. */
  leaf_id?: string | null;
  /** Settings for this call only. */
  settings?: SettingsPatch | null;
}

export interface Prepared {
  /** Whether the session compacts by itself; a call compacts in any case. */
  enabled: boolean;
  possible: boolean;
  preparation?: Preparation | null;
  reason?: Reason | null;
}

export type Preset = "auto" | "checkpoint" | "harness" | "chat";

/** The body of an error answer (RFC 9457). Some codes add figures as members of their own. */
export interface Problem {
  code: ProblemCode;
  /** What is wrong with this request. */
  detail: string;
  /** Where the request does not validate. */
  errors?: InvalidField[];
  /** The same id as in the `x-request-id` header and in the log. */
  request_id?: string | null;
  /** The HTTP status. */
  status: number;
  /** The code in words. */
  title: string;
  /** A URN that ends in `code`. */
  type: string;
}

/**
 * Codes of error answers: stable words to program against.
 * Later versions may add some: `detail` says in words what an unknown one means.
 *
 * - `malformed_json`: 400. The body is not JSON; `line` and `column` say where.
 * - `invalid_utf8`: 400. The body is not UTF-8; `offset` says where.
 * - `body_unreadable`: 400. The body ended before its time.
 * - `handle_refused`: 400. A sealed handle does not open: it was forged, cut off, or sealed for another tenant or with an unknown key; `errors` has a pointer to each.
 * - `unauthorized`: 401. No key, or one that is not known, is over or was revoked.
 * - `insufficient_scope`: 403. The key has neither the scope in `needed_scope` nor one that includes it.
 * - `host_not_allowed`: 403. With `--dev`: the Host is not this machine.
 * - `origin_not_allowed`: 403. With `--dev`: another site's page asks.
 * - `not_found`: 404. There is no such thing, or it belongs to somebody else.
 * - `method_not_allowed`: 405. The path does not take this method; `Allow` lists those that it takes.
 * - `not_acceptable`: 406. `Accept` lacks a type that the answer may have.
 * - `mcp_version_unknown`: 400. `MCP-Protocol-Version` names no version that is spoken here.
 * - `body_timeout`: 408. The body did not come in time.
 * - `leaf_moved`: 409. The leaf is another one; `leaf_id` names it.
 * - `idempotency_in_progress`: 409. An equal request is at work right now; `Retry-After` says when to ask again.
 * - `in_progress`: 409. A compaction was just ending; try again.
 * - `not_revertible`: 409. The compaction has changed nothing that could be taken back.
 * - `already_reverted`: 409. It was taken back before.
 * - `not_newest`: 409. A newer compaction stands on it.
 * - `summary_failed`: 409. There is no summary, and the settings allow no stand-in.
 * - `cancelled_by_hook`: 409. A hook is against it; `detail` has its reason.
 * - `navigation_superseded`: 409. A newer navigation with a summary came in between.
 * - `too_many_hooks`: 409. There are as many hooks as there may be.
 * - `not_redeliverable`: 409. The delivery is on its way, or was too large to be kept.
 * - `nothing_changed`: 409. The compaction has not changed a context: it has not ended, was skipped, cancelled or has failed.
 * - `not_retryable`: 409. The compaction has not failed, or its session has another one at work.
 * - `too_many_keys`: 409. There are as many keys as there may be.
 * - `key_not_active`: 409. The key was revoked, has expired or was rotated before.
 * - `payload_too_large`: 413. The body is larger than `limit` bytes.
 * - `unsupported_media_type`: 415. The body is not sent as `application/json`.
 * - `validation_failed`: 422. The request is not valid; `errors` has a pointer to each fault.
 * - `too_deep`: 422. The body nests deeper than `limit`.
 * - `too_many_items`: 422. More items than `limit`.
 * - `context_does_not_fit`: 422. What must be kept takes `tokens_needed`, more than `max_tokens`.
 * - `idempotency_key_reused`: 422. The key was used for another request.
 * - `queue_full`: 429. Too many jobs wait already; see `Retry-After`.
 * - `rate_limited`: 429. The key has made as many requests as it may within a minute, which are `limit`; see `Retry-After`.
 * - `too_many_streams`: 429. As many streams are open as may be; see `Retry-After`.
 * - `internal_error`: 500. A fault of ours; the log has it under this `request_id`.
 * - `outcome_unknown`: 503. The database went away in the middle of the write, which may have landed or not. Sent again with the same `Idempotency-Key` it acts once.
 * - `unavailable`: 503. The database can't be reached; see `Retry-After`.
 * - `starting_or_draining`: 503. The process is starting or shutting down.
 * - `schema_outdated`: 503. The database schema is older than this version.
 * - `read_only`: 503. The database takes no changes right now; see `Retry-After`.
 * - `storage_full`: 503. The database has no room left.
 * - `timeout`: 503. It took too long and was given up; a change may have been made all the same.
 * - `too_many_bytes`: 503. Too many bytes of bodies or answers are held already; see `Retry-After`.
 * - `too_many_connections`: 503. Too many connections are open; see `Retry-After`.
 * - `shutting_down`: 503. The process is shutting down.
 */
export type ProblemCode = "malformed_json" | "invalid_utf8" | "body_unreadable" | "handle_refused" | "unauthorized" | "insufficient_scope" | "host_not_allowed" | "origin_not_allowed" | "not_found" | "method_not_allowed" | "not_acceptable" | "mcp_version_unknown" | "body_timeout" | "leaf_moved" | "idempotency_in_progress" | "in_progress" | "not_revertible" | "already_reverted" | "not_newest" | "summary_failed" | "cancelled_by_hook" | "navigation_superseded" | "too_many_hooks" | "not_redeliverable" | "nothing_changed" | "not_retryable" | "too_many_keys" | "key_not_active" | "payload_too_large" | "unsupported_media_type" | "validation_failed" | "too_deep" | "too_many_items" | "context_does_not_fit" | "idempotency_key_reused" | "queue_full" | "rate_limited" | "too_many_streams" | "internal_error" | "outcome_unknown" | "unavailable" | "starting_or_draining" | "schema_outdated" | "read_only" | "storage_full" | "timeout" | "too_many_bytes" | "too_many_connections" | "shutting_down";

export interface PurgeCompactions {
  /** Those that failed before this time. */
  before?: string | null;
  /** Those of one session. */
  session_id?: string | null;
}

/** How many failed compactions were forgotten, and whether another call would find more. */
export interface Purged {
  more: boolean;
  purged: number;
}

/** What posting a transcript did. */
export interface Put {
  /** Entries that were stored now. */
  appended: number;
  compaction?: CompactionRef | null;
  /** The entries stored now, in the order of the posted items. */
  entries: AppendedEntry[];
  /** The posted history departs from the stored one, or ends before it: the leaf went to another branch or back. */
  forked: boolean;
  leaf_id?: string | null;
  /** Posted items that were not: stored already, or this service's own words. `matched + appended` are all posted. */
  matched: number;
  snapshot: Snapshot;
  warnings: Warning[];
}

/** What was new, with the context if it was asked for. */
export type PutAnswer = Put & {
  context?: Context | null;
};

/**
 * The tenant's jobs. `dead`: those out of attempts, whose compactions failed; `oldest_age_seconds`: how long the oldest due
 * one has waited.
 */
export interface QueueStats {
  dead: number;
  oldest_age_seconds: number;
  pending: number;
  running: number;
}

/** Why nothing was done. The same words for `prepare` and for a skipped compaction. */
export type Reason = "empty_session" | "already_compacted" | "nothing_to_compact" | "no_valid_cut_point" | "disabled" | "anti_thrash" | "in_progress" | "below_threshold" | "low_savings" | "cancelled_by_hook" | "would_grow" | "superseded" | "fixed_overhead" | "stale_usage";

export interface RebuildContext {
  format: Format;
  item_ids?: ItemIds | null;
  /** Another leaf than the session's. */
  leaf_id?: string | null;
  /** 422 `context_does_not_fit` where what must be kept is larger. */
  max_tokens?: number | null;
}

/** What an id of a call or a number of a record leads to. */
export type RecalledItem = ToolCallDetail | UserMessageDetail;

/** What is kept from summarisers, summaries and hooks. */
export type RedactSetting = RedactWord | OwnPatterns;

/** `auto`: what is known to be a secret by its form, by its name or by what stands around it. `off`: nothing. */
export type RedactWord = "auto" | "off";

/** Why a chapter is not written. */
export type Refusal = "out_of_range" | "in_progress" | "open_call" | "parted_call" | "nothing_to_close" | "would_grow";

/** The newest text of a model that was refused as a compaction's summary. */
export interface RefusedText {
  compaction_id: string;
  /** From then on it can't be read any more. */
  expires_at: string;
  model: string;
  /** Why: a word of `docs/CODES.md`, under "Refused summaries". */
  reason: string;
  refused_at: string;
  session_id: string;
  /** As the model wrote it, 64 KiB at most. */
  text: string;
  /** There was more of it. */
  truncated: boolean;
  upstream: string;
}

/** Tokens of the calls to a model; where none was asked, those of input and summary. */
export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: InputTokensDetails;
  output_tokens: number;
  output_tokens_details: OutputTokensDetails;
  total_tokens: number;
}

export interface RotateKey {
  /** How long the old key goes on; 0 ends it at once. */
  grace_seconds?: number | null;
}

/**
 * What compactions brought. `net_tokens` is without the tokens that models took and wrote. `cost_usd` is what calls of models
 * cost, `cache_cost_usd` what the sessions' prompt caches lost. `net_usd` is what was saved by calls between two compactions
 * of a session less both; null where no price of a session's model is known.
 */
export interface Savings {
  cache_cost_usd: number;
  cost_usd: number;
  gross_tokens: number;
  net_tokens: number;
  net_usd?: number | null;
}

/**
 * What a key may do; each scope includes those before it. `read` looks at everything of the tenant, `write` changes it,
 * `admin` manages keys.
 */
export type Scope = "read" | "write" | "admin";

/** What was found, the newest session first, and in each the newest entry. */
export interface SearchAllPage {
  /** Nothing is left to look at. Where it is false, `next_cursor` goes on, also after an answer without items. */
  complete: boolean;
  items: SessionHit[];
  next_cursor?: string | null;
  searched_entries: number;
  /** Sessions that this answer looked into, the first and the last perhaps in part. */
  searched_sessions: number;
}

/** An entry that was found. */
export interface SearchHit {
  entry_id: string;
  /**
   * 0-1; above 0.5 where every word of the query is a whole word of the entry. A summary's is half of that: what it
   * tells of comes first.
   */
  rank: number;
  role?: string | null;
  seq: number;
  /**
   * The text around the best match, on one line; matches stand between `<mark>` and `</mark>`. Plain text, not HTML:
   * nothing in it is escaped.
   */
  snippet: string;
  type: string;
}

/** What was found, best first; of equals the newest first. */
export interface SearchPage {
  items: SearchHit[];
  /** `all`: these entries have every word of the query. `any`: no entry has every word, these have some. */
  matched: Matched;
  next_cursor?: string | null;
}

/** A session as the API shows it. */
export interface Session {
  created_at: string;
  entry_count: number;
  external_id?: string | null;
  id: string;
  leaf_id?: string | null;
  metadata: {
    [key: string]: unknown;
  };
  model?: string | null;
  parent_session_id?: string | null;
  settings: Settings;
  /** Those that the session has set itself. */
  settings_own: SettingsPatch;
  snapshot: Snapshot;
  system?: unknown;
  title?: string | null;
  tools?: {
    [key: string]: unknown;
  }[] | null;
  updated_at: string;
}

/**
 * Sessions by the state of their context. `guard_tripped`: those of them whose anti-thrash guard held compactions back
 * when they last changed.
 */
export interface SessionCounts {
  green: number;
  guard_tripped: number;
  red: number;
  yellow: number;
}

/**
 * The files that a session's calls read, changed and deleted, and what other tools named; each path once, sorted by UTF-16
 * code units.
 */
export interface SessionFiles {
  /** Deleted or moved away, and not written since. */
  deleted_files: string[];
  modified_files: string[];
  /**
   * Paths in calls of tools that are not known to read or change files: folders that were listed, files that a tool of
   * one's own may have written.
   */
  other_paths: string[];
  read_files: string[];
}

/** An entry that has every word of the query, and the session that shows it. */
export type SessionHit = SearchHit & {
  session_external_id?: string | null;
  session_id: string;
  session_title?: string | null;
};

export interface SetLabel {
  /** Null clears. */
  label: string | null;
}

/** A session's settings, every field resolved. Tokens unless a field says otherwise. */
export interface Settings {
  /** Names of agents: what a user's message says that came with one of them as its `name` is that agent's, not the user's. */
  agents: string[];
  /** Utilisation (0-1) from which a compaction is prepared ahead; system prompt and tools move it nearer to red. Null: never. */
  ahead_at?: number | null;
  /** The first message that the user wrote stays verbatim; once something else was asked, one that takes more than half of the usable window stands by its beginning and its end. */
  anchor_first_user: boolean;
  /** Tokens from which the agent is asked to close chapters. Null: never. */
  chaptering_trigger?: number | null;
  /** In place of the service's framing before every summary. */
  compaction_prefix?: string | null;
  /** The model's window, in tokens. Null: from the session's `model`; 128,000 where that is not known. */
  context_window: number;
  /** Off: nothing compacts by itself; a call still does. */
  enabled: boolean;
  /** How tokens are counted. A change recounts the session in the background. */
  estimator: Estimator;
  /** Tools whose results and arguments are never masked or pruned. */
  exclude_tools: string[];
  /** Which tools touch files: tool name to `kind` and the argument that holds the path, in place of the default table as a whole. Other tools are known by their names and arguments. */
  file_tools: {
    [key: string]: FileTool;
  };
  /** What matches it is carried verbatim up to a bound, and the model is told. */
  focus_topic?: string | null;
  /** What the summary should look at, besides. */
  instructions?: string | null;
  /** A new summary updates the one before; false: everything is summarised again. */
  iterative: boolean;
  /** Tool results, the newest, that masking leaves alone; 0 masks all. */
  keep_recent_results: number;
  /** How much of the newest context a summary leaves verbatim, in tokens. Where it is not set, at most a seventh of the window. */
  keep_recent_tokens: number;
  /** After so many compactions with low savings in a row nothing starts by itself; 0 turns the guard off. */
  max_consecutive_low_savings: number;
  /** In characters: pruning shortens longer results, and longer strings in the arguments of calls. */
  max_tool_result_size: number;
  /** Masking, and likewise pruning, that frees less than this in all is not done. */
  min_gain_tokens: number;
  /** Percent that a compaction must save not to count as low savings. A value between 0 and 1 is scaled by 100. */
  min_savings_pct: number;
  /** `fallback`: the built-in summariser stands in for an upstream that fails; `fail`: the compaction fails. */
  on_upstream_failure: OnUpstreamFailure;
  /** Utilisation (0-1) from which a compaction may start before red, as soon as it pays: when reading what it would leave out has cost the calls since the last one as much as it costs itself, at the prices of the session's model. Null: red alone starts one. */
  pays_at?: number | null;
  /** Entries of this session that stay verbatim. */
  pinned_entry_ids: string[];
  /** Gives `red_at` and `target_tokens`: `conservative` 0.80 and 0.60, `balanced` 0.90 and 0.70, `aggressive` 0.95 and 0.75. */
  policy?: Policy | null;
  /** Messages that `truncate`, `smart` and `prune` leave alone at the end. */
  preserve_recent: number;
  /** A set of defaults: `auto`, `checkpoint` (pi's), `harness`, `chat`. What is set besides wins. */
  preset: Preset;
  /** The caller's own summary prompt, in place of the template's. */
  prompt?: string | null;
  /** Utilisation (0-1) from which the state is red. Null: red is more than `context_window - reserve_tokens`. */
  red_at?: number | null;
  /** Which secrets are replaced by `[redacted: kind]` in what a summariser is sent, in summaries and in what hooks are shown. `auto`: tokens, keys, passwords in URLs, private keys, and what is assigned to such names. `off`: none. An object: those of `auto`, and what its own patterns match. The stored messages stay as they are. */
  redact: RedactSetting;
  /** Kept free for the model's answer: usable is `context_window - reserve_tokens`. Less than the window; where it is not set, at most a quarter of it. */
  reserve_tokens: number;
  /** What re-arms that guard: growth by a quarter, or any new message. */
  reset: GuardReset;
  /** What a compaction does: `auto` elides first and summarises where that is not enough, `summarize` asks no model, `llm_summarize` always asks one. */
  strategy: Strategy;
  /** Upper bound of a summary's size. Null: 0.8 of the reserve. */
  summary_max_tokens?: number | null;
  /** What `truncate`, `sliding` and `smart` shrink to. Null: 0.75 of what is usable. */
  target_tokens?: number | null;
  /** The headings of a summary. */
  template: Template;
  /** What becomes of the model's thinking in a rebuilt context. */
  thinking: Thinking;
  /** Long and repeated tool results are shortened before anything else. */
  tool_prune_before_summarise: boolean;
  /** Name of the upstream that writes summaries, `builtin` or a configured one. Null: the default one. */
  upstream?: string | null;
  /** Utilisation (0-1) from which the state is yellow; not above `red_at`. */
  yellow_at: number;
}

/** A message of a context, told by its entry; of a compaction, its summary. Tokens are estimates. */
export interface ShownEntry {
  /** It is shown shorter than it is. */
  elided: boolean;
  entry_id: string;
  role?: string | null;
  tokens: number;
  type: string;
}

/** How full the window is. Tokens are integers; `utilization` is tokens / (window - reserve_tokens). */
export interface Snapshot {
  anti_thrash: AntiThrash;
  /** Tokens left before the reserve; 0 when over. */
  available: number;
  breakdown: Breakdown;
  /**
   * Reported over counted tokens, `breakdown.unposted` aside, as learnt from the provider: `tokens` is `unposted +
   * calibration x count`. Always 1 for `pi` and `praison`.
   */
  calibration: number;
  chapter_task: ChapterTask;
  /** How far (percent of the trigger) the context is from red; 0 when red. */
  percent_until_compaction: number;
  /** A change of estimator is still being counted in the background. */
  recounting: boolean;
  reserve_tokens: number;
  /**
   * Red, or it pays to compact (`pays_at`); enabled, not held back by the anti-thrash guard, and there is something that
   * a compaction could do.
   */
  should_compact: boolean;
  source: Source;
  state: FillState;
  tokens: number;
  utilization: number;
  window: number;
  /** What `window` rests on. */
  window_source: WindowSource;
}

/** What the snapshot's `tokens` rests on. */
export type Source = "estimate" | "usage" | "usage_rejected";

/** One statement of a summary, what became of its citations, and the entries that they lead to. A long one is cut. */
export interface StatementEvidence {
  calls: CitedCall[];
  messages: CitedMessage[];
  status: EvidenceStatus;
  text: string;
}

/**
 * A tenant at a glance: its sessions, its queue as it is, and the newest 100,000 compactions that ended since a time. Up
 * to 50,000 sessions are counted for this answer, more of them in the background (`census_at`). `upstreams` and costs are of
 * all calls of models that ended since, whatever became of their compactions; those of erased sessions are known by the day
 * (UTC) alone, and count from that day's begin.
 */
export interface Stats {
  bucket_seconds: number;
  /** There are more compactions than were looked at, or more sessions, which nobody has counted yet. */
  capped: boolean;
  /** When the sessions were counted: with this answer, or in the background. */
  census_at: string;
  compactions: CompactionCounts;
  queue: QueueStats;
  savings: Savings;
  /** Oldest first, also those in which nothing happened. */
  series: StatsBucket[];
  sessions: SessionCounts;
  since: string;
  /** By the contexts of these sessions. */
  tokens_held: number;
  /** By compactions that succeeded and were not taken back. */
  tokens_shed: number;
  until: string;
  upstreams: UpstreamStats[];
}

/** Compactions that ended within `bucket_seconds` from `at` on, and what the calls of models that ended then cost. */
export interface StatsBucket {
  at: string;
  cache_cost_usd: number;
  cancelled: number;
  cost_usd: number;
  failed: number;
  skipped: number;
  succeeded: number;
  tokens_shed: number;
}

export type Status = "queued" | "running" | "succeeded" | "failed" | "cancelled" | "skipped";

export type Strategy = "auto" | "mask" | "prune" | "truncate" | "sliding" | "smart" | "summarize" | "llm_summarize";

/** The evidence of one summary: its counts, and its statements, of a very long one the first. */
export interface SummaryEvidence {
  counts: EvidenceCounts;
  statements: StatementEvidence[];
}

/** One numbered task of the context. */
export interface Task {
  entry_id: string;
  /** From 1. The context shows the same number. */
  n: number;
  /** `done` and `chapter` can be closed. */
  state: TaskState;
  /** The first words of the user's message, or the chapter's name. */
  title: string;
  /** What it takes in the context. */
  tokens: number;
}

/** Whether a task may be closed: what is done may, and chapters may be folded again. */
export type TaskState = "done" | "in_progress" | "open_call" | "chapter";

export type Template = "checkpoint" | "six_section" | "continuity" | "prose";

/**
 * What becomes of the model's thinking in a rebuilt context. `auto`: what the target would refuse is left out.
 * `keep`: besides, thinking that another model signed stays. `strip`: none but that of the running tool-use turn.
 */
export type Thinking = "keep" | "strip" | "auto";

/** A session's path as a line: its size at the agent's answers and at compactions, oldest first, and what happened. */
export interface Timeline {
  /** By time; the newest 500. */
  events: TimelineEvent[];
  leaf_id?: string | null;
  /** Entries on the path. */
  path_length: number;
  points: TimelinePoint[];
  reserve_tokens: number;
  session_id: string;
  window: number;
}

/** Something that happened to the session. What is not of a compaction has its fields null. */
export interface TimelineEvent {
  at: string;
  compaction_id?: string | null;
  /** The entry that it left; of a branch, its first one. */
  entry_id?: string | null;
  kind: TimelineEventKind;
  status?: Status | null;
  tokens_after?: number | null;
  tokens_before?: number | null;
  trigger?: Trigger | null;
}

/**
 * What happened: a compaction however it ended (`overflow`: one that a provider's refusal started), a chapter that was
 * closed, the first entry of a further branch.
 */
export type TimelineEventKind = "compaction" | "overflow" | "chapter" | "branch";

/**
 * The context at an entry, itself included. `state` is judged by the session's settings as they are now, and system
 * prompt and tools count as they are now.
 */
export interface TimelinePoint {
  at: string;
  breakdown: Breakdown;
  entry_id: string;
  /** Whether `tokens` rests on what a provider reported. */
  source: Source;
  state: FillState;
  tokens: number;
  /** The size if nothing had ever been compacted. Along the path it never falls. */
  without_contextd: number;
}

/** A call with its whole original result. What was stored as the echo of a placeholder is answered with what that stands for. */
export interface ToolCallDetail {
  arguments: unknown;
  elided: boolean;
  entry_id: string;
  kind: CallKind;
  name: string;
  /** Where the original was found, when not in `result_entry_id`. */
  original_entry_id?: string | null;
  /** Only a placeholder was ever stored, so there is no original to answer with. */
  original_missing: boolean;
  /** The result's content blocks in the native format; null while the call is open. */
  result?: {
    [key: string]: unknown;
  }[] | null;
  result_entry_id?: string | null;
  /** The text of the result; null while the call is open. */
  result_text?: string | null;
  status: CallEnd;
  tool_call_id: string;
}

/**
 * One call of the ledger. `status` says what the protocol shows of its end: `returned`, `failed` (an error flag, an exit
 * code, a status field or a status of HTTP says so), `refused` (it was not let run), `open` (no result yet). That a call
 * worked is never known; its result says more. `kind` is `server` where the provider ran it.
 */
export interface ToolCallRow {
  arguments: unknown;
  /**
   * The result is shown elided in the context at this leaf, or not shown at all; or the arguments are shown
   * shortened. They are whole here.
   */
  elided: boolean;
  entry_id: string;
  kind: CallKind;
  name: string;
  result_entry_id?: string | null;
  status: CallEnd;
  tool_call_id: string;
}

/** A tool in a context: how often it is called there, and what its results take. */
export interface ToolPart {
  calls: number;
  /** Null: of results whose call the context does not show. */
  name?: string | null;
  results: number;
  share_pct: number;
  tokens: number;
}

export interface Tree {
  leaf_id?: string | null;
  nodes: TreeNode[];
}

export interface TreeNode {
  id: string;
  label?: string | null;
  parent_id?: string | null;
  role?: string | null;
  tokens: number;
  type: string;
}

export type Trigger = "manual" | "auto" | "ahead" | "chapter" | "overflow";

/**
 * Why the guard gave up: every compaction saved too little (`savings`), every one cost more than it brings (`cost`), or
 * some the one and some the other (`both`).
 */
export type TrippedBy = "savings" | "cost" | "both";

export interface UpdateHook {
  enabled?: boolean | null;
  events?: Event[] | null;
  on_error?: OnError | null;
  /** A new secret, from the next message on. */
  secret?: string | null;
  timeout_ms?: number | null;
  url?: string | null;
}

/** A merge patch: what is left out stays, null clears. */
export interface UpdateSession {
  /** Merged key by key; a null value removes its key. */
  metadata?: {
    [key: string]: unknown;
  } | null;
  model?: string | null;
  /** Merged key by key; null returns a setting to its default. They act on the next check. */
  settings?: SettingsPatch | null;
  system?: SystemPrompt;
  title?: string | null;
  tools?: ToolDefinition[] | null;
}

/** A model that may be asked for summaries. No key, no header and no path of its address is told. */
export interface UpstreamInfo {
  breaker: Breaker;
  /** In tokens; null for the builtin, which has no bound. */
  context_window?: number | null;
  /** Upstreams that are asked in this order where this one gives no summary. */
  fallbacks: string[];
  /** Where it is, with the port where that is not the usual one; null for the builtin. */
  host?: string | null;
  /** Asked by sessions that name none. */
  is_default: boolean;
  /** `builtin`, `openai`, `openai_responses` or `anthropic`. */
  kind: string;
  limits: UpstreamLimits;
  model?: string | null;
  /** What the setting `upstream` names. */
  name: string;
  prices?: UpstreamPrices | null;
}

/** Limits of the calls of one process. */
export interface UpstreamLimits {
  /** For one summary. */
  max_calls: number;
  /** Calls at a time. */
  max_concurrency: number;
  /** Of one answer, in tokens. */
  max_output_tokens?: number | null;
  /** Attempts after the first. */
  max_retries: number;
  /** Attempts that may start within any minute. */
  requests_per_minute?: number | null;
  /** For one attempt, in milliseconds. */
  timeout_ms: number;
}

/** US dollars per million tokens. */
export interface UpstreamPrices {
  /** Of input written to it; null: by the model's name. */
  cache_write_per_mtok?: number | null;
  /** Of input read from the prompt cache; null: as other input. */
  cached_per_mtok?: number | null;
  input_per_mtok: number;
  output_per_mtok: number;
}

/**
 * Who wrote the summary (`builtin`: the built-in summariser) and what it cost: the figures are of all calls, also of
 * failed and refused ones and of upstreams that were asked in vain. `name` is null where nobody was asked: there is no
 * summary, or a caller or a hook gave it.
 */
export interface UpstreamReport {
  cache_write_tokens?: number;
  cached_tokens: number;
  calls: number;
  cost_usd: number;
  input_tokens: number;
  latency_ms: number;
  model?: string | null;
  name?: string | null;
  output_tokens: number;
  /** The session's own context was sent, for the provider's prompt cache. */
  prefix_reused?: boolean;
}

/**
 * A model that was called. `calls`: requests that were sent, `errors` those of them that gave no answer. The times are those
 * of one call.
 */
export interface UpstreamStats {
  cache_write_tokens: number;
  cached_tokens: number;
  calls: number;
  cost_usd: number;
  errors: number;
  input_tokens: number;
  model?: string | null;
  name: string;
  output_tokens: number;
  p50_ms?: number | null;
  p95_ms?: number | null;
}

/**
 * A message of the user's own, by its number in a record: `u12` is the twelfth on the path. For a key that may only read,
 * secrets are replaced as in the record.
 */
export interface UserMessageDetail {
  /** The message's content blocks in the native format. */
  content: {
    [key: string]: unknown;
  }[];
  /** The context at this leaf does not show it. */
  elided: boolean;
  entry_id: string;
  number: string;
  /** The text of the message. */
  text: string;
}

/** A folder of the chapters. A file is answered as `text/markdown`. */
export interface VfsFolder {
  entries: FolderEntry[];
  path: string;
}

/** What is wrong with an item. */
export interface Violation {
  code: ViolationCode;
  detail: string;
  /** The item, counted from 0. */
  index: number;
}

/**
 * Codes of `violations`: what is wrong with an item.
 * Later versions may add some: `detail` says in words what an unknown one means.
 *
 * - `orphan_result`: A result with no call before it.
 * - `duplicate_result`: A second result of a call.
 * - `call_without_result`: A call that nothing answers.
 * - `result_out_of_place`: A result that does not stand right behind its call.
 * - `results_not_first`: A message with results that begins with something else.
 * - `split_batch`: Parallel calls, or the results of one batch, in several messages.
 * - `duplicate_call_id`: An id that an earlier call has.
 * - `server_tool_unpaired`: A tool that the provider ran, without its call or without its result.
 * - `missing_link`: Something that names by its id what is not there: a call without the program or the code that made it (`caller`), an output without its program, an approval or an approved call without its request, half of a tool that the provider ran.
 * - `reasoning_without_item`: Reasoning without what it led to.
 * - `empty_content`: A message without content.
 * - `empty_text`: A block without text.
 * - `empty_tool_calls`: An empty list of calls.
 * - `invalid_media`: An image or a document that says nowhere what it shows, or can't stand here.
 * - `image_dropped`: An image of a pi entry without its bytes.
 * - `invalid_block`: A block that can't be read.
 * - `half_character`: Half of a character that takes two (an escaped surrogate without the other): no strict reader takes the JSON.
 * - `too_many_cache_marks`: More cache marks than the four that a request may have.
 * - `invalid_cache_mark`: A cache mark of a kind, or of a time, that the provider does not know.
 * - `cache_mark_not_allowed`: A cache mark on a block that may have none.
 * - `cache_mark_order`: A cache mark for an hour behind one for five minutes.
 * - `empty_error_result`: A result that is marked as an error and says nothing.
 * - `error_result_not_text`: A result that is marked as an error and shows something besides text.
 * - `too_many_media`: More images and documents than a request may have.
 * - `too_many_pages`: More pages of documents than a request may have.
 * - `media_too_large`: An image or a document that is larger than the provider takes.
 * - `unknown_block`: A block of another format.
 * - `block_not_allowed`: A block that this speaker can't send.
 * - `response_fields`: Fields that only answers have.
 * - `provider_compaction_as_text`: Another provider's compaction in a native message that has to be written anew.
 * - `thinking_alone`: An answer of nothing but its thinking.
 * - `unsigned_thinking`: Thinking without its signature.
 * - `empty_signature`: A signature without a character.
 * - `invalid_signature`: A signature that is no base64.
 * - `reasoning_without_summary`: Reasoning without its summary, which is a list, and may be an empty one.
 * - `answer_without_id`: A list of spoken parts without the id of an item that the provider gave.
 * - `configuration_updates_adjacent`: A change of the configuration right behind another.
 * - `unsigned_call`: A call of the running turn without its thought signature, where others are signed.
 * - `thinking_not_first`: A turn that calls tools and does not begin with its thinking.
 * - `ends_with_thinking`: An answer that ends with thinking.
 * - `trailing_space_trimmed`: An answer at the end of the items that ends in white space.
 * - `invalid_call_id`: An id of a call that the provider refuses, or none.
 * - `invalid_tool_name`: A name of a tool that the provider refuses, or none.
 * - `invalid_arguments`: Arguments that are no JSON, or no object where one is due.
 * - `invalid_output`: An output that is neither a string nor a list of parts.
 * - `invalid_call`: A call that can't be read.
 * - `call_not_allowed`: A call by somebody else than the assistant.
 * - `unknown_role`: A role that the format lacks.
 * - `first_message_not_user`: A first message that is not the user's.
 * - `system_in_messages`: A system prompt among the messages, where it travels beside them.
 * - `system_misplaced`: A system message at a place where the provider takes none.
 * - `item_id_too_long`: An id of an item that is longer than the provider takes.
 * - `duplicate_item_id`: An id that an earlier item has.
 * - `item_id_changed`: The same, or an id that is none of the provider's form, seen when all items are put together; the item gets another id.
 * - `item_id_removed`: The same; the item goes without its id.
 * - `duplicate_item_dropped`: The same; the item is left out.
 * - `unknown_parent`: A parent that no earlier entry is.
 * - `invalid_item`: An item that can't be read.
 * - `not_sendable`: Something else that the provider would refuse.
 */
export type ViolationCode = "orphan_result" | "duplicate_result" | "call_without_result" | "result_out_of_place" | "results_not_first" | "split_batch" | "duplicate_call_id" | "server_tool_unpaired" | "missing_link" | "reasoning_without_item" | "empty_content" | "empty_text" | "empty_tool_calls" | "invalid_media" | "image_dropped" | "invalid_block" | "half_character" | "too_many_cache_marks" | "invalid_cache_mark" | "cache_mark_not_allowed" | "cache_mark_order" | "empty_error_result" | "error_result_not_text" | "too_many_media" | "too_many_pages" | "media_too_large" | "unknown_block" | "block_not_allowed" | "response_fields" | "provider_compaction_as_text" | "thinking_alone" | "unsigned_thinking" | "empty_signature" | "invalid_signature" | "reasoning_without_summary" | "answer_without_id" | "configuration_updates_adjacent" | "unsigned_call" | "thinking_not_first" | "ends_with_thinking" | "trailing_space_trimmed" | "invalid_call_id" | "invalid_tool_name" | "invalid_arguments" | "invalid_output" | "invalid_call" | "call_not_allowed" | "unknown_role" | "first_message_not_user" | "system_in_messages" | "system_misplaced" | "item_id_too_long" | "duplicate_item_id" | "item_id_changed" | "item_id_removed" | "duplicate_item_dropped" | "unknown_parent" | "invalid_item" | "not_sendable";

/** Something about an accepted item that the client should know. */
export interface Warning {
  code: WarningCode;
  detail: string;
  /** Pointer to the item in the request. */
  pointer: string;
}

/**
 * Codes of `warnings`: what of an append was taken otherwise than it looks.
 * Later versions may add some: `detail` says in words what an unknown one means.
 *
 * - `orphan_tool_result`: A result without a call is stored, waits for its call, and is never sent out alone.
 * - `usage_ignored`: `usage` came without an answer that it could belong to.
 * - `usage_not_believed`: `usage` can't be that of this conversation: more than the window, less than half of what was counted, or in contradiction to the usage before it. Sizes rest on what is counted.
 * - `unknown_parent`: A file's entry whose parent is not there, or itself, is taken to follow the line before it.
 * - `not_shown`: A pi message of an extension's role, which no model is shown, is stored and never sent out.
 */
export type WarningCode = "orphan_tool_result" | "usage_ignored" | "usage_not_believed" | "unknown_parent" | "not_shown";

/** When a compaction may start. */
export type When = "now" | "turn_end";

export interface WholeTranscript {
  format: Format;
  /** The raw history, or the last rebuilt context, with new messages behind it. */
  items: Item[];
  return_context?: Format | null;
  /** The system prompt; unchanged when left out, cleared by null. */
  system?: SystemPrompt;
  /** Tool definitions; unchanged when left out, cleared by null. */
  tools?: ToolDefinition[] | null;
  /** The provider's own usage object for the newest answer. */
  usage?: {
    [key: string]: unknown;
  } | null;
}

/** What a window rests on: a setting, a provider's refusal that named it or a context that it was smaller than, the table of models, or nothing (`guess`). */
export type WindowSource = "setting" | "refusal" | "table" | "guess";

export interface WriteChapters {
  /** An empty list closes nothing and is respected until the context has grown. */
  chapters: ChapterInput[];
}

/** One item of a transcript, in the format that `format` names. What is not described here is kept as it came. */
export type Item = ChatMessage | ResponsesItem | AnthropicMessage | GeminiContent | PiEntry | ClaudeCodeLine | CodexLine | NativeMessage;

/** `openai_chat`: a message of Chat Completions. */
export interface ChatMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
  /** A text, or parts. */
  content?: string | ChatPart[] | null;
  name?: string | null;
  tool_calls?: ChatToolCall[] | null;
  /** Of a `tool` message: the call that it answers. */
  tool_call_id?: string | null;
  refusal?: string | null;
  [key: string]: unknown;
}

/** A part of a chat message. */
export interface ChatPart {
  /** `text`, `image_url`, `input_audio`, `file`, `refusal`. */
  type: string;
  text?: string;
  [key: string]: unknown;
}

/** A call in an assistant message. */
export interface ChatToolCall {
  id: string;
  /** `function` or `custom`. */
  type?: string;
  function?: {
    name: string;
    /** The arguments as JSON text. */
    arguments: string;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** `openai_responses`: an input or output item of the Responses API. */
export interface ResponsesItem {
  /** `message` where left out; `function_call`, `function_call_output`, `reasoning`, `custom_tool_call`, `custom_tool_call_output`, `compaction`, and the built-in tools' items. */
  type?: string;
  id?: string | null;
  role?: "system" | "developer" | "user" | "assistant";
  content?: string | ResponsesPart[] | null;
  status?: string | null;
  /** Pairs a call with its output. */
  call_id?: string;
  name?: string;
  /** The arguments as JSON text. */
  arguments?: string;
  /** Of `custom_tool_call`. */
  input?: string;
  /** Of an output: a text, or parts. */
  output?: string | ResponsesPart[] | {
    [key: string]: unknown;
  };
  /** Of `reasoning`. */
  summary?: ResponsesPart[];
  encrypted_content?: string | null;
  [key: string]: unknown;
}

/** A part of a Responses item. */
export interface ResponsesPart {
  /** `input_text`, `output_text`, `input_image`, `input_file`, `refusal`, `summary_text`, `reasoning_text`. */
  type: string;
  text?: string;
  [key: string]: unknown;
}

/** `anthropic`: a message of the Messages API. The system prompt travels as `system`. */
export interface AnthropicMessage {
  role: "user" | "assistant" | "system";
  /** A text, or blocks. */
  content: string | AnthropicBlock[] | null;
  [key: string]: unknown;
}

/** A content block of the Messages API. */
export interface AnthropicBlock {
  /** `text`, `thinking`, `redacted_thinking`, `tool_use`, `tool_result`, `image`, `document`, `compaction`, server tools' blocks. */
  type: string;
  text?: string;
  /** Of `tool_use`. */
  id?: string;
  name?: string;
  /** Of `tool_use`: the arguments. */
  input?: {
    [key: string]: unknown;
  };
  /** Of `tool_result`: the call that it answers. */
  tool_use_id?: string;
  /** Of `tool_result`: a text, or blocks. */
  content?: unknown;
  is_error?: boolean;
  thinking?: string;
  signature?: string;
  [key: string]: unknown;
}

/** `gemini`: one of Google's `contents`. The `systemInstruction` travels as `system`. */
export interface GeminiContent {
  role?: "user" | "model" | "function";
  parts?: GeminiPart[];
  [key: string]: unknown;
}

/** A part of a content: one kind of data, under REST's name of it or Python's. */
export interface GeminiPart {
  text?: string | null;
  thought?: boolean | null;
  thoughtSignature?: string | null;
  functionCall?: {
    [key: string]: unknown;
  } | null;
  functionResponse?: {
    [key: string]: unknown;
  } | null;
  inlineData?: {
    [key: string]: unknown;
  } | null;
  fileData?: {
    [key: string]: unknown;
  } | null;
  [key: string]: unknown;
}

/** `pi`: an entry of a pi session file, with its own tree. */
export interface PiEntry {
  type: "session" | "message" | "compaction" | "branch_summary" | "custom" | "custom_message" | "label" | "session_info" | "model_change" | "thinking_level_change";
  /** The entry's own id; becomes `source_id`. */
  id?: string | null;
  parentId?: string | null;
  /** RFC 3339, or milliseconds. */
  timestamp?: unknown;
  /** Of `message`: pi's message. */
  message?: {
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** `claude_code`: a line of a Claude Code session file, with its own tree. For import and export. */
export interface ClaudeCodeLine {
  /** `user`, `assistant`, `system`, `summary`, `attachment` and others. */
  type: string;
  uuid?: string;
  parentUuid?: string | null;
  message?: {
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** `codex`: a line of a Codex rollout file. For import and export. */
export interface CodexLine {
  timestamp?: string;
  /** `session_meta`, `response_item`, `event_msg`, `turn_context`, `compacted` and others. */
  type: string;
  payload?: unknown;
  [key: string]: unknown;
}

/** `native`: the service's own message. */
export interface NativeMessage {
  id?: string | null;
  role: "system" | "developer" | "user" | "assistant" | "tool" | "bash_execution" | "custom" | "branch_summary" | "compaction_summary";
  /** Blocks, or a text. */
  content?: string | NativeBlock[] | null;
  stop?: "end" | "length" | "tool_use" | "refusal" | "aborted" | "error" | null;
  [key: string]: unknown;
}

/** A block of a native message. */
export interface NativeBlock {
  /** `text`, `thinking`, `image`, `document`, `tool_call`, `tool_result`, `raw`. */
  type: string;
  text?: string;
  /** Of `tool_call`. */
  id?: string;
  /** Of `tool_call`. */
  name?: string;
  /** Of `tool_call`: an object as a rule. */
  arguments?: unknown;
  /** Of `tool_result`: the call that it answers. */
  tool_call_id?: string;
  /** Of `tool_result`: blocks, or a text. */
  content?: unknown;
  is_error?: boolean;
  /** Of `image` and `document`. */
  source?: {
    media_type?: string;
    /** Base64. */
    data?: string;
    url?: string;
    file_id?: string;
    text?: string;
    filename?: string;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

export interface PlannedEntry {
  entry_id: string;
  message: NativeMessage;
  [key: string]: unknown;
}

/** The system prompt: a text, a list of blocks, or Gemini's `systemInstruction`; kept as given. */
export type SystemPrompt = string | {
  [key: string]: unknown;
}[] | {
  parts: {
    [key: string]: unknown;
  }[];
  [key: string]: unknown;
} | null;

/** A tool definition in the provider's own format; kept as given. */
export interface ToolDefinition {
  name?: string;
  description?: string;
  type?: string;
  [key: string]: unknown;
}

/** Settings that are to be other than the default. An unknown name or a value out of range is 422 with its pointer; null takes a setting back to its default, where null is not a value of its own. The defaults given here are those of the preset `auto`; the operator's own defaults go before them. */
export interface SettingsPatch {
  /** A set of defaults: `auto`, `checkpoint` (pi's), `harness`, `chat`. What is set besides wins. Default: `"auto"`. */
  preset?: Preset;
  /** Off: nothing compacts by itself; a call still does. Default: `true`. */
  enabled?: boolean;
  /** How tokens are counted. A change recounts the session in the background. Default: `"o200k"`. */
  estimator?: Estimator;
  /** The model's window, in tokens. Null: from the session's `model`; 128,000 where that is not known. Default: `128000`. */
  context_window?: number | null;
  /** Kept free for the model's answer: usable is `context_window - reserve_tokens`. Less than the window; where it is not set, at most a quarter of it. Default: `16384`. */
  reserve_tokens?: number;
  /** How much of the newest context a summary leaves verbatim, in tokens. Where it is not set, at most a seventh of the window. Default: `16384`. */
  keep_recent_tokens?: number;
  /** Utilisation (0-1) from which the state is yellow; not above `red_at`. Default: `0.6`. */
  yellow_at?: number;
  /** Utilisation (0-1) from which the state is red. Null: red is more than `context_window - reserve_tokens`. Default: `0.8`. */
  red_at?: number | null;
  /** Utilisation (0-1) from which a compaction is prepared ahead; system prompt and tools move it nearer to red. Null: never. Default: `0.7`. */
  ahead_at?: number | null;
  /** Utilisation (0-1) from which a compaction may start before red, as soon as it pays: when reading what it would leave out has cost the calls since the last one as much as it costs itself, at the prices of the session's model. Null: red alone starts one. Default: `null`. */
  pays_at?: number | null;
  /** What a compaction does: `auto` elides first and summarises where that is not enough, `summarize` asks no model, `llm_summarize` always asks one. Default: `"auto"`. */
  strategy?: Strategy;
  /** What `truncate`, `sliding` and `smart` shrink to. Null: 0.75 of what is usable. Default: `null`. */
  target_tokens?: number | null;
  /** Messages that `truncate`, `smart` and `prune` leave alone at the end. Default: `6`. */
  preserve_recent?: number;
  /** The first message that the user wrote stays verbatim; once something else was asked, one that takes more than half of the usable window stands by its beginning and its end. Default: `true`. */
  anchor_first_user?: boolean;
  /** Tool results, the newest, that masking leaves alone; 0 masks all. Default: `3`. */
  keep_recent_results?: number;
  /** Tools whose results and arguments are never masked or pruned. Default: `[]`. */
  exclude_tools?: string[];
  /** Which secrets are replaced by `[redacted: kind]` in what a summariser is sent, in summaries and in what hooks are shown. `auto`: tokens, keys, passwords in URLs, private keys, and what is assigned to such names. `off`: none. An object: those of `auto`, and what its own patterns match. The stored messages stay as they are. Default: `"auto"`. */
  redact?: "auto" | "off" | {
    /** Regular expressions without look-around and back references. Where one has a group, the first is what is replaced. */
    patterns: string[];
  };
  /** Names of agents: what a user's message says that came with one of them as its `name` is that agent's, not the user's. Default: `[]`. */
  agents?: string[];
  /** Masking, and likewise pruning, that frees less than this in all is not done. Default: `0`. */
  min_gain_tokens?: number;
  /** Long and repeated tool results are shortened before anything else. Default: `true`. */
  tool_prune_before_summarise?: boolean;
  /** In characters: pruning shortens longer results, and longer strings in the arguments of calls. Default: `500`. */
  max_tool_result_size?: number;
  /** What becomes of the model's thinking in a rebuilt context. Default: `"auto"`. */
  thinking?: Thinking;
  /** The headings of a summary. Default: `"checkpoint"`. */
  template?: Template;
  /** A new summary updates the one before; false: everything is summarised again. Default: `true`. */
  iterative?: boolean;
  /** What matches it is carried verbatim up to a bound, and the model is told. Default: `null`. */
  focus_topic?: string | null;
  /** What the summary should look at, besides. Default: `null`. */
  instructions?: string | null;
  /** The caller's own summary prompt, in place of the template's. Default: `null`. */
  prompt?: string | null;
  /** In place of the service's framing before every summary. Default: `null`. */
  compaction_prefix?: string | null;
  /** Upper bound of a summary's size. Null: 0.8 of the reserve. Default: `null`. */
  summary_max_tokens?: number | null;
  /** Name of the upstream that writes summaries, `builtin` or a configured one. Null: the default one. Default: `null`. */
  upstream?: string | null;
  /** `fallback`: the built-in summariser stands in for an upstream that fails; `fail`: the compaction fails. Default: `"fallback"`. */
  on_upstream_failure?: OnUpstreamFailure;
  /** Gives `red_at` and `target_tokens`: `conservative` 0.80 and 0.60, `balanced` 0.90 and 0.70, `aggressive` 0.95 and 0.75. Default: `null`. */
  policy?: Policy | null;
  /** Percent that a compaction must save not to count as low savings. A value between 0 and 1 is scaled by 100. Default: `10.0`. */
  min_savings_pct?: number;
  /** After so many compactions with low savings in a row nothing starts by itself; 0 turns the guard off. Default: `2`. */
  max_consecutive_low_savings?: number;
  /** What re-arms that guard: growth by a quarter, or any new message. Default: `"growth"`. */
  reset?: GuardReset;
  /** Tokens from which the agent is asked to close chapters. Null: never. Default: `null`. */
  chaptering_trigger?: number | null;
  /** Which tools touch files: tool name to `kind` and the argument that holds the path, in place of the default table as a whole. Other tools are known by their names and arguments. */
  file_tools?: {
    [key: string]: FileTool;
  };
  /** Entries of this session that stay verbatim. Default: `[]`. */
  pinned_entry_ids?: string[];
}

/** `data` of `snapshot`: a snapshot, and of which moment. `phase` is `before` or `after` the compaction of this id; null: how it is now. */
export type SnapshotEvent = Snapshot & {
  session_id: string;
  created_at: string;
  phase: "before" | "after" | null;
  compaction_id: string | null;
  [key: string]: unknown;
};

/** `data` of `compaction.queued`, `.started`, `.succeeded`, `.failed`, `.skipped` and `.cancelled`. */
export interface CompactionEvent {
  session_id: string;
  created_at: string;
  compaction_id: string;
  status: Status;
  trigger?: Trigger;
  strategy?: Strategy;
  attempts?: number;
  error?: string | null;
  /** At the end, in short. */
  result?: {
    [key: string]: unknown;
  } | null;
  [key: string]: unknown;
}

/** `data` of `chapter.requested`: the agent is to be asked for chapters. */
export interface ChapterRequestedEvent {
  session_id: string;
  created_at: string;
  snapshot: Snapshot;
  [key: string]: unknown;
}

/** `data` of `reset`: the stream goes on from now. */
export interface ResetEvent {
  /** `expired`: what followed `Last-Event-ID` is no longer kept; `unknown`: the id was never given. */
  reason: "expired" | "unknown";
  session_id?: string | null;
  snapshot?: Snapshot | null;
  [key: string]: unknown;
}

/** `data` of `ready`: the beginning of a tenant's stream. */
export interface ReadyEvent {
  [key: string]: unknown;
}

/** `data` of `usage_update`, with `names=acp`: the parameters of the Agent Client Protocol's `session/update`. */
export interface UsageUpdateEvent {
  /** The session's id here. */
  sessionId: string;
  update: {
    sessionUpdate: "usage_update";
    /** Tokens in the context. */
    used: number;
    /** The window, in tokens. */
    size: number;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** `data` of `compaction_update`, with `names=acp`: the parameters of the Agent Client Protocol's `session/update`. */
export interface CompactionUpdateEvent {
  /** The session's id here. */
  sessionId: string;
  update: {
    sessionUpdate: "compaction_update";
    compactionId: string;
    /** `cancelled`: skipped too. */
    status: "in_progress" | "completed" | "failed" | "cancelled";
    /** Why it failed. */
    error?: string;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** A compaction is about to be done. */
export interface BeforeCompactMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "before_compact";
  timestamp: string;
  session_id: string;
  compaction_id: string;
  trigger: Trigger;
  strategy: Strategy;
  focus_topic?: string | null;
  instructions?: string | null;
  /** As of `prepare`, with messages. */
  preparation: Preparation | null;
  [key: string]: unknown;
}

/** `{}` or an empty body: go on. */
export interface BeforeCompactAnswer {
  /** True: it is not done. */
  cancel?: boolean;
  /** Why; shown to whoever asked. */
  reason?: string;
  compaction?: {
    /** Used as given; refused where it is empty, a tool call, or larger than what it replaces. */
    summary: string;
    /** The cut, in place of the planned one. */
    first_kept_entry_id?: string;
    details?: {
      [key: string]: unknown;
    };
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** Tool results that pruning may shorten. */
export interface PruneToolResultsMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "prune_tool_results";
  timestamp: string;
  session_id: string;
  compaction_id: string;
  results: {
    entry_id: string;
    tool_call_id: string;
    name?: string;
    tokens?: number;
    text: string;
    [key: string]: unknown;
  }[];
  [key: string]: unknown;
}

export interface PruneToolResultsAnswer {
  /** Shorter ones; results that are left out are pruned as ever. */
  results?: {
    /** Needed where a call id occurs twice. */
    entry_id?: string;
    tool_call_id: string;
    text: string;
    [key: string]: unknown;
  }[];
  [key: string]: unknown;
}

/** A summary is about to be written. */
export interface BuildSummaryMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "build_summary";
  timestamp: string;
  session_id: string;
  compaction_id: string;
  messages: NativeMessage[];
  previous_summary?: string | null;
  focus_topic?: string | null;
  instructions?: string | null;
  max_output_tokens?: number | null;
  replaced_tokens: number;
  [key: string]: unknown;
}

/** Without `summary`: go on. */
export interface BuildSummaryAnswer {
  summary?: string;
  details?: {
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** A model is about to be shown this text. */
export interface FormatMessagesMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "format_messages";
  timestamp: string;
  session_id: string;
  compaction_id: string;
  part: "history" | "branch";
  messages: NativeMessage[];
  text: string;
  [key: string]: unknown;
}

export interface FormatMessagesAnswer {
  /** Shown in place of it. */
  text?: string;
  [key: string]: unknown;
}

/** A compaction has succeeded. */
export interface AfterCompactMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "after_compact";
  timestamp: string;
  session_id: string;
  compaction_id: string;
  trigger: Trigger;
  result: CompactionResult;
  [key: string]: unknown;
}

/** The leaf is about to be moved. */
export interface BeforeNavigateMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "before_navigate";
  timestamp: string;
  session_id: string;
  preparation: {
    target_id: string | null;
    old_leaf_id: string | null;
    summarize: boolean;
    common_ancestor_id?: string | null;
    /** What a summary would tell. */
    entry_ids?: string[];
    instructions?: string | null;
    replace_instructions?: boolean;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** `{}` or an empty body: go on. */
export interface BeforeNavigateAnswer {
  /** True: it is not done. */
  cancel?: boolean;
  /** Why; shown to whoever asked. */
  reason?: string;
  /** The summary of the branch that is left, where the caller asked for one. */
  compaction?: {
    /** Used as given; refused where it is empty, a tool call, or larger than what it replaces. */
    summary: string;
    details?: {
      [key: string]: unknown;
    };
    [key: string]: unknown;
  };
  /** The same under its older name. */
  summary?: {
    /** Used as given; refused where it is empty, a tool call, or larger than what it replaces. */
    summary: string;
    details?: {
      [key: string]: unknown;
    };
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** The leaf has been moved. */
export interface AfterNavigateMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "after_navigate";
  timestamp: string;
  session_id: string;
  old_leaf_id: string | null;
  new_leaf_id: string | null;
  summary_entry_id: string | null;
  [key: string]: unknown;
}

/** The agent is to be asked for chapters. */
export interface ChapterRequestedMessage {
  /** The same for all attempts, and in the header `webhook-id`. */
  id: string;
  event: "chapter_requested";
  timestamp: string;
  session_id: string;
  /** What the agent would be handed: see `chapter-task`. */
  task: {
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** A JSON-RPC message of the Model Context Protocol. */
export interface McpRequest {
  jsonrpc: "2.0";
  id?: string | number | null;
  /** `initialize`, `tools/list`, `tools/call`, `resources/list`, `resources/templates/list`, `resources/read`, `ping`. */
  method: string;
  params?: {
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** The JSON-RPC answer: `result`, or `error`. What went wrong in a tool is a `result` with `isError`. */
export interface McpAnswer {
  jsonrpc: "2.0";
  id?: string | number | null;
  result?: {
    [key: string]: unknown;
  };
  error?: {
    code: number;
    message: string;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}
