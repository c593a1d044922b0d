"""What the API takes and gives: dicts, as they travel. Written by generate.py from openapi/openapi.json."""

from typing import Any, Literal, TypeAlias

from ._compat import NotRequired, TypedDict


Trigger: TypeAlias = Literal["manual", "auto", "ahead", "chapter", "overflow"]


TrippedBy: TypeAlias = Literal["savings", "cost", "both"]
"""Why the guard gave up: every compaction saved too little (`savings`), every one cost more than it brings (`cost`), or
some the one and some the other (`both`)."""


class AntiThrash(TypedDict):
    """The guard's state, stored per session and shown in snapshots and results."""
    last_savings_pct: NotRequired[float | None]
    losses: int
    """Of these, those that saved enough and were a loss of money."""
    low_savings_streak: int
    """Compactions in a row that saved less than `min_savings_pct`, or that nobody asked for and that cost more than they
    bring."""
    max_consecutive_low_savings: int
    min_savings_pct: float
    reset_reason: NotRequired[str | None]
    """Why it was last re-armed: `growth`, `new_messages`, `manual`, `settings`."""
    retry_at_tokens: NotRequired[int | None]
    """The size from which it tries again; `null` unless it waits for growth."""
    tripped: bool
    tripped_at_messages: NotRequired[int | None]
    """The number of messages in the context when it gave up."""
    tripped_at_tokens: NotRequired[int | None]
    """The size at which it gave up."""
    tripped_by: TrippedBy | None


class FileLists(TypedDict):
    """Files that the summarised calls read and changed, sorted by UTF-16 code units; disjoint."""
    modified_files: NotRequired[list[str]]
    read_files: NotRequired[list[str]]


class EvidenceCounts(TypedDict):
    """How many statements a summary makes that need evidence, and how many of them have it. `cited`: they name calls or
    messages that are there and fit them. `unsupported`: they name none, or wrongly; those that say that they are inferred
    are neither."""
    cited: int
    statements: int
    unsupported: int


Fallback = TypedDict("Fallback", {"from": NotRequired[str | None], "reason": NotRequired[str | None], "used": bool})


FillState: TypeAlias = Literal["green", "yellow", "red"]
"""How full the window is."""


Event: TypeAlias = Literal["before_compact", "after_compact", "before_navigate", "after_navigate", "chapter_requested", "prune_tool_results", "format_messages", "build_summary"]
"""What a hook is called for."""


HookOutcome: TypeAlias = Literal["passed", "replaced", "unused", "cancelled", "failed"]


class HookReport(TypedDict):
    """What a hook made of a compaction; stored with its result."""
    delivery_id: str
    """In the hook's log."""
    detail: NotRequired[str | None]
    """The hook's reason for cancelling, or what was wrong with its answer."""
    event: Event
    hook_id: str
    outcome: HookOutcome


class IdentifierReport(TypedDict):
    """The identifiers that people, the model and its calls used most in what was replaced, told by their form: how many there
    are, at most 40, how many of them the summary's body has (whole, or by the end of a path), and how many more of them
    stand in what code put beside it. `recall` (0-1) is the body's share."""
    found: int
    kept: int
    recall: float
    restored: int


class NetReport(TypedDict):
    """What the compaction is worth: tokens no longer sent each turn against what it cost once, the summary's calls and the
    provider's prompt cache, which has to take in anew what the new context does not begin with as the old one did."""
    break_even_turns: NotRequired[float | None]
    """Calls of the model after which both costs are made up for, with all input that can be read from the prompt cache
    before and after. `null` without savings, or where the summary cost something and one of the prices is not known."""
    cache_cost_usd: NotRequired[float | None]
    """Cost of writing `tokens_rewritten` to the prompt cache instead of reading them from it; `null` where the price of
    the session's model is not known."""
    summary_cost_usd: float
    tokens_rewritten: NotRequired[int]
    """Tokens of the new context behind the beginning that it has in common with the old one."""
    tokens_shed_per_turn: int


Reason: TypeAlias = Literal["empty_session", "already_compacted", "nothing_to_compact", "no_valid_cut_point", "disabled", "anti_thrash", "in_progress", "below_threshold", "low_savings", "cancelled_by_hook", "would_grow", "superseded", "fixed_overhead", "stale_usage"]
"""Why nothing was done. The same words for `prepare` and for a skipped compaction."""


Strategy: TypeAlias = Literal["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"]


class UpstreamReport(TypedDict):
    """Who wrote the summary (`builtin`: the built-in summariser) and what it cost: the figures are of all calls, also of
    failed and refused ones and of upstreams that were asked in vain. `name` is null where nobody was asked: there is no
    summary, or a caller or a hook gave it."""
    cache_write_tokens: NotRequired[int]
    cached_tokens: int
    calls: int
    cost_usd: float
    input_tokens: int
    latency_ms: int
    model: NotRequired[str | None]
    name: NotRequired[str | None]
    output_tokens: int
    prefix_reused: NotRequired[bool]
    """The session's own context was sent, for the provider's prompt cache."""


class CompactionResult(TypedDict):
    """What a compaction did: stored with its job, shown by the API. Tokens are integers, percentages 0-100."""
    anti_thrash: AntiThrash
    calls_before: NotRequired[int]
    """Calls of the model since the compaction before, or from the beginning."""
    details: FileLists
    duration_ms: int
    entry_id: NotRequired[str | None]
    evidence: NotRequired[EvidenceCounts | None]
    fallback: Fallback
    final_state: FillState
    first_kept_entry_id: NotRequired[str | None]
    hooks: NotRequired[list[HookReport]]
    """The hooks that were asked, in order."""
    identifiers: IdentifierReport
    is_split_turn: bool
    masking_tokens_freed: int
    messages_kept: int
    messages_removed: int
    messages_summarized: int
    net: NetReport
    previous_summary_reused: bool
    savings_pct: float
    skip_reason: NotRequired[Reason | None]
    strategy_requested: Strategy
    strategy_used: Strategy
    summary: NotRequired[str | None]
    target_reached: NotRequired[bool | None]
    target_tokens: NotRequired[int | None]
    """The size that `truncate`, `sliding` or `smart` shrank to, and whether `tokens_after` is within it: what has to stay
    may be more. `null` for other strategies."""
    tokens_after: int
    tokens_before: int
    tokens_saved: int
    tool_results_masked: int
    tool_results_pruned: int
    upstream: UpstreamReport
    was_skipped_due_to_low_savings: bool


class AfterCompactMessage(TypedDict):
    """A compaction has succeeded."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["after_compact"]
    timestamp: str
    session_id: str
    compaction_id: str
    trigger: Trigger
    result: CompactionResult


class AfterNavigateMessage(TypedDict):
    """The leaf has been moved."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["after_navigate"]
    timestamp: str
    session_id: str
    old_leaf_id: str | None
    new_leaf_id: str | None
    summary_entry_id: str | None


Status: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled", "skipped"]


class CompactionRef(TypedDict):
    """A job that an append started or, where it was prepared ahead, carried out."""
    id: str
    status: Status
    trigger: Trigger


class AppendedEntry(TypedDict):
    id: str
    role: NotRequired[str | None]
    source_id: NotRequired[str | None]
    tokens: int
    type: str


OverflowReason: TypeAlias = Literal["not_overflow", "compacted", "compacting", "already_tried", "fixed_overhead", "queue_full"]
"""Why to try again, or not."""


class Overflow(TypedDict):
    """What a `provider_error` came to."""
    compaction_id: NotRequired[str | None]
    reason: OverflowReason
    recognised: bool
    """The text says that the context was too long for the model."""
    retry: bool
    """Ask the model once more, with the context as it is once `compaction_id` has ended."""


class Breakdown(TypedDict):
    """Tokens by part; together they are the snapshot's `tokens`."""
    messages: int
    summary: int
    system: int
    tool_results: int
    tools: int
    unposted: int
    """What the provider counts and the client never posts: its system prompt and tools, where it keeps them to itself."""


class ChapterTask(TypedDict):
    """Whether the agent is asked to close chapters."""
    pending: bool


Source: TypeAlias = Literal["estimate", "usage", "usage_rejected"]
"""What the snapshot's `tokens` rests on."""


WindowSource: TypeAlias = Literal["setting", "refusal", "table", "guess"]
"""What a window rests on: a setting, a provider's refusal that named it or a context that it was smaller than, the table of models, or nothing (`guess`)."""


class Snapshot(TypedDict):
    """How full the window is. Tokens are integers; `utilization` is tokens / (window - reserve_tokens)."""
    anti_thrash: AntiThrash
    available: int
    """Tokens left before the reserve; 0 when over."""
    breakdown: Breakdown
    calibration: float
    """Reported over counted tokens, `breakdown.unposted` aside, as learnt from the provider: `tokens` is `unposted +
    calibration x count`. Always 1 for `pi` and `praison`."""
    chapter_task: ChapterTask
    percent_until_compaction: float
    """How far (percent of the trigger) the context is from red; 0 when red."""
    recounting: bool
    """A change of estimator is still being counted in the background."""
    reserve_tokens: int
    should_compact: bool
    """Red, or it pays to compact (`pays_at`); enabled, not held back by the anti-thrash guard, and there is something that
    a compaction could do."""
    source: Source
    state: FillState
    tokens: int
    utilization: float
    window: int
    window_source: WindowSource
    """What `window` rests on."""


WarningCode: TypeAlias = Literal["orphan_tool_result", "usage_ignored", "usage_not_believed", "unknown_parent", "not_shown"]
"""Codes of `warnings`: what of an append was taken otherwise than it looks.
Later versions may add some: `detail` says in words what an unknown one means.

- `orphan_tool_result`: A result without a call is stored, waits for its call, and is never sent out alone.
- `usage_ignored`: `usage` came without an answer that it could belong to.
- `usage_not_believed`: `usage` can't be that of this conversation: more than the window, less than half of what was counted, or in contradiction to the usage before it. Sizes rest on what is counted.
- `unknown_parent`: A file's entry whose parent is not there, or itself, is taken to follow the line before it.
- `not_shown`: A pi message of an extension's role, which no model is shown, is stored and never sent out."""


class Warning(TypedDict):
    """Something about an accepted item that the client should know."""
    code: WarningCode
    detail: str
    pointer: str
    """Pointer to the item in the request."""


class Appended(TypedDict):
    """What an append did."""
    compaction: NotRequired[CompactionRef | None]
    entries: list[AppendedEntry]
    leaf_id: NotRequired[str | None]
    overflow: NotRequired[Overflow | None]
    snapshot: Snapshot
    warnings: list[Warning]


