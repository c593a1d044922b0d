//! A compaction as it stands in the tree, and what its job reports.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::chapter::Fold;
use super::guard::AntiThrash;
use super::hook::HookReport;
use super::identifiers::Wanted;
use super::ledger::Ledger;
use super::settings::Strategy;

/// The item of a `compaction` entry: it says the whole view before it. Older compactions no longer matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct CompactionRecord {
    /// Entries before the cut that stay verbatim, in path order.
    pub anchors: Vec<Uuid>,
    /// The full text of the summary message: framing, summary, identifiers, file lists, tool ledger.
    /// `None` for a compaction that only elides.
    pub summary: Option<String>,
    /// The model's part of `summary` alone: what an iterative update starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_body: Option<String>,
    /// The first entry kept after the summary. Equal to the compaction's own id: nothing before it is kept.
    /// Ids of imported pi compactions are source ids, resolved on the path.
    pub first_kept_entry_id: String,
    pub elisions: Vec<Elision>,
    pub tokens_before: u64,
    #[serde(default)]
    pub tokens_after: u64,
    /// Tokens of the summary message alone.
    #[serde(default)]
    pub summary_tokens: u32,
    /// Set on an entry that takes a compaction back: the view is again what it was before that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<Uuid>,
    #[serde(default)]
    pub strategy: Option<Strategy>,
    #[serde(default)]
    pub details: FileLists,
    /// The summary came from a hook or a caller, so its file lists are not passed on.
    #[serde(default)]
    pub from_hook: bool,
    /// Identifiers carried from summary to summary (newest compaction's own list is the whole).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<Wanted>,
    /// The chapters of the path that are nested in no other, in path order; also those that a summary stands for by now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chapters: Vec<Fold>,
    /// It only closed chapters: all else is as it was, and may still be compacted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes: bool,
    /// The tool ledger, cumulative over earlier compactions on the path.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// One tool result, or the arguments of one call, shown shorter than they are. The original stays in its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Elision {
    pub entry_id: Uuid,
    pub tool_call_id: String,
    pub kind: ElisionKind,
    /// What of the call is shown shorter. The entry is the one that holds it.
    #[serde(default, skip_serializing_if = "ElidedPart::is_result")]
    pub part: ElidedPart,
    pub tokens_before: u32,
    pub tokens_after: u32,
    /// `duplicate`: the call whose result says the same. `truncate`: how many characters of head and tail stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_chars: Option<(u32, u32)>,
    /// `replace`: what a hook shows in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElisionKind {
    Mask,
    Truncate,
    Duplicate,
    Drop,
    Replace,
}

/// The half of a call that an [`Elision`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElidedPart {
    #[default]
    Result,
    Arguments,
}

impl ElidedPart {
    fn is_result(&self) -> bool {
        *self == ElidedPart::Result
    }
}

impl Elision {
    /// Tokens that the context is smaller by.
    pub fn freed(&self) -> i64 {
        i64::from(self.tokens_before) - i64::from(self.tokens_after)
    }
}

/// Files that the summarised calls read and changed, sorted by UTF-16 code units; disjoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default, ToSchema)]
pub struct FileLists {
    #[serde(default)]
    pub read_files: Vec<String>,
    #[serde(default)]
    pub modified_files: Vec<String>,
}

/// Why nothing was done. The same words for `prepare` and for a skipped compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    EmptySession,
    AlreadyCompacted,
    NothingToCompact,
    NoValidCutPoint,
    Disabled,
    AntiThrash,
    InProgress,
    BelowThreshold,
    LowSavings,
    CancelledByHook,
    WouldGrow,
    Superseded,
    FixedOverhead,
    StaleUsage,
}

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillState {
    Green,
    Yellow,
    Red,
}

/// What a compaction did: stored with its job, shown by the API. Tokens are integers, percentages 0-100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompactionResult {
    pub entry_id: Option<Uuid>,
    pub strategy_used: Strategy,
    pub strategy_requested: Strategy,
    pub summary: Option<String>,
    pub first_kept_entry_id: Option<String>,
    pub is_split_turn: bool,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub tokens_saved: u64,
    pub savings_pct: f64,
    pub messages_summarized: u32,
    pub messages_kept: u32,
    pub messages_removed: u32,
    pub masking_tokens_freed: u64,
    pub tool_results_masked: u32,
    pub tool_results_pruned: u32,
    pub previous_summary_reused: bool,
    pub was_skipped_due_to_low_savings: bool,
    pub skip_reason: Option<Reason>,
    pub fallback: Fallback,
    pub details: FileLists,
    pub identifiers: IdentifierReport,
    pub final_state: FillState,
    pub anti_thrash: AntiThrash,
    pub upstream: UpstreamReport,
    pub net: NetReport,
    /// The hooks that were asked, in order.
    #[serde(default)]
    pub hooks: Vec<HookReport>,
    /// The size that `truncate`, `sliding` or `smart` shrank to, and whether `tokens_after` is within it: what has to stay
    /// may be more. `null` for other strategies.
    #[serde(default)]
    pub target_tokens: Option<u64>,
    #[serde(default)]
    pub target_reached: Option<bool>,
    pub duration_ms: u64,
}

/// Whether another upstream or the built-in summariser stood in, for which upstream and why that one failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct Fallback {
    pub used: bool,
    pub from: Option<String>,
    pub reason: Option<String>,
}

/// Identifiers that the summary should keep, of the summarised span and of earlier ones: how many there are, how many
/// the summary's body kept by itself, how many code put back around it. `recall` (0-1) is measured before restoring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IdentifierReport {
    pub found: u32,
    pub kept: u32,
    pub restored: u32,
    pub recall: f64,
}

/// Who wrote the summary and what it cost: the figures are of all calls, also of failed and refused ones and of upstreams
/// that were asked in vain. All zero and `name` null where no upstream was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct UpstreamReport {
    pub name: Option<String>,
    pub model: Option<String>,
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub cost_usd: f64,
    pub latency_ms: u64,
    /// The session's own context was sent, for the provider's prompt cache.
    #[serde(default)]
    pub prefix_reused: bool,
}

/// What the compaction is worth: tokens no longer sent each turn against the summary's cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct NetReport {
    pub tokens_shed_per_turn: u64,
    pub summary_cost_usd: f64,
    /// Turns after which the summary has paid for itself at the session model's input price, 0 where it cost nothing;
    /// `null` without prices or savings.
    pub break_even_turns: Option<f64>,
}

impl Default for IdentifierReport {
    fn default() -> Self {
        IdentifierReport { found: 0, kept: 0, restored: 0, recall: 1.0 }
    }
}
