//! Results of compactions, as they are reported.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::hook::HookReport;
use crate::model::anti_thrash::AntiThrash;
use crate::model::compaction::FileLists;
use crate::model::strategy::Strategy;
use crate::record::evidence::EvidenceCounts;
use crate::summary::identifiers::IdentifierReport;
use crate::tokens::accounting::FillState;
use crate::tokens::prices::NetReport;

/// Why nothing was done. The same words for `prepare` and for a skipped compaction.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
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
    /// How many statements the notes make, and how many of them the conversation shows. `null` of a record, which quotes.
    #[serde(default)]
    pub evidence: Option<EvidenceCounts>,
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
    /// Calls of the model since the compaction before, or from the beginning.
    #[serde(default)]
    pub calls_before: u64,
    pub duration_ms: u64,
}

/// Whether another upstream or the built-in summariser stood in, for which upstream and why that one failed. `from` is
/// null where `llm_summarize` found no model to ask. `docs/CODES.md` lists the words of `reason`, under "Why another
/// wrote the summary" and, for an answer that was refused, under "Refused summaries".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct Fallback {
    pub used: bool,
    pub from: Option<String>,
    pub reason: Option<String>,
}

/// What all calls of models for a compaction came to, whatever became of it: those of attempts that failed, were refused or
/// were overtaken too. `errors`: calls that gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct CompactionSpending {
    pub calls: u32,
    pub errors: u32,
    pub input_tokens: u64,
    /// Parts of `input_tokens`: read from the provider's prompt cache, and written to it.
    pub cached_tokens: u64,
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: f64,
}

/// The name of the built-in summariser.
pub const BUILTIN: &str = "builtin";

/// Who wrote the summary (`builtin`: the built-in summariser) and what it cost: the figures are of all calls, also of
/// failed and refused ones and of upstreams that were asked in vain. `name` is null where nobody was asked: there is no
/// summary, or a caller or a hook gave it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct UpstreamReport {
    pub name: Option<String>,
    pub model: Option<String>,
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    #[serde(default)]
    pub cache_write_tokens: u64,
    pub cost_usd: f64,
    pub latency_ms: u64,
    /// The session's own context was sent, for the provider's prompt cache.
    #[serde(default)]
    pub prefix_reused: bool,
}

impl UpstreamReport {
    /// Takes what all calls of the compaction came to: those of attempts and plans before this one too.
    pub fn charge(&mut self, spent: &CompactionSpending) {
        self.calls = spent.calls;
        self.input_tokens = spent.input_tokens;
        self.output_tokens = spent.output_tokens;
        self.cached_tokens = spent.cached_tokens;
        self.cache_write_tokens = spent.cache_write_tokens;
        self.cost_usd = spent.cost_usd;
    }

    /// The same figures of a compaction of before there was an account of calls.
    pub fn spending(&self) -> CompactionSpending {
        CompactionSpending {
            calls: self.calls,
            errors: 0,
            input_tokens: self.input_tokens,
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
            cost_usd: self.cost_usd,
        }
    }

    /// The built-in summariser wrote it.
    pub fn builtin() -> UpstreamReport {
        UpstreamReport { name: Some(BUILTIN.to_owned()), ..UpstreamReport::default() }
    }
}