NoteCode: TypeAlias = Literal["orphan_result_dropped", "duplicate_result_dropped", "synthetic_result", "result_moved", "messages_merged", "call_id_renamed", "tool_name_renamed", "arguments_wrapped", "error_flag_dropped", "result_media_moved", "server_tool_as_text", "server_tool_unpaired", "missing_link", "thinking_dropped", "thinking_of_other_model", "thinking_missing", "thinking_after_compaction", "thinking_stripped", "signature_placeholder", "reasoning_unpaired", "reasoning_by_reference", "media_dropped", "image_dropped", "document_dropped", "document_as_link", "document_as_text", "raw_dropped", "raw_block_dropped", "provider_compaction_dropped", "provider_compaction_as_text", "empty_text_dropped", "empty_message_dropped", "response_fields_removed", "trailing_space_trimmed", "system_as_user", "user_message_inserted", "half_character_replaced", "cache_marks_removed", "item_repaired", "item_unreadable", "item_id_changed", "item_id_removed", "duplicate_item_dropped", "parent_changed", "name_dropped", "tasks_numbered"]
"""Codes of `conversion_notes`: what a context says otherwise than the stored items do.
Later versions may add some: `detail` says in words what an unknown one means.

- `orphan_result_dropped`: A result without a call, before it or behind it, is left out.
- `duplicate_result_dropped`: A second result of a call is left out.
- `synthetic_result`: A call has no result; one that says so is put in.
- `result_moved`: A result is put right behind its call.
- `messages_merged`: Parallel calls, the results of one batch, or system messages in a row go in one message.
- `call_id_renamed`: A call goes under another id: the provider refuses its own, or an earlier call has it.
- `tool_name_renamed`: A tool goes under a name that the provider takes.
- `arguments_wrapped`: Arguments that are no object become the one argument `input`; an empty list becomes an empty object.
- `error_flag_dropped`: The format can't mark a result as an error.
- `result_media_moved`: Media of a result follow it in a user message.
- `server_tool_as_text`: A tool that another provider ran is told in words.
- `server_tool_unpaired`: A tool that the provider ran lacks its call or its result; the other half is left out.
- `missing_link`: What names by its id something that is not in the context goes without that name, or is left out.
- `thinking_dropped`: Thinking that the provider would refuse is left out.
- `thinking_of_other_model`: Thinking was signed for another model than the newest, and is kept, as set.
- `thinking_missing`: The running tool-use turn has thinking that can't be given back: send it with thinking off.
- `thinking_after_compaction`: Signed thinking stands behind a summary or behind shortened tool traffic; the provider may refuse it.
- `thinking_stripped`: Thinking is left out, as set.
- `signature_placeholder`: A call goes with the word that Gemini takes in place of a signature: another model made it, or its own is lost.
- `reasoning_unpaired`: Reasoning is left out: what it led to is not there.
- `reasoning_by_reference`: Reasoning goes by its id alone: the provider must have stored the response.
- `media_dropped`: An image or a document can't be given to the provider here.
- `image_dropped`: An image is left out: pi holds images by their bytes only.
- `document_dropped`: A document is left out: pi holds none.
- `document_as_link`: A document is told by its URL.
- `document_as_text`: A document of plain text is sent as text.
- `raw_dropped`: A block that only another provider understands is left out.
- `raw_block_dropped`: The same in `openai_chat`.
- `provider_compaction_dropped`: Another provider's compaction is left out: only that provider can read it.
- `provider_compaction_as_text`: The summary of another provider's compaction is sent as text.
- `empty_text_dropped`: Blocks without text are left out.
- `empty_message_dropped`: A message of which nothing can be sent is left out.
- `response_fields_removed`: Fields that only answers have are left out.
- `trailing_space_trimmed`: White space at the end of the context is cut off: the provider refuses it behind an answer.
- `system_as_user`: A system message inside the conversation is passed on by the user.
- `user_message_inserted`: A user message is put first: the provider wants one there.
- `half_character_replaced`: Halves of characters, which no strict reader of JSON takes, are sent as U+FFFD.
- `cache_marks_removed`: Cache marks are taken off or shortened: the provider takes no such ones, or not so many.
- `item_repaired`: A stored item is mended: the provider would refuse it as it came.
- `item_unreadable`: A stored item can't be read any more; its calls alone are sent.
- `item_id_changed`: An item goes under another id: an earlier one has its own, or the provider takes none such (its form, its length).
- `item_id_removed`: An item goes without its id: an earlier one has it, or the provider takes none such (its form, its length).
- `duplicate_item_dropped`: An item is left out: an earlier one has its id, and it needs one.
- `parent_changed`: A pi entry hangs under the entry that is shown before it.
- `name_dropped`: The name of whoever speaks is left out: the format has no field for it, and it is no user's, whose words it would stand before.
- `tasks_numbered`: Tasks begin with their number, as `chaptering_trigger` has it."""


class ConversionNote(TypedDict):
    """What the context says otherwise than the stored items do."""
    code: NoteCode
    detail: str
    entry_id: NotRequired[str | None]


ElidedPart: TypeAlias = Literal["result", "arguments", "words"]
"""The half of a call, or the words of a message, that an [`Elision`] is about."""


class Elided(TypedDict):
    """A tool result, or the arguments of a call, shown shorter than they are; `tool-calls/{tool_call_id}` gives the whole."""
    entry_id: str
    part: ElidedPart
    tokens: int
    """Tokens of the original."""
    tool_call_id: str


class FixedParts(TypedDict):
    """Tokens of what stays, by why it stays. Each message counts once."""
    anchors: int
    """The first message that the user wrote, and what else earlier compactions keep word for word."""
    instructions: int
    """System messages of the transcript: those that lead it and the newest of their kind."""
    newest: int
    """The newest message, with the calls and results that it can't be parted from."""
    pinned: int
    """Pinned entries."""
    system: int
    """The system prompt beside the messages."""
    tools: int
    unposted: int
    """What the provider counts and the client never posts."""


ExcessReason: TypeAlias = Literal["fixed_overhead", "disabled", "upstream_required", "recounting", "reverted", "not_the_leaf"]
"""Why such a context is handed out."""


class Excess(TypedDict):
    """Said with a context that is larger than the window."""
    fixed: FixedParts
    over_by: int
    """Tokens beyond the window."""
    reason: ExcessReason
    window: int


Format: TypeAlias = Literal["native", "openai_chat", "openai_responses", "anthropic", "gemini", "pi", "claude_code", "codex"]
"""A wire format, named as in the API."""


Item: TypeAlias = Any
"""One item of a transcript, in the format that `format` names. What is not described here is kept as it came."""


class Context(TypedDict):
    """A context, ready to be sent."""
    conversion_notes: list[ConversionNote]
    elided: list[Elided]
    entry_ids: list[str]
    """The entries shown, in order."""
    exceeds_window: NotRequired[Excess | None]
    format: Format
    leaf_id: NotRequired[str | None]
    messages: list[Item]
    session_id: str
    stable_prefix_messages: int
    """Leading messages unchanged since the previous rebuild at this format."""
    state: FillState
    summary_entry_id: NotRequired[str | None]
    system: NotRequired[Any]
    """The system prompt that travels beside the messages, in the form that `format` gives it: as it was given where
    that is its own. For `anthropic` and `gemini`, system messages that lead the transcript are here too."""
    tokens: int
    """Of what is handed out, system prompt and tools included."""


class AppendAnswer(Appended):
    """What an append did, with the context if it was asked for."""
    context: NotRequired[Context | None]


class AppendEntries(TypedDict):
    expected_leaf_id: NotRequired[str | None]
    """409 `leaf_moved` unless this is the leaf; null: unless the session is empty."""
    format: Format
    items: list[Item]
    """Items of that format, in order. All land or none."""
    parent_id: NotRequired[str | None]
    """The entry to append under; the leaf when left out."""
    provider_error: NotRequired[str | None]
    """The text of a failed model call."""
    return_context: NotRequired[Format | None]
    usage: NotRequired[dict[str, Any] | None]
    """The provider's own usage object for the newest answer."""


class BeforeCompactAnswer(TypedDict):
    """`{}` or an empty body: go on."""
    cancel: NotRequired[bool]
    """True: it is not done."""
    reason: NotRequired[str]
    """Why; shown to whoever asked."""
    compaction: NotRequired[dict[str, Any]]


class Estimate(TypedDict):
    cost_usd: NotRequired[float | None]
    """0 where no model would be asked. Null where the upstream has no price."""
    net: NetReport
    """As a compaction of now would report it."""
    savings_pct: float
    summarizer_input_tokens: int
    """Of what a summariser would read: the span as it is told it, the summary before and the prompt."""
    tokens_after: int


class FileOpsView(TypedDict):
    """Sorted paths by what was done to them."""
    edited: list[str]
    read: list[str]
    written: list[str]


class MaskForecast(TypedDict):
    """What masking alone would free, and whether that is enough to leave red."""
    sufficient: bool
    tokens_freed: int
    tool_results: int


class NativeBlock(TypedDict):
    """A block of a native message."""
    type: str
    """`text`, `thinking`, `image`, `document`, `tool_call`, `tool_result`, `raw`."""
    text: NotRequired[str]
    id: NotRequired[str]
    """Of `tool_call`."""
    name: NotRequired[str]
    """Of `tool_call`."""
    arguments: NotRequired[Any]
    """Of `tool_call`: an object as a rule."""
    tool_call_id: NotRequired[str]
    """Of `tool_result`: the call that it answers."""
    content: NotRequired[Any]
    """Of `tool_result`: blocks, or a text."""
    is_error: NotRequired[bool]
    source: NotRequired[dict[str, Any]]
    """Of `image` and `document`."""


class NativeMessage(TypedDict):
    """`native`: the service's own message."""
    id: NotRequired[str | None]
    role: Literal["system", "developer", "user", "assistant", "tool", "bash_execution", "custom", "branch_summary", "compaction_summary"]
    content: NotRequired[str | list[NativeBlock] | None]
    """Blocks, or a text."""
    stop: NotRequired[Literal["end", "length", "tool_use", "refusal", "aborted", "error", None]]


class PlannedEntry(TypedDict):
    entry_id: str
    message: NativeMessage


PlannedMessage: TypeAlias = str | PlannedEntry
"""An entry id, or with `include_messages` the message too."""


Estimator: TypeAlias = Literal["o200k", "cl100k", "pi", "praison"]
"""How tokens are counted."""


FileKind: TypeAlias = Literal["read", "write", "edit"]


class FileTool(TypedDict):
    """What a tool does with a file and which of its arguments holds the path."""
    kind: FileKind
    path: str


OnUpstreamFailure: TypeAlias = Literal["fallback", "fail"]


Policy: TypeAlias = Literal["conservative", "balanced", "aggressive"]


Preset: TypeAlias = Literal["auto", "checkpoint", "harness", "chat"]


RedactWord: TypeAlias = Literal["auto", "off"]
"""`auto`: what is known to be a secret by its form, by its name or by what stands around it. `off`: nothing."""


class OwnPatterns(TypedDict):
    """Patterns of the session's own, beside those of `auto`."""
    patterns: list[str]
    """Regular expressions without look-around and back references. Where one has a group, the first is what is replaced."""


