//! Report of a compaction: its result and its metrics.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::domain::compaction::guard::savings_pct;
use crate::domain::compaction::result::{CompactionResult, Fallback, Reason, UpstreamReport};
use crate::domain::compaction::strategy::{aim, counts};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::strategy::Strategy;
use crate::domain::summary::identifiers::IdentifierReport;
use crate::domain::tokens::accounting::Snapshot;
use crate::domain::tokens::prices::NetReport;
use crate::families;
use crate::service::compaction::commit::draft::SummaryDraft;
use crate::service::compaction::job::{Status, Trigger};
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::store::compactions::CompactionRow;

/// The numbers of a result that depend on how the compaction ended.
pub(crate) struct Measured {
    pub entry_id: Option<Uuid>,
    pub before: u64,
    pub snapshot: Snapshot,
    pub kept: u64,
    pub reason: Option<Reason>,
    pub duration_ms: u64,
}

pub(crate) fn elapsed(compaction: &CompactionRow, now: DateTime<Utc>) -> u64 {
    let from = compaction.started_at.unwrap_or(compaction.created_at);
    u64::try_from((now - from).num_milliseconds()).unwrap_or(0)
}

/// A result that says only how the context stands.
pub(crate) fn blank(requested: Strategy, measured: Measured) -> CompactionResult {
    let held = measured.reason == Some(Reason::AntiThrash);
    let after = measured.snapshot.tokens;
    CompactionResult {
        entry_id: measured.entry_id,
        strategy_used: requested,
        strategy_requested: requested,
        summary: None,
        first_kept_entry_id: None,
        is_split_turn: false,
        tokens_before: measured.before,
        tokens_after: after,
        tokens_saved: measured.before.saturating_sub(after),
        savings_pct: savings_pct(measured.before, after),
        messages_summarized: 0,
        messages_kept: u32::try_from(measured.kept).unwrap_or(u32::MAX),
        messages_removed: 0,
        masking_tokens_freed: 0,
        tool_results_masked: 0,
        tool_results_pruned: 0,
        previous_summary_reused: false,
        was_skipped_due_to_low_savings: held,
        skip_reason: measured.reason,
        fallback: Fallback::default(),
        details: FileLists::default(),
        identifiers: IdentifierReport::default(),
        evidence: None,
        final_state: measured.snapshot.state,
        anti_thrash: measured.snapshot.anti_thrash,
        upstream: UpstreamReport::default(),
        net: NetReport::default(),
        hooks: Vec::new(),
        target_tokens: None,
        target_reached: None,
        calls_before: 0,
        duration_ms: measured.duration_ms,
    }
}

pub(crate) fn result(
    work: &CompactionWork,
    outcome: &SummaryOutcome,
    draft: &SummaryDraft,
    measured: Measured,
    net: NetReport,
) -> CompactionResult {
    let outline = &work.outline;
    let blank = blank(work.requested, measured);
    let strategy_used = match work.strategy {
        _ if outline.elides_only => work.strategy,
        _ if outcome.builtin => Strategy::Summarize,
        other => other,
    };
    let target =
        (counts(work.strategy) && !outline.elides_only).then(|| aim(&work.settings, work.trigger != Trigger::Manual));
    CompactionResult {
        strategy_used,
        summary: draft.record.summary.clone(),
        first_kept_entry_id: Some(outline.first_kept.id.to_string()),
        is_split_turn: outline.is_split_turn,
        messages_summarized: outline.summarized,
        messages_removed: outline.summarized,
        masking_tokens_freed: outline.mask_freed,
        tool_results_masked: outline.masked,
        tool_results_pruned: outline.pruned,
        previous_summary_reused: outline.previous.as_ref().is_some_and(|record| record.summary.is_some())
            && (outline.elides_only || outline.notice.is_some() || work.settings.iterative),
        fallback: outcome.fallback.clone(),
        details: outline.files.clone(),
        identifiers: draft.identifiers.clone(),
        evidence: draft.evidence.as_ref().map(|evidence| evidence.counts),
        upstream: outcome.upstream.clone(),
        hooks: outcome.hooks.clone(),
        net,
        target_tokens: target,
        target_reached: target.map(|target| blank.tokens_after <= target),
        ..blank
    }
}

/// Notes in the result the upstream, cost and hooks of a summary that was not used after all.
pub(crate) fn tried(result: &mut CompactionResult, outcome: &SummaryOutcome) {
    result.upstream = outcome.upstream.clone();
    result.fallback = outcome.fallback.clone();
    result.net.summary_cost_usd = outcome.upstream.cost_usd;
    result.hooks = outcome.hooks.clone();
}

pub(crate) fn count_end(status: &'static str, strategy: Strategy, trigger: Trigger) {
    metrics::counter!(
        families::COMPACTIONS, "status" => status, "strategy" => strategy.into_str(), "trigger" => trigger.into_str()
    )
    .increment(1);
}

/// As [`observe`], of one that was not carried out.
pub(crate) fn observe_skip(result: &CompactionResult, trigger: Trigger, reason: Reason) {
    count_end(Status::Skipped.into_str(), result.strategy_used, trigger);
    metrics::counter!(families::COMPACTIONS_SKIPPED, "reason" => reason.into_str()).increment(1);
    count_fallback(&result.fallback);
}

/// Its reason is a word of ours, whoever failed.
fn count_fallback(fallback: &Fallback) {
    if let (true, Some(reason)) = (fallback.used, &fallback.reason) {
        metrics::counter!(families::COMPACTION_FALLBACKS, "reason" => reason.clone()).increment(1);
    }
}

/// How long the agent went on with a red context until the compaction was there.
pub(crate) fn observe_wait(trigger: Trigger, red_for: chrono::Duration) {
    let seconds = red_for.num_milliseconds().max(0) as f64 / 1_000.0;
    metrics::histogram!(families::COMPACTION_WAIT_SECONDS, "trigger" => trigger.into_str()).record(seconds);
}

pub(crate) fn observe(result: &CompactionResult, trigger: Trigger, status: &'static str) {
    count_end(status, result.strategy_used, trigger);
    metrics::histogram!(families::COMPACTION_SAVINGS).record(result.savings_pct / 100.0);
    metrics::histogram!(families::COMPACTION_SECONDS).record(result.duration_ms as f64 / 1_000.0);
    metrics::counter!(families::COMPACTION_SHED).increment(result.tokens_saved);
    count_fallback(&result.fallback);
}