RedactSetting: TypeAlias = RedactWord | OwnPatterns
"""What is kept from summarisers, summaries and hooks."""


GuardReset: TypeAlias = Literal["growth", "new_messages"]


Template: TypeAlias = Literal["checkpoint", "six_section", "continuity", "prose"]


Thinking: TypeAlias = Literal["keep", "strip", "auto"]
"""What becomes of the model's thinking in a rebuilt context. `auto`: what the target would refuse is left out.
`keep`: besides, thinking that another model signed stays. `strip`: none but that of the running tool-use turn."""


class Settings(TypedDict):
    """A session's settings, every field resolved. Tokens unless a field says otherwise."""
    agents: list[str]
    """Names of agents: what a user's message says that came with one of them as its `name` is that agent's, not the user's."""
    ahead_at: NotRequired[float | None]
    """Utilisation (0-1) from which a compaction is prepared ahead; system prompt and tools move it nearer to red. Null: never."""
    anchor_first_user: bool
    """The first message that the user wrote stays verbatim; once something else was asked, one that takes more than half of the usable window stands by its beginning and its end."""
    chaptering_trigger: NotRequired[int | None]
    """Tokens from which the agent is asked to close chapters. Null: never."""
    compaction_prefix: NotRequired[str | None]
    """In place of the service's framing before every summary."""
    context_window: int
    """The model's window, in tokens. Null: from the session's `model`; 128,000 where that is not known."""
    enabled: bool
    """Off: nothing compacts by itself; a call still does."""
    estimator: Estimator
    """How tokens are counted. A change recounts the session in the background."""
    exclude_tools: list[str]
    """Tools whose results and arguments are never masked or pruned."""
    file_tools: dict[str, FileTool]
    """Which tools touch files: tool name to `kind` and the argument that holds the path, in place of the default table as a whole. Other tools are known by their names and arguments."""
    focus_topic: NotRequired[str | None]
    """What matches it is carried verbatim up to a bound, and the model is told."""
    instructions: NotRequired[str | None]
    """What the summary should look at, besides."""
    iterative: bool
    """A new summary updates the one before; false: everything is summarised again."""
    keep_recent_results: int
    """Tool results, the newest, that masking leaves alone; 0 masks all."""
    keep_recent_tokens: int
    """How much of the newest context a summary leaves verbatim, in tokens. Where it is not set, at most a seventh of the window."""
    max_consecutive_low_savings: int
    """After so many compactions with low savings in a row nothing starts by itself; 0 turns the guard off."""
    max_tool_result_size: int
    """In characters: pruning shortens longer results, and longer strings in the arguments of calls."""
    min_gain_tokens: int
    """Masking, and likewise pruning, that frees less than this in all is not done."""
    min_savings_pct: float
    """Percent that a compaction must save not to count as low savings. A value between 0 and 1 is scaled by 100."""
    on_upstream_failure: OnUpstreamFailure
    """`fallback`: the built-in summariser stands in for an upstream that fails; `fail`: the compaction fails."""
    pays_at: NotRequired[float | None]
    """Utilisation (0-1) from which a compaction may start before red, as soon as it pays: when reading what it would leave out has cost the calls since the last one as much as it costs itself, at the prices of the session's model. Null: red alone starts one."""
    pinned_entry_ids: list[str]
    """Entries of this session that stay verbatim."""
    policy: NotRequired[Policy | None]
    """Gives `red_at` and `target_tokens`: `conservative` 0.80 and 0.60, `balanced` 0.90 and 0.70, `aggressive` 0.95 and 0.75."""
    preserve_recent: int
    """Messages that `truncate`, `smart` and `prune` leave alone at the end."""
    preset: Preset
    """A set of defaults: `auto`, `checkpoint` (pi's), `harness`, `chat`. What is set besides wins."""
    prompt: NotRequired[str | None]
    """The caller's own summary prompt, in place of the template's."""
    red_at: NotRequired[float | None]
    """Utilisation (0-1) from which the state is red. Null: red is more than `context_window - reserve_tokens`."""
    redact: RedactSetting
    """Which secrets are replaced by `[redacted: kind]` in what a summariser is sent, in summaries and in what hooks are shown. `auto`: tokens, keys, passwords in URLs, private keys, and what is assigned to such names. `off`: none. An object: those of `auto`, and what its own patterns match. The stored messages stay as they are."""
    reserve_tokens: int
    """Kept free for the model's answer: usable is `context_window - reserve_tokens`. Less than the window; where it is not set, at most a quarter of it."""
    reset: GuardReset
    """What re-arms that guard: growth by a quarter, or any new message."""
    strategy: Strategy
    """What a compaction does: `auto` elides first and summarises where that is not enough, `summarize` asks no model, `llm_summarize` always asks one."""
    summary_max_tokens: NotRequired[int | None]
    """Upper bound of a summary's size. Null: 0.8 of the reserve."""
    target_tokens: NotRequired[int | None]
    """What `truncate`, `sliding` and `smart` shrink to. Null: 0.75 of what is usable."""
    template: Template
    """The headings of a summary."""
    thinking: Thinking
    """What becomes of the model's thinking in a rebuilt context."""
    tool_prune_before_summarise: bool
    """Long and repeated tool results are shortened before anything else."""
    upstream: NotRequired[str | None]
    """Name of the upstream that writes summaries, `builtin` or a configured one. Null: the default one."""
    yellow_at: float
    """Utilisation (0-1) from which the state is yellow; not above `red_at`."""


class Preparation(TypedDict):
    anchor_entry_ids: list[str]
    estimate: Estimate
    file_ops: FileOpsView
    first_kept_entry_id: NotRequired[str | None]
    is_split_turn: bool
    leaf_id: NotRequired[str | None]
    mask: MaskForecast
    messages_to_summarize: list[PlannedMessage]
    previous_summary: NotRequired[str | None]
    settings: Settings
    tokens_before: int
    tokens_kept: int
    tokens_to_summarize: int
    turn_prefix_messages: list[PlannedMessage]


class BeforeCompactMessage(TypedDict):
    """A compaction is about to be done."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["before_compact"]
    timestamp: str
    session_id: str
    compaction_id: str
    trigger: Trigger
    strategy: Strategy
    focus_topic: NotRequired[str | None]
    instructions: NotRequired[str | None]
    preparation: Preparation | None
    """As of `prepare`, with messages."""


class BeforeNavigateAnswer(TypedDict):
    """`{}` or an empty body: go on."""
    cancel: NotRequired[bool]
    """True: it is not done."""
    reason: NotRequired[str]
    """Why; shown to whoever asked."""
    compaction: NotRequired[dict[str, Any]]
    """The summary of the branch that is left, where the caller asked for one."""
    summary: NotRequired[dict[str, Any]]
    """The same under its older name."""


class BeforeNavigateMessage(TypedDict):
    """The leaf is about to be moved."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["before_navigate"]
    timestamp: str
    session_id: str
    preparation: dict[str, Any]


class BuildSummaryAnswer(TypedDict):
    """Without `summary`: go on."""
    summary: NotRequired[str]
    details: NotRequired[dict[str, Any]]


class BuildSummaryMessage(TypedDict):
    """A summary is about to be written."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["build_summary"]
    timestamp: str
    session_id: str
    compaction_id: str
    messages: list[NativeMessage]
    previous_summary: NotRequired[str | None]
    focus_topic: NotRequired[str | None]
    instructions: NotRequired[str | None]
    max_output_tokens: NotRequired[int | None]
    replaced_tokens: int


class ChapterView(TypedDict):
    """A chapter with those nested in it."""
    chapters: list["ChapterView"]
    end: int
    id: str
    in_context: bool
    """It is shown at the leaf: neither nested in another nor replaced by a summary."""
    message: str
    name: str
    path: str
    """Its folder under `vfs`."""
    savings_pct: float
    slug: str
    start: int
    """Task numbers as they were when it was closed."""
    tokens_after: int
    tokens_before: int


class ChapterList(TypedDict):
    """All chapters of a path, as a list of its own kind: they are few, so there is one page."""
    items: list[ChapterView]
    next_cursor: NotRequired[str | None]


class ChapterRequestedEvent(TypedDict):
    """`data` of `chapter.requested`: the agent is to be asked for chapters."""
    session_id: str
    created_at: str
    snapshot: Snapshot


class ChapterRequestedMessage(TypedDict):
    """The agent is to be asked for chapters."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["chapter_requested"]
    timestamp: str
    session_id: str
    task: dict[str, Any]
    """What the agent would be handed: see `chapter-task`."""


TaskState: TypeAlias = Literal["done", "in_progress", "open_call", "chapter"]
"""Whether a task may be closed: what is done may, and chapters may be folded again."""


class Task(TypedDict):
    """One numbered task of the context."""
    entry_id: str
    n: int
    """From 1. The context shows the same number."""
    state: TaskState
    """`done` and `chapter` can be closed."""
    title: str
    """The first words of the user's message, or the chapter's name."""
    tokens: int
    """What it takes in the context."""


class ChapterTaskView(TypedDict):
    """What to hand the agent when chapters are due."""
    pending: bool
    """As in the snapshot. The rest is given in any case."""
    prompt: str
    tasks: list[Task]
    tool: dict[str, Any]
    """Name, description and JSON schema of the parameters, which are the body of `POST chapters`."""


class ChapterWritten(TypedDict):
    """`tokens_before` is the estimate of what the chapter hides, `tokens_after` that of its own message."""
    end: int
    id: str
    name: str
    path: str
    """Its folder under `vfs`."""
    savings_pct: float
    slug: str
    start: int
    tokens_after: int
    tokens_before: int


Refusal: TypeAlias = Literal["out_of_range", "in_progress", "open_call", "parted_call", "nothing_to_close", "would_grow"]
"""Why a chapter is not written."""


class ChapterRefused(TypedDict):
    detail: str
    end: int
    index: int
    """Place in the call, from 0."""
    name: str
    reason: Refusal
    start: int


class ChaptersWritten(TypedDict):
    """What a chapters call did."""
    chapters: list[ChapterWritten]
    compaction_id: NotRequired[str | None]
    """Reverting it takes all chapters of the call back; null after an empty list."""
    leaf_id: NotRequired[str | None]
    refused: list[ChapterRefused]
    """Chapters of the call that could not be written; the others were."""
    snapshot: Snapshot


class SettingsPatch(TypedDict):
    """Settings that are to be other than the default. An unknown name or a value out of range is 422 with its pointer; null takes a setting back to its default, where null is not a value of its own. The defaults given here are those of the preset `auto`; the operator's own defaults go before them."""
    preset: NotRequired[Preset]
    """A set of defaults: `auto`, `checkpoint` (pi's), `harness`, `chat`. What is set besides wins. Default: `"auto"`."""
    enabled: NotRequired[bool]
    """Off: nothing compacts by itself; a call still does. Default: `true`."""
    estimator: NotRequired[Estimator]
    """How tokens are counted. A change recounts the session in the background. Default: `"o200k"`."""
    context_window: NotRequired[int | None]
    """The model's window, in tokens. Null: from the session's `model`; 128,000 where that is not known. Default: `128000`."""
    reserve_tokens: NotRequired[int]
    """Kept free for the model's answer: usable is `context_window - reserve_tokens`. Less than the window; where it is not set, at most a quarter of it. Default: `16384`."""
    keep_recent_tokens: NotRequired[int]
    """How much of the newest context a summary leaves verbatim, in tokens. Where it is not set, at most a seventh of the window. Default: `16384`."""
    yellow_at: NotRequired[float]
    """Utilisation (0-1) from which the state is yellow; not above `red_at`. Default: `0.6`."""
    red_at: NotRequired[float | None]
    """Utilisation (0-1) from which the state is red. Null: red is more than `context_window - reserve_tokens`. Default: `0.8`."""
    ahead_at: NotRequired[float | None]
    """Utilisation (0-1) from which a compaction is prepared ahead; system prompt and tools move it nearer to red. Null: never. Default: `0.7`."""
    pays_at: NotRequired[float | None]
    """Utilisation (0-1) from which a compaction may start before red, as soon as it pays: when reading what it would leave out has cost the calls since the last one as much as it costs itself, at the prices of the session's model. Null: red alone starts one. Default: `null`."""
    strategy: NotRequired[Strategy]
    """What a compaction does: `auto` elides first and summarises where that is not enough, `summarize` asks no model, `llm_summarize` always asks one. Default: `"auto"`."""
    target_tokens: NotRequired[int | None]
    """What `truncate`, `sliding` and `smart` shrink to. Null: 0.75 of what is usable. Default: `null`."""
    preserve_recent: NotRequired[int]
    """Messages that `truncate`, `smart` and `prune` leave alone at the end. Default: `6`."""
    anchor_first_user: NotRequired[bool]
    """The first message that the user wrote stays verbatim; once something else was asked, one that takes more than half of the usable window stands by its beginning and its end. Default: `true`."""
    keep_recent_results: NotRequired[int]
    """Tool results, the newest, that masking leaves alone; 0 masks all. Default: `3`."""
    exclude_tools: NotRequired[list[str]]
    """Tools whose results and arguments are never masked or pruned. Default: `[]`."""
    redact: NotRequired[Literal["auto", "off"] | dict[str, Any]]
    """Which secrets are replaced by `[redacted: kind]` in what a summariser is sent, in summaries and in what hooks are shown. `auto`: tokens, keys, passwords in URLs, private keys, and what is assigned to such names. `off`: none. An object: those of `auto`, and what its own patterns match. The stored messages stay as they are. Default: `"auto"`."""
    agents: NotRequired[list[str]]
    """Names of agents: what a user's message says that came with one of them as its `name` is that agent's, not the user's. Default: `[]`."""
    min_gain_tokens: NotRequired[int]
    """Masking, and likewise pruning, that frees less than this in all is not done. Default: `0`."""
    tool_prune_before_summarise: NotRequired[bool]
    """Long and repeated tool results are shortened before anything else. Default: `true`."""
    max_tool_result_size: NotRequired[int]
    """In characters: pruning shortens longer results, and longer strings in the arguments of calls. Default: `500`."""
    thinking: NotRequired[Thinking]
    """What becomes of the model's thinking in a rebuilt context. Default: `"auto"`."""
    template: NotRequired[Template]
    """The headings of a summary. Default: `"checkpoint"`."""
    iterative: NotRequired[bool]
    """A new summary updates the one before; false: everything is summarised again. Default: `true`."""
    focus_topic: NotRequired[str | None]
    """What matches it is carried verbatim up to a bound, and the model is told. Default: `null`."""
    instructions: NotRequired[str | None]
    """What the summary should look at, besides. Default: `null`."""
    prompt: NotRequired[str | None]
    """The caller's own summary prompt, in place of the template's. Default: `null`."""
    compaction_prefix: NotRequired[str | None]
    """In place of the service's framing before every summary. Default: `null`."""
    summary_max_tokens: NotRequired[int | None]
    """Upper bound of a summary's size. Null: 0.8 of the reserve. Default: `null`."""
    upstream: NotRequired[str | None]
    """Name of the upstream that writes summaries, `builtin` or a configured one. Null: the default one. Default: `null`."""
    on_upstream_failure: NotRequired[OnUpstreamFailure]
    """`fallback`: the built-in summariser stands in for an upstream that fails; `fail`: the compaction fails. Default: `"fallback"`."""
    policy: NotRequired[Policy | None]
    """Gives `red_at` and `target_tokens`: `conservative` 0.80 and 0.60, `balanced` 0.90 and 0.70, `aggressive` 0.95 and 0.75. Default: `null`."""
    min_savings_pct: NotRequired[float]
    """Percent that a compaction must save not to count as low savings. A value between 0 and 1 is scaled by 100. Default: `10.0`."""
    max_consecutive_low_savings: NotRequired[int]
    """After so many compactions with low savings in a row nothing starts by itself; 0 turns the guard off. Default: `2`."""
    reset: NotRequired[GuardReset]
    """What re-arms that guard: growth by a quarter, or any new message. Default: `"growth"`."""
    chaptering_trigger: NotRequired[int | None]
    """Tokens from which the agent is asked to close chapters. Null: never. Default: `null`."""
    file_tools: NotRequired[dict[str, FileTool]]
    """Which tools touch files: tool name to `kind` and the argument that holds the path, in place of the default table as a whole. Other tools are known by their names and arguments."""
    pinned_entry_ids: NotRequired[list[str]]
    """Entries of this session that stay verbatim. Default: `[]`."""


SystemPrompt: TypeAlias = str | list[dict[str, Any]] | dict[str, Any] | None
"""The system prompt: a text, a list of blocks, or Gemini's `systemInstruction`; kept as given."""


ToolDefinition: TypeAlias = Any
"""A tool definition in the provider's own format; kept as given."""


class CompactItems(TypedDict):
    focus_topic: NotRequired[str | None]
    format: Format
    items: list[Item]
    settings: NotRequired[SettingsPatch | None]
    """As a session's."""
    strategy: NotRequired[Strategy | None]
    system: NotRequired[SystemPrompt]
    tools: NotRequired[list[ToolDefinition] | None]


class CompactResponse(TypedDict):
    """OpenAI's request. Fields that are not named here are taken, and nothing is done about them."""
    input: Any
    """The whole conversation: a text, or a list of at most 20,000 items. What an earlier compaction gave may be among
    them."""
    instructions: NotRequired[str | None]
    """The system prompt."""
    model: NotRequired[str | None]
    """Its window decides how many of the user's messages stay."""
    previous_response_id: NotRequired[str | None]
    """Refused: responses are kept nowhere here, so `input` has to hold the whole conversation."""


When: TypeAlias = Literal["now", "turn_end"]
"""When a compaction may start."""


class CompactSession(TypedDict):
    details: NotRequired[dict[str, Any] | None]
    """Kept with the compaction."""
    expected_leaf_id: NotRequired[str | None]
    """409 `leaf_moved` unless this is the leaf: binds the call to a prepared plan."""
    first_kept_entry_id: NotRequired[str | None]
    """The first entry that stays, in place of the planned cut."""
    focus_topic: NotRequired[str | None]
    force: NotRequired[bool]
    """Passes the anti-thrash guard; nothing passes the validity rules."""
    instructions: NotRequired[str | None]
    settings: NotRequired[SettingsPatch | None]
    """Settings for this compaction only."""
    strategy: NotRequired[Strategy | None]
    summary: NotRequired[str | None]
    """The caller's own summary, used as given: no model is asked. 422 where it is empty or a tool call; what would be larger
    than what it replaces is skipped (`would_grow`)."""
    wait: NotRequired[float | None]
    """Seconds to wait for the end."""
    when: NotRequired[When]


class CompactedItems(TypedDict):
    """The compacted transcript, in the format that it came in."""
    messages: list[Item]
    """Valid as they are."""
    result: CompactionResult
    system: NotRequired[Any]
    """The system prompt that goes with them."""


class InputTokensDetails(TypedDict):
    cache_write_tokens: int
    """0: upstreams do not say."""
    cached_tokens: int


class OutputTokensDetails(TypedDict):
    reasoning_tokens: int


class ResponseUsage(TypedDict):
    """Tokens of the calls to a model; where none was asked, those of input and summary."""
    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class CompactedResponse(TypedDict):
    """OpenAI's answer."""
    created_at: int
    """Seconds since 1970."""
    id: str
    object: str
    """`response.compaction`."""
    output: list[dict[str, Any]]
    """The user's messages, instructions that stood among them, and at the end one item of type `compaction`: its
    `encrypted_content` stands for all else, wherever it comes back."""
    usage: ResponseUsage


class CompactionSpending(TypedDict):
    """What all calls of models for a compaction came to, whatever became of it: those of attempts that failed, were refused or
    were overtaken too. `errors`: calls that gave no answer."""
    cache_write_tokens: int
    cached_tokens: int
    """Parts of `input_tokens`: read from the provider's prompt cache, and written to it."""
    calls: int
    cost_usd: float
    errors: int
    input_tokens: int
    output_tokens: int


class Compaction(TypedDict):
    """A compaction job."""
    attempts: int
    created_at: str
    error: NotRequired[str | None]
    """What went wrong last, for people; null otherwise."""
    finished_at: NotRequired[str | None]
    id: str
    prepared: bool
    """Its summary is written and waits for the context to turn red; the status is `running` meanwhile."""
    result: NotRequired[CompactionResult | None]
    reverted_at: NotRequired[str | None]
    session_id: str
    snapshot_after: NotRequired[Snapshot | None]
    snapshot_before: NotRequired[Snapshot | None]
    spent: CompactionSpending
    """What its calls of models came to, whatever became of it."""
    started_at: NotRequired[str | None]
    status: Status
    strategy: Strategy
    trigger: Trigger


class ShownEntry(TypedDict):
    """A message of a context, told by its entry; of a compaction, its summary. Tokens are estimates."""
    elided: bool
    """It is shown shorter than it is."""
    entry_id: str
    role: NotRequired[str | None]
    tokens: int
    type: str


ChangeKind: TypeAlias = Literal["kept", "summarised", "elided", "anchored"]
"""What became of a message: it is as it was (`kept`), the same although it stands before the cut (`anchored`), shown
shorter (`elided`), or told by a summary or a chapter (`summarised`)."""


class Change(TypedDict):
    """What became of a message of the context before."""
    entry_id: str
    kind: ChangeKind
    tokens_after: int
    tokens_before: int


class ChangeCounts(TypedDict):
    """How many messages became what."""
    anchored: int
    elided: int
    kept: int
    summarised: int


class CompactionDiff(TypedDict):
    """The context before a compaction and after it, part by part: `before` and `changes` have `limit` messages each, and
    `after` has what goes with them."""
    after: list[ShownEntry]
    before: list[ShownEntry]
    changes: list[Change]
    """One for each message of `before`, in its order."""
    compaction_id: str
    counts: ChangeCounts
    entry_id: str
    """The compaction's entry; in `after`, its summary."""
    messages_after: int
    messages_before: int
    """Of all parts together."""
    next_cursor: NotRequired[str | None]
    session_id: str
    tokens_after: int
    tokens_before: int
    """The contexts as they were measured when the compaction was committed."""


class CompactionEvent(TypedDict):
    """`data` of `compaction.queued`, `.started`, `.succeeded`, `.failed`, `.skipped` and `.cancelled`."""
    session_id: str
    created_at: str
    compaction_id: str
    status: Status
    trigger: NotRequired[Trigger]
    strategy: NotRequired[Strategy]
    attempts: NotRequired[int]
    error: NotRequired[str | None]
    result: NotRequired[dict[str, Any] | None]
    """At the end, in short."""


class CompactionUpdateEvent(TypedDict):
    """`data` of `compaction_update`, with `names=acp`: the parameters of the Agent Client Protocol's `session/update`."""
    sessionId: str
    """The session's id here."""
    update: dict[str, Any]


Category: TypeAlias = Literal["system", "tools", "unposted", "summary", "chapters", "branch_summaries", "instructions", "user", "assistant", "tool_results", "other"]
"""Part of a context. `system` and `tools` travel beside the messages; `unposted` is what the provider counts besides and
the client never posts; `instructions` are system messages among them;
an answer's words, thinking and calls are `assistant`; a message that holds results alone is `tool_results`, its frame
too."""


class CategoryPart(TypedDict):
    """A category of a context."""
    category: Category
    share_pct: float
    tokens: int


class LargeEntry(TypedDict):
    """One of the largest entries of a context; of a compaction, its summary."""
    elided: bool
    """It is shown shorter than it is."""
    entry_id: str
    role: NotRequired[str | None]
    share_pct: float
    tokens: int
    tool_name: NotRequired[str | None]
    """The tool that it calls, or whose result it holds; the first of several."""
    type: str


class ToolPart(TypedDict):
    """A tool in a context: how often it is called there, and what its results take."""
    calls: int
    name: NotRequired[str | None]
    """Null: of results whose call the context does not show."""
    results: int
    share_pct: float
    tokens: int


class Composition(TypedDict):
    """The context at the leaf, taken apart. What is `source` `estimate` is counted here; with `usage` the parts are the
    estimates brought to the size that the provider told."""
    categories: list[CategoryPart]
    """Every category; together they are `tokens`."""
    elided_tokens: int
    """What tool results and arguments that are shown shorter would take besides."""
    entries: int
    """Entries shown, the summary's among them."""
    largest: list[LargeEntry]
    """The largest first."""
    leaf_id: NotRequired[str | None]
    reserve_tokens: int
    session_id: str
    source: Source
    state: FillState
    tokens: int
    tools: list[ToolPart]
    """The tools by the tokens of their results; 100 at most."""
    window: int


class Count(TypedDict):
    """`tokens` is the sum of `per_item`, the system prompt and the tools."""
    per_item: list[int]
    tokens: int


class CountTokens(TypedDict):
    estimator: NotRequired[Estimator | None]
    format: Format
    items: list[Item]
    system: NotRequired[SystemPrompt]
    """A text or a list of blocks."""
    tools: NotRequired[list[ToolDefinition] | None]
    """Tool definitions."""


OnError: TypeAlias = Literal["continue", "cancel"]
"""What becomes of the work that a hook was asked about where it gives no good answer."""


class CreateHook(TypedDict):
    enabled: NotRequired[bool | None]
    """Default true."""
    events: list[Event]
    on_error: NotRequired[OnError]
    secret: NotRequired[str | None]
    """What messages are signed with: `whsec_` and base64, or any text. One is made where none is given."""
    timeout_ms: NotRequired[int | None]
    """For one attempt."""
    url: str
    """`http` or `https`; in the public internet, unless the operator allows other addresses."""


class KeyLimits(TypedDict):
    """How much a key may be used."""
    requests_per_minute: NotRequired[int | None]
    """At each process of the service; more is 429. Null: no limit."""


Scope: TypeAlias = Literal["read", "write", "admin"]
"""What a key may do; each scope includes those before it. `read` looks at everything of the tenant, `write` changes it,
`admin` manages keys."""


class CreateKey(TypedDict):
    expires_at: NotRequired[str | None]
    """From then on it opens nothing. Default: it does not end by itself."""
    limits: NotRequired[KeyLimits | None]
    name: str
    """To tell it from others."""
    scopes: NotRequired[list[Scope] | None]
    """What it may do: `admin` includes `write`, and `write` includes `read`. Default: `write`."""


class CreateSession(TypedDict):
    external_id: NotRequired[str | None]
    """The client's own id for it; need not be unique."""
    metadata: NotRequired[dict[str, Any] | None]
    """Any object; kept as given."""
    model: NotRequired[str | None]
    """Decides the window where the settings do not."""
    settings: NotRequired[SettingsPatch | None]
    """Names and ranges as in the session's `settings`."""
    system: NotRequired[SystemPrompt]
    """A text or a list of blocks; kept as given."""
    title: NotRequired[str | None]
    tools: NotRequired[list[ToolDefinition] | None]
    """Tool definitions in the provider's format; kept as given."""


class Delivery(TypedDict):
    """One message to a hook and how it went."""
    attempts: int
    compaction_id: NotRequired[str | None]
    created_at: str
    duration_ms: NotRequired[int | None]
    error: NotRequired[str | None]
    """What was wrong with the last attempt."""
    event: str
    finished_at: NotRequired[str | None]
    id: str
    """The message's `webhook-id`."""
    next_attempt_at: NotRequired[str | None]
    """Where it is pending."""
    outcome: NotRequired[str | None]
    """What became of the answer to a question: `passed`, `replaced` (it was used), `unused`, `cancelled` or `failed`."""
    outcome_detail: NotRequired[str | None]
    """Why it was not used, all of it or a part."""
    response: NotRequired[str | None]
    """The first thousand characters of the answer."""
    response_status: NotRequired[int | None]
    session_id: str
    status: str
    """`pending`, `running`, `delivered` or `failed`."""


class EntryView(TypedDict):
    """One entry, whole."""
    created_at: str
    id: str
    item: Item
    """The item as it came."""
    label: NotRequired[str | None]
    message: NotRequired[dict[str, Any] | None]
    """The item as the service understands it (native format); null where it says nothing."""
    parent_id: NotRequired[str | None]
    role: NotRequired[str | None]
    seq: int
    source_format: Format
    source_id: NotRequired[str | None]
    tokens: int
    type: str


class EraseSessions(TypedDict):
    """Which sessions: those that are all of what is named. Nothing named is refused without `all`."""
    after: NotRequired[str | None]
    """`next_cursor` of the call before."""
    all: NotRequired[bool]
    """Every session. Not together with anything that names some."""
    created_before: NotRequired[str | None]
    dry_run: NotRequired[bool]
    """Erases nothing and counts them, also beyond `limit`."""
    external_ids: NotRequired[list[str] | None]
    """All sessions of each. Not together with `ids`."""
    ids: NotRequired[list[str] | None]
    limit: NotRequired[int | None]
    """Most sessions that this call erases."""
    metadata: NotRequired[dict[str, Any] | None]
    """Keys at the top of the metadata, each with its value: a text, a number, a boolean or null. Compared as in
    `GET /v1/sessions`: a text also with the JSON of a number, and the other way round."""
    state: NotRequired[str | None]
    """`green`, `yellow` or `red`."""
    updated_before: NotRequired[str | None]
    """Not changed since."""


class Erased(TypedDict):
    """What came of it."""
    erased: int
    """Those of them that are erased: no call finds them any more. One that no longer fitted when its turn came is not."""
    matched: int
    """Sessions that were found, the newest first."""
    more: bool
    """Not all sessions were looked at: the same call again, with `next_cursor` as `after`, goes on."""
    next_cursor: NotRequired[str | None]


class ForkSession(TypedDict):
    entry_id: NotRequired[str | None]
    """The last entry that the new session shares; the leaf when left out."""


class FormatMessagesAnswer(TypedDict):
    text: NotRequired[str]
    """Shown in place of it."""


class FormatMessagesMessage(TypedDict):
    """A model is about to be shown this text."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["format_messages"]
    timestamp: str
    session_id: str
    compaction_id: str
    part: Literal["history", "branch"]
    messages: list[NativeMessage]
    text: str


class Health(TypedDict):
    status: str
    """`ok` or `ready`."""


class Hook(TypedDict):
    """A place that is asked and told."""
    created_at: str
    enabled: bool
    events: list[Event]
    id: str
    on_error: OnError
    secret: NotRequired[str | None]
    """In the answer to the creation only."""
    timeout_ms: int
    """For one attempt, in milliseconds."""
    updated_at: str
    url: str


KeyStatus: TypeAlias = Literal["active", "rotated", "expired", "revoked"]
"""Whether a key opens anything."""


class Key(TypedDict):
    """An API key."""
    created_at: str
    expires_at: NotRequired[str | None]
    """From then on it opens nothing. Null: it does not end by itself."""
    id: str
    key: NotRequired[str | None]
    """The key itself, in the answer to its creation and to a rotation only."""
    last_used_at: NotRequired[str | None]
    """To the minute."""
    limits: KeyLimits
    name: str
    replaced_by: NotRequired[str | None]
    """The key that a rotation has put in its place."""
    revoked_at: NotRequired[str | None]
    scopes: list[Scope]
    """What it may do: `admin` includes `write`, and `write` includes `read`."""
    status: KeyStatus


class KnownCacheRates(TypedDict):
    """Prices of cached input as shares of the price of plain input."""
    read: float
    write: float


class KnownModel(TypedDict):
    """Models whose names begin alike; of several beginnings the longest counts."""
    as_of: str
    """The month in which this was collected from public documentation."""
    cache: NotRequired[KnownCacheRates | None]
    context_window: int
    """Prompt and answer together, in tokens."""
    estimator: Estimator
    """How their tokens are counted where the settings do not say."""
    max_input_tokens: int
    """The most that they take in one request, in tokens: the window, or less."""
    prefix: str
    """The beginning of their names, without what providers put before it."""


class LintItems(TypedDict):
    format: Format
    items: list[Item]


Op: TypeAlias = Literal["add", "remove", "replace"]
"""What a change does; the words are those of JSON Patch (RFC 6902)."""


class PatchStep(TypedDict):
    """One step of a patch. Applied in order to the list of items, the steps give the repaired copy."""
    index: int
    """The item as it was given, counted from 0; for `add`, the given item that it is put before."""
    op: Op
    path: str
    """JSON pointer into the list of items, as it is when this step's turn has come."""
    value: NotRequired[dict[str, Any] | None]


ViolationCode: TypeAlias = Literal["orphan_result", "duplicate_result", "call_without_result", "result_out_of_place", "results_not_first", "split_batch", "duplicate_call_id", "server_tool_unpaired", "missing_link", "reasoning_without_item", "empty_content", "empty_text", "empty_tool_calls", "invalid_media", "image_dropped", "invalid_block", "half_character", "too_many_cache_marks", "invalid_cache_mark", "cache_mark_not_allowed", "cache_mark_order", "empty_error_result", "error_result_not_text", "too_many_media", "too_many_pages", "media_too_large", "unknown_block", "block_not_allowed", "response_fields", "provider_compaction_as_text", "thinking_alone", "unsigned_thinking", "empty_signature", "invalid_signature", "reasoning_without_summary", "answer_without_id", "configuration_updates_adjacent", "unsigned_call", "thinking_not_first", "ends_with_thinking", "trailing_space_trimmed", "invalid_call_id", "invalid_tool_name", "invalid_arguments", "invalid_output", "invalid_call", "call_not_allowed", "unknown_role", "first_message_not_user", "system_in_messages", "system_misplaced", "item_id_too_long", "duplicate_item_id", "item_id_changed", "item_id_removed", "duplicate_item_dropped", "unknown_parent", "invalid_item", "not_sendable"]
"""Codes of `violations`: what is wrong with an item.
Later versions may add some: `detail` says in words what an unknown one means.

- `orphan_result`: A result with no call before it.
- `duplicate_result`: A second result of a call.
- `call_without_result`: A call that nothing answers.
- `result_out_of_place`: A result that does not stand right behind its call.
- `results_not_first`: A message with results that begins with something else.
- `split_batch`: Parallel calls, or the results of one batch, in several messages.
- `duplicate_call_id`: An id that an earlier call has.
- `server_tool_unpaired`: A tool that the provider ran, without its call or without its result.
- `missing_link`: Something that names by its id what is not there: a call without the program or the code that made it (`caller`), an output without its program, an approval or an approved call without its request, half of a tool that the provider ran.
- `reasoning_without_item`: Reasoning without what it led to.
- `empty_content`: A message without content.
- `empty_text`: A block without text.
- `empty_tool_calls`: An empty list of calls.
- `invalid_media`: An image or a document that says nowhere what it shows, or can't stand here.
- `image_dropped`: An image of a pi entry without its bytes.
- `invalid_block`: A block that can't be read.
- `half_character`: Half of a character that takes two (an escaped surrogate without the other): no strict reader takes the JSON.
- `too_many_cache_marks`: More cache marks than the four that a request may have.
- `invalid_cache_mark`: A cache mark of a kind, or of a time, that the provider does not know.
- `cache_mark_not_allowed`: A cache mark on a block that may have none.
- `cache_mark_order`: A cache mark for an hour behind one for five minutes.
- `empty_error_result`: A result that is marked as an error and says nothing.
- `error_result_not_text`: A result that is marked as an error and shows something besides text.
- `too_many_media`: More images and documents than a request may have.
- `too_many_pages`: More pages of documents than a request may have.
- `media_too_large`: An image or a document that is larger than the provider takes.
- `unknown_block`: A block of another format.
- `block_not_allowed`: A block that this speaker can't send.
- `response_fields`: Fields that only answers have.
- `provider_compaction_as_text`: Another provider's compaction in a native message that has to be written anew.
- `thinking_alone`: An answer of nothing but its thinking.
- `unsigned_thinking`: Thinking without its signature.
- `empty_signature`: A signature without a character.
- `invalid_signature`: A signature that is no base64.
- `reasoning_without_summary`: Reasoning without its summary, which is a list, and may be an empty one.
- `answer_without_id`: A list of spoken parts without the id of an item that the provider gave.
- `configuration_updates_adjacent`: A change of the configuration right behind another.
- `unsigned_call`: A call of the running turn without its thought signature, where others are signed.
- `thinking_not_first`: A turn that calls tools and does not begin with its thinking.
- `ends_with_thinking`: An answer that ends with thinking.
- `trailing_space_trimmed`: An answer at the end of the items that ends in white space.
- `invalid_call_id`: An id of a call that the provider refuses, or none.
- `invalid_tool_name`: A name of a tool that the provider refuses, or none.
- `invalid_arguments`: Arguments that are no JSON, or no object where one is due.
- `invalid_output`: An output that is neither a string nor a list of parts.
- `invalid_call`: A call that can't be read.
- `call_not_allowed`: A call by somebody else than the assistant.
- `unknown_role`: A role that the format lacks.
- `first_message_not_user`: A first message that is not the user's.
- `system_in_messages`: A system prompt among the messages, where it travels beside them.
- `system_misplaced`: A system message at a place where the provider takes none.
- `item_id_too_long`: An id of an item that is longer than the provider takes.
- `duplicate_item_id`: An id that an earlier item has.
- `item_id_changed`: The same, or an id that is none of the provider's form, seen when all items are put together; the item gets another id.
- `item_id_removed`: The same; the item goes without its id.
- `duplicate_item_dropped`: The same; the item is left out.
- `unknown_parent`: A parent that no earlier entry is.
- `invalid_item`: An item that can't be read.
- `not_sendable`: Something else that the provider would refuse."""


class Violation(TypedDict):
    """What is wrong with an item."""
    code: ViolationCode
    detail: str
    index: int
    """The item, counted from 0."""


class Linted(TypedDict):
    """What the provider of the format would refuse, and a copy that it takes."""
    diff: list[PatchStep]
    """A patch from `items` to `repaired`, to be applied in order."""
    repaired: list[Item]
    """A valid transcript in the same format."""
    valid: bool
    """Nothing is wrong, and `repaired` is equal to `items`."""
    violations: list[Violation]


class McpAnswer(TypedDict):
    """The JSON-RPC answer: `result`, or `error`. What went wrong in a tool is a `result` with `isError`."""
    jsonrpc: Literal["2.0"]
    id: NotRequired[str | int | None]
    result: NotRequired[dict[str, Any]]
    error: NotRequired[dict[str, Any]]


class McpRequest(TypedDict):
    """A JSON-RPC message of the Model Context Protocol."""
    jsonrpc: Literal["2.0"]
    id: NotRequired[str | int | None]
    method: str
    """`initialize`, `tools/list`, `tools/call`, `resources/list`, `resources/templates/list`, `resources/read`, `ping`."""
    params: NotRequired[dict[str, Any]]


class NavigateTo(TypedDict):
    instructions: NotRequired[str | None]
    """What the summary should look at."""
    replace_instructions: NotRequired[bool]
    """`instructions` stand in place of the service's own, not after them."""
    summarize: NotRequired[bool]
    """Leave a summary of the branch that is left."""
    target_id: str | None
    """The new leaf; null: before the first entry."""
    wait: NotRequired[float | None]
    """With `summarize`: seconds to wait for an upstream before the built-in summariser writes the summary."""


class BranchSummary(TypedDict):
    """The summary that a move of the leaf has left."""
    details: FileLists
    fallback: Fallback
    messages_summarized: int
    text: str
    """As the model is shown it."""
    tokens: int
    upstream: UpstreamReport


class Navigated(TypedDict):
    editor_text: NotRequired[str | None]
    """The text of the user message that was navigated onto, to be edited and sent again."""
    leaf_id: NotRequired[str | None]
    old_leaf_id: NotRequired[str | None]
    snapshot: Snapshot
    summary: NotRequired[BranchSummary | None]
    summary_entry_id: NotRequired[str | None]
    """Null where no summary was asked for, or nothing was left that one could tell."""


class CompactionPage(TypedDict):
    """One page of a list."""
    items: list[Compaction]
    next_cursor: NotRequired[str | None]


class DeliveryPage(TypedDict):
    """One page of a list."""
    items: list[Delivery]
    next_cursor: NotRequired[str | None]


class EntryViewPage(TypedDict):
    """One page of a list."""
    items: list[EntryView]
    next_cursor: NotRequired[str | None]


class HookPage(TypedDict):
    """One page of a list."""
    items: list[Hook]
    next_cursor: NotRequired[str | None]


class KeyPage(TypedDict):
    """One page of a list."""
    items: list[Key]
    next_cursor: NotRequired[str | None]


class KnownModelPage(TypedDict):
    """One page of a list."""
    items: list[KnownModel]
    next_cursor: NotRequired[str | None]


class Session(TypedDict):
    """A session as the API shows it."""
    created_at: str
    entry_count: int
    external_id: NotRequired[str | None]
    id: str
    leaf_id: NotRequired[str | None]
    metadata: dict[str, Any]
    model: NotRequired[str | None]
    parent_session_id: NotRequired[str | None]
    settings: Settings
    settings_own: SettingsPatch
    """Those that the session has set itself."""
    snapshot: Snapshot
    system: NotRequired[Any]
    title: NotRequired[str | None]
    tools: NotRequired[list[dict[str, Any]] | None]
    updated_at: str


class SessionPage(TypedDict):
    """One page of a list."""
    items: list[Session]
    next_cursor: NotRequired[str | None]


CallKind: TypeAlias = Literal["function", "custom", "server"]
"""How a call is carried out, which decides how it is paired and where it may be replayed."""


CallEnd: TypeAlias = Literal["returned", "failed", "refused", "open"]
"""What is known of a call's end. That it worked is never known."""


class ToolCallRow(TypedDict):
    """One call of the ledger. `status` says what the protocol shows of its end: `returned`, `failed` (an error flag, an exit
    code, a status field or a status of HTTP says so), `refused` (it was not let run), `open` (no result yet). That a call
    worked is never known; its result says more. `kind` is `server` where the provider ran it."""
    arguments: Any
    elided: bool
    """The result is shown elided in the context at this leaf, or not shown at all; or the arguments are shown
    shortened. They are whole here."""
    entry_id: str
    kind: CallKind
    name: str
    result_entry_id: NotRequired[str | None]
    status: CallEnd
    tool_call_id: str


class ToolCallRowPage(TypedDict):
    """One page of a list."""
    items: list[ToolCallRow]
    next_cursor: NotRequired[str | None]


BreakerState: TypeAlias = Literal["closed", "open"]


class Breaker(TypedDict):
    """Whether an upstream is called or left alone after many failures: `open` where any process of the service leaves it
    alone."""
    retry_after_ms: NotRequired[int | None]
    """Until all of them try it again; null where none leaves it alone."""
    state: BreakerState


class UpstreamLimits(TypedDict):
    """Limits of the calls of one process."""
    max_calls: int
    """For one summary."""
    max_concurrency: int
    """Calls at a time."""
    max_output_tokens: NotRequired[int | None]
    """Of one answer, in tokens."""
    max_retries: int
    """Attempts after the first."""
    requests_per_minute: NotRequired[int | None]
    """Attempts that may start within any minute."""
    timeout_ms: int
    """For one attempt, in milliseconds."""


class UpstreamPrices(TypedDict):
    """US dollars per million tokens."""
    cache_write_per_mtok: NotRequired[float | None]
    """Of input written to it; null: by the model's name."""
    cached_per_mtok: NotRequired[float | None]
    """Of input read from the prompt cache; null: as other input."""
    input_per_mtok: float
    output_per_mtok: float


class UpstreamInfo(TypedDict):
    """A model that may be asked for summaries. No key, no header and no path of its address is told."""
    breaker: Breaker
    context_window: NotRequired[int | None]
    """In tokens; null for the builtin, which has no bound."""
    fallbacks: list[str]
    """Upstreams that are asked in this order where this one gives no summary."""
    host: NotRequired[str | None]
    """Where it is, with the port where that is not the usual one; null for the builtin."""
    is_default: bool
    """Asked by sessions that name none."""
    kind: str
    """`builtin`, `openai`, `openai_responses` or `anthropic`."""
    limits: UpstreamLimits
    model: NotRequired[str | None]
    name: str
    """What the setting `upstream` names."""
    prices: NotRequired[UpstreamPrices | None]


class UpstreamInfoPage(TypedDict):
    """One page of a list."""
    items: list[UpstreamInfo]
    next_cursor: NotRequired[str | None]


class PrepareCompaction(TypedDict):
    include_messages: NotRequired[bool]
    """List messages, not only their entry ids."""
    leaf_id: NotRequired[str | None]
    """Another leaf than the session's."""
    settings: NotRequired[SettingsPatch | None]
    """Settings for this call only."""


class Prepared(TypedDict):
    enabled: bool
    """Whether the session compacts by itself; a call compacts in any case."""
    possible: bool
    preparation: NotRequired[Preparation | None]
    reason: NotRequired[Reason | None]


ProblemCode: TypeAlias = Literal["malformed_json", "invalid_utf8", "body_unreadable", "handle_refused", "unauthorized", "insufficient_scope", "host_not_allowed", "origin_not_allowed", "not_found", "method_not_allowed", "not_acceptable", "mcp_version_unknown", "body_timeout", "leaf_moved", "idempotency_in_progress", "in_progress", "not_revertible", "already_reverted", "not_newest", "summary_failed", "cancelled_by_hook", "navigation_superseded", "too_many_hooks", "not_redeliverable", "nothing_changed", "not_retryable", "too_many_keys", "key_not_active", "payload_too_large", "unsupported_media_type", "validation_failed", "too_deep", "too_many_items", "context_does_not_fit", "idempotency_key_reused", "queue_full", "rate_limited", "too_many_streams", "internal_error", "outcome_unknown", "unavailable", "starting_or_draining", "schema_outdated", "read_only", "storage_full", "timeout", "too_many_bytes", "too_many_connections", "shutting_down"]
"""Codes of error answers: stable words to program against.
Later versions may add some: `detail` says in words what an unknown one means.

- `malformed_json`: 400. The body is not JSON; `line` and `column` say where.
- `invalid_utf8`: 400. The body is not UTF-8; `offset` says where.
- `body_unreadable`: 400. The body ended before its time.
- `handle_refused`: 400. A sealed handle does not open: it was forged, cut off, or sealed for another tenant or with an unknown key; `errors` has a pointer to each.
- `unauthorized`: 401. No key, or one that is not known, is over or was revoked.
- `insufficient_scope`: 403. The key has neither the scope in `needed_scope` nor one that includes it.
- `host_not_allowed`: 403. With `--dev`: the Host is not this machine.
- `origin_not_allowed`: 403. With `--dev`: another site's page asks.
- `not_found`: 404. There is no such thing, or it belongs to somebody else.
- `method_not_allowed`: 405. The path does not take this method; `Allow` lists those that it takes.
- `not_acceptable`: 406. `Accept` lacks a type that the answer may have.
- `mcp_version_unknown`: 400. `MCP-Protocol-Version` names no version that is spoken here.
- `body_timeout`: 408. The body did not come in time.
- `leaf_moved`: 409. The leaf is another one; `leaf_id` names it.
- `idempotency_in_progress`: 409. An equal request is at work right now; `Retry-After` says when to ask again.
- `in_progress`: 409. A compaction was just ending; try again.
- `not_revertible`: 409. The compaction has changed nothing that could be taken back.
- `already_reverted`: 409. It was taken back before.
- `not_newest`: 409. A newer compaction stands on it.
- `summary_failed`: 409. There is no summary, and the settings allow no stand-in.
- `cancelled_by_hook`: 409. A hook is against it; `detail` has its reason.
- `navigation_superseded`: 409. A newer navigation with a summary came in between.
- `too_many_hooks`: 409. There are as many hooks as there may be.
- `not_redeliverable`: 409. The delivery is on its way, or was too large to be kept.
- `nothing_changed`: 409. The compaction has not changed a context: it has not ended, was skipped, cancelled or has failed.
- `not_retryable`: 409. The compaction has not failed, or its session has another one at work.
- `too_many_keys`: 409. There are as many keys as there may be.
- `key_not_active`: 409. The key was revoked, has expired or was rotated before.
- `payload_too_large`: 413. The body is larger than `limit` bytes.
- `unsupported_media_type`: 415. The body is not sent as `application/json`.
- `validation_failed`: 422. The request is not valid; `errors` has a pointer to each fault.
- `too_deep`: 422. The body nests deeper than `limit`.
- `too_many_items`: 422. More items than `limit`.
- `context_does_not_fit`: 422. What must be kept takes `tokens_needed`, more than `max_tokens`.
- `idempotency_key_reused`: 422. The key was used for another request.
- `queue_full`: 429. Too many jobs wait already; see `Retry-After`.
- `rate_limited`: 429. The key has made as many requests as it may within a minute, which are `limit`; see `Retry-After`.
- `too_many_streams`: 429. As many streams are open as may be; see `Retry-After`.
- `internal_error`: 500. A fault of ours; the log has it under this `request_id`.
- `outcome_unknown`: 503. The database went away in the middle of the write, which may have landed or not. Sent again with the same `Idempotency-Key` it acts once.
- `unavailable`: 503. The database can't be reached; see `Retry-After`.
- `starting_or_draining`: 503. The process is starting or shutting down.
- `schema_outdated`: 503. The database schema is older than this version.
- `read_only`: 503. The database takes no changes right now; see `Retry-After`.
- `storage_full`: 503. The database has no room left.
- `timeout`: 503. It took too long and was given up; a change may have been made all the same.
- `too_many_bytes`: 503. Too many bytes of bodies or answers are held already; see `Retry-After`.
- `too_many_connections`: 503. Too many connections are open; see `Retry-After`.
- `shutting_down`: 503. The process is shutting down."""


class InvalidField(TypedDict):
    """One part of a request that does not validate."""
    detail: str
    pointer: str
    """JSON pointer into the body; for a query parameter `/query/{name}`, for a header `/headers/{name}`."""


class Problem(TypedDict):
    """The body of an error answer (RFC 9457). Some codes add figures as members of their own."""
    code: ProblemCode
    detail: str
    """What is wrong with this request."""
    errors: NotRequired[list[InvalidField]]
    """Where the request does not validate."""
    request_id: NotRequired[str | None]
    """The same id as in the `x-request-id` header and in the log."""
    status: int
    """The HTTP status."""
    title: str
    """The code in words."""
    type: str
    """A URN that ends in `code`."""


class PruneToolResultsAnswer(TypedDict):
    results: NotRequired[list[dict[str, Any]]]
    """Shorter ones; results that are left out are pruned as ever."""


class PruneToolResultsMessage(TypedDict):
    """Tool results that pruning may shorten."""
    id: str
    """The same for all attempts, and in the header `webhook-id`."""
    event: Literal["prune_tool_results"]
    timestamp: str
    session_id: str
    compaction_id: str
    results: list[dict[str, Any]]


class PurgeCompactions(TypedDict):
    before: NotRequired[str | None]
    """Those that failed before this time."""
    session_id: NotRequired[str | None]
    """Those of one session."""


class Purged(TypedDict):
    """How many failed compactions were forgotten, and whether another call would find more."""
    more: bool
    purged: int


class Put(TypedDict):
    """What posting a transcript did."""
    appended: int
    """Entries that were stored now."""
    compaction: NotRequired[CompactionRef | None]
    entries: list[AppendedEntry]
    """The entries stored now, in the order of the posted items."""
    forked: bool
    """The posted history departs from the stored one, or ends before it: the leaf went to another branch or back."""
    leaf_id: NotRequired[str | None]
    matched: int
    """Posted items that were not: stored already, or this service's own words. `matched + appended` are all posted."""
    snapshot: Snapshot
    warnings: list[Warning]


class PutAnswer(Put):
    """What was new, with the context if it was asked for."""
    context: NotRequired[Context | None]


class ReadyEvent(TypedDict):
    """`data` of `ready`: the beginning of a tenant's stream."""


ItemIds: TypeAlias = Literal["sendable", "given"]
"""The ids of items in a context. `sendable`: as the provider takes them; one that is not of its form is left out.
`given`: as they came, for a client that knows its items by them."""


class RebuildContext(TypedDict):
    format: Format
    item_ids: NotRequired[ItemIds | None]
    leaf_id: NotRequired[str | None]
    """Another leaf than the session's."""
    max_tokens: NotRequired[int | None]
    """422 `context_does_not_fit` where what must be kept is larger."""


class ToolCallDetail(TypedDict):
    """A call with its whole original result. What was stored as the echo of a placeholder is answered with what that stands for."""
    arguments: Any
    elided: bool
    entry_id: str
    kind: CallKind
    name: str
    original_entry_id: NotRequired[str | None]
    """Where the original was found, when not in `result_entry_id`."""
    original_missing: bool
    """Only a placeholder was ever stored, so there is no original to answer with."""
    result: NotRequired[list[dict[str, Any]] | None]
    """The result's content blocks in the native format; null while the call is open."""
    result_entry_id: NotRequired[str | None]
    result_text: NotRequired[str | None]
    """The text of the result; null while the call is open."""
    status: CallEnd
    tool_call_id: str


class UserMessageDetail(TypedDict):
    """A message of the user's own, by its number in a record: `u12` is the twelfth on the path. For a key that may only read,
    secrets are replaced as in the record."""
    content: list[dict[str, Any]]
    """The message's content blocks in the native format."""
    elided: bool
    """The context at this leaf does not show it."""
    entry_id: str
    number: str
    text: str
    """The text of the message."""


RecalledItem: TypeAlias = ToolCallDetail | UserMessageDetail
"""What an id of a call or a number of a record leads to."""


class RefusedText(TypedDict):
    """The newest text of a model that was refused as a compaction's summary."""
    compaction_id: str
    expires_at: str
    """From then on it can't be read any more."""
    model: str
    reason: str
    """Why: a word of `docs/CODES.md`, under "Refused summaries"."""
    refused_at: str
    session_id: str
    text: str
    """As the model wrote it, 64 KiB at most."""
    truncated: bool
    """There was more of it."""
    upstream: str


class ResetEvent(TypedDict):
    """`data` of `reset`: the stream goes on from now."""
    reason: Literal["expired", "unknown"]
    """`expired`: what followed `Last-Event-ID` is no longer kept; `unknown`: the id was never given."""
    session_id: NotRequired[str | None]
    snapshot: NotRequired[Snapshot | None]


class RotateKey(TypedDict):
    grace_seconds: NotRequired[int | None]
    """How long the old key goes on; 0 ends it at once."""


class SearchHit(TypedDict):
    """An entry that was found."""
    entry_id: str
    rank: float
    """0-1; above 0.5 where every word of the query is a whole word of the entry. A summary's is half of that: what it
    tells of comes first."""
    role: NotRequired[str | None]
    seq: int
    snippet: str
    """The text around the best match, on one line; matches stand between `<mark>` and `</mark>`. Plain text, not HTML:
    nothing in it is escaped."""
    type: str


class SessionHit(SearchHit):
    """An entry that has every word of the query, and the session that shows it."""
    session_external_id: NotRequired[str | None]
    session_id: str
    session_title: NotRequired[str | None]


class SearchAllPage(TypedDict):
    """What was found, the newest session first, and in each the newest entry."""
    complete: bool
    """Nothing is left to look at. Where it is false, `next_cursor` goes on, also after an answer without items."""
    items: list[SessionHit]
    next_cursor: NotRequired[str | None]
    searched_entries: int
    searched_sessions: int
    """Sessions that this answer looked into, the first and the last perhaps in part."""


Matched: TypeAlias = Literal["all", "any"]


class SearchPage(TypedDict):
    """What was found, best first; of equals the newest first."""
    items: list[SearchHit]
    matched: Matched
    """`all`: these entries have every word of the query. `any`: no entry has every word, these have some."""
    next_cursor: NotRequired[str | None]


class SessionFiles(TypedDict):
    """The files that a session's calls read, changed and deleted, and what other tools named; each path once, sorted by UTF-16
    code units."""
    deleted_files: list[str]
    """Deleted or moved away, and not written since."""
    modified_files: list[str]
    other_paths: list[str]
    """Paths in calls of tools that are not known to read or change files: folders that were listed, files that a tool of
    one's own may have written."""
    read_files: list[str]


class SetLabel(TypedDict):
    label: str | None
    """Null clears."""


class SnapshotEvent(Snapshot):
    """`data` of `snapshot`: a snapshot, and of which moment. `phase` is `before` or `after` the compaction of this id; null: how it is now."""
    session_id: str
    created_at: str
    phase: Literal["before", "after", None]
    compaction_id: str | None


class CompactionCounts(TypedDict):
    """Compactions that ended. `by_reason`: those that were skipped, by their `skip_reason`. `prepared` are none of them: written
    by now, they wait for their context to turn red."""
    by_reason: dict[str, int]
    by_status: dict[str, int]
    by_strategy: dict[str, int]
    prepared: int


class QueueStats(TypedDict):
    """The tenant's jobs. `dead`: those out of attempts, whose compactions failed; `oldest_age_seconds`: how long the oldest due
    one has waited."""
    dead: int
    oldest_age_seconds: float
    pending: int
    running: int


class Savings(TypedDict):
    """What compactions brought. `net_tokens` is without the tokens that models took and wrote. `cost_usd` is what calls of models
    cost, `cache_cost_usd` what the sessions' prompt caches lost. `net_usd` is what was saved by calls between two compactions
    of a session less both; null where no price of a session's model is known."""
    cache_cost_usd: float
    cost_usd: float
    gross_tokens: int
    net_tokens: int
    net_usd: NotRequired[float | None]


class StatsBucket(TypedDict):
    """Compactions that ended within `bucket_seconds` from `at` on, and what the calls of models that ended then cost."""
    at: str
    cache_cost_usd: float
    cancelled: int
    cost_usd: float
    failed: int
    skipped: int
    succeeded: int
    tokens_shed: int


class SessionCounts(TypedDict):
    """Sessions by the state of their context. `guard_tripped`: those of them whose anti-thrash guard held compactions back
    when they last changed."""
    green: int
    guard_tripped: int
    red: int
    yellow: int


class UpstreamStats(TypedDict):
    """A model that was called. `calls`: requests that were sent, `errors` those of them that gave no answer. The times are those
    of one call."""
    cache_write_tokens: int
    cached_tokens: int
    calls: int
    cost_usd: float
    errors: int
    input_tokens: int
    model: NotRequired[str | None]
    name: str
    output_tokens: int
    p50_ms: NotRequired[float | None]
    p95_ms: NotRequired[float | None]


class Stats(TypedDict):
    """A tenant at a glance: its sessions, its queue as it is, and the newest 100,000 compactions that ended since a time. Up
    to 50,000 sessions are counted for this answer, more of them in the background (`census_at`). `upstreams` and costs are of
    all calls of models that ended since, whatever became of their compactions; those of erased sessions are known by the day
    (UTC) alone, and count from that day's begin."""
    bucket_seconds: int
    capped: bool
    """There are more compactions than were looked at, or more sessions, which nobody has counted yet."""
    census_at: str
    """When the sessions were counted: with this answer, or in the background."""
    compactions: CompactionCounts
    queue: QueueStats
    savings: Savings
    series: list[StatsBucket]
    """Oldest first, also those in which nothing happened."""
    sessions: SessionCounts
    since: str
    tokens_held: int
    """By the contexts of these sessions."""
    tokens_shed: int
    """By compactions that succeeded and were not taken back."""
    until: str
    upstreams: list[UpstreamStats]


class CitedCall(TypedDict):
    """A call that a statement cites, the `number`-th of the path. The entry is null where the call is not there, or stands so
    far back that it was not read again."""
    entry_id: NotRequired[str | None]
    number: int
    tool_call_id: NotRequired[str | None]


class CitedMessage(TypedDict):
    """A message that a statement cites, the `number`-th of the user's own on the path."""
    entry_id: NotRequired[str | None]
    number: int


EvidenceStatus: TypeAlias = Literal["cited", "inferred", "open", "elsewhere", "uncited", "unknown_number", "failed", "unrelated", "other_number"]
"""What became of a statement's citations."""


class StatementEvidence(TypedDict):
    """One statement of a summary, what became of its citations, and the entries that they lead to. A long one is cut."""
    calls: list[CitedCall]
    messages: list[CitedMessage]
    status: EvidenceStatus
    text: str


class SummaryEvidence(TypedDict):
    """The evidence of one summary: its counts, and its statements, of a very long one the first."""
    counts: EvidenceCounts
    statements: list[StatementEvidence]


TimelineEventKind: TypeAlias = Literal["compaction", "overflow", "chapter", "branch"]
"""What happened: a compaction however it ended (`overflow`: one that a provider's refusal started), a chapter that was
closed, the first entry of a further branch."""


class TimelineEvent(TypedDict):
    """Something that happened to the session. What is not of a compaction has its fields null."""
    at: str
    compaction_id: NotRequired[str | None]
    entry_id: NotRequired[str | None]
    """The entry that it left; of a branch, its first one."""
    kind: TimelineEventKind
    status: NotRequired[Status | None]
    tokens_after: NotRequired[int | None]
    tokens_before: NotRequired[int | None]
    trigger: NotRequired[Trigger | None]


class TimelinePoint(TypedDict):
    """The context at an entry, itself included. `state` is judged by the session's settings as they are now, and system
    prompt and tools count as they are now."""
    at: str
    breakdown: Breakdown
    entry_id: str
    source: Source
    """Whether `tokens` rests on what a provider reported."""
    state: FillState
    tokens: int
    without_contextd: int
    """The size if nothing had ever been compacted. Along the path it never falls."""


class Timeline(TypedDict):
    """A session's path as a line: its size at the agent's answers and at compactions, oldest first, and what happened."""
    events: list[TimelineEvent]
    """By time; the newest 500."""
    leaf_id: NotRequired[str | None]
    path_length: int
    """Entries on the path."""
    points: list[TimelinePoint]
    reserve_tokens: int
    session_id: str
    window: int


class TreeNode(TypedDict):
    id: str
    label: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    role: NotRequired[str | None]
    tokens: int
    type: str


class Tree(TypedDict):
    leaf_id: NotRequired[str | None]
    nodes: list[TreeNode]


class UpdateHook(TypedDict):
    enabled: NotRequired[bool | None]
    events: NotRequired[list[Event] | None]
    on_error: NotRequired[OnError | None]
    secret: NotRequired[str | None]
    """A new secret, from the next message on."""
    timeout_ms: NotRequired[int | None]
    url: NotRequired[str | None]


class UpdateSession(TypedDict):
    """A merge patch: what is left out stays, null clears."""
    metadata: NotRequired[dict[str, Any] | None]
    """Merged key by key; a null value removes its key."""
    model: NotRequired[str | None]
    settings: NotRequired[SettingsPatch | None]
    """Merged key by key; null returns a setting to its default. They act on the next check."""
    system: NotRequired[SystemPrompt]
    title: NotRequired[str | None]
    tools: NotRequired[list[ToolDefinition] | None]


class UsageUpdateEvent(TypedDict):
    """`data` of `usage_update`, with `names=acp`: the parameters of the Agent Client Protocol's `session/update`."""
    sessionId: str
    """The session's id here."""
    update: dict[str, Any]


class FolderEntry(TypedDict):
    kind: str
    """`folder` or `file`."""
    name: str
    size: NotRequired[int | None]
    """Bytes of a file; null for a folder."""


class VfsFolder(TypedDict):
    """A folder of the chapters. A file is answered as `text/markdown`."""
    entries: list[FolderEntry]
    path: str


class WholeTranscript(TypedDict):
    format: Format
    items: list[Item]
    """The raw history, or the last rebuilt context, with new messages behind it."""
    return_context: NotRequired[Format | None]
    system: NotRequired[SystemPrompt]
    """The system prompt; unchanged when left out, cleared by null."""
    tools: NotRequired[list[ToolDefinition] | None]
    """Tool definitions; unchanged when left out, cleared by null."""
    usage: NotRequired[dict[str, Any] | None]
    """The provider's own usage object for the newest answer."""


class ChapterInput(TypedDict):
    """Task numbers are those of the index and of the context, inclusive."""
    end: int
    message: str
    """What stands in the context in place of the tasks."""
    name: str
    start: int


class WriteChapters(TypedDict):
    chapters: list[ChapterInput]
    """An empty list closes nothing and is respected until the context has grown."""
