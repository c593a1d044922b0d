//! Results that masking would take though there is room for them: what fits stays.

use std::collections::HashMap;

use crate::domain::compaction::mask::SparedResults;
use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::strategy::record_aim;
use crate::domain::context::elision;
use crate::domain::context::view::ViewItem;
use crate::domain::model::compaction::{ElidedPart, Elision};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::read::elide::ProposedElisions;
use crate::service::compaction::read::outline::{RECORD_FRAME, before_red, kept_tokens, least_record, shown_entries};

/// Results behind the agent's last answer: nobody has read them yet.
pub(super) fn unread_results(planned: &PlannedCompaction) -> SparedResults {
    let mut unread = SparedResults::new();
    if !planned.spares_results() {
        return unread;
    }
    for item in planned.loaded.view().iter().rev() {
        let ViewItem::Entry { index, .. } = item else { break };
        let Some(head) = planned.loaded.heads.get(*index) else { break };
        if head.is_answer() {
            break;
        }
        unread.extend(head.shape.results.iter().map(|result| (head.id, result.call_id.clone())));
    }
    unread
}

/// The newest of the results that were to be masked that the target has room for, beside a record with half of what is
/// left. `plan`: the summary's, where there is to be one.
pub(super) fn roomy_results(
    planned: &PlannedCompaction,
    pruned: &[Elision],
    elided: &ProposedElisions,
    plan: Option<&Plan>,
) -> SparedResults {
    let mut spared = SparedResults::new();
    if !planned.spares_results() {
        return spared;
    }
    let mut room = room(planned, elided, plan);
    let otherwise = elision::merge(planned.loaded.elisions(), pruned);
    let key = |one: &Elision| (one.entry_id, one.tool_call_id.clone());
    let results = otherwise.iter().filter(|one| one.part == ElidedPart::Result);
    let otherwise: HashMap<_, u32> = results.map(|one| (key(one), one.tokens_after)).collect();
    let shown = plan.map(|plan| shown_entries(planned, plan));
    for mask in
        elided.masks.iter().rev().filter(|mask| shown.as_ref().is_none_or(|shown| shown.contains(&mask.entry_id)))
    {
        let whole = otherwise.get(&key(mask)).copied().unwrap_or(mask.tokens_before);
        let more = u64::from(whole.saturating_sub(mask.tokens_after));
        if more <= room {
            room -= more;
            spared.insert(key(mask));
        }
    }
    spared
}

/// Estimated tokens that the target leaves for results.
fn room(planned: &PlannedCompaction, elided: &ProposedElisions, plan: Option<&Plan>) -> u64 {
    let (settings, account) = (&planned.settings, &planned.state.account);
    let target = account.estimate_of(record_aim(account, settings), settings.estimator);
    let Some(plan) = plan else {
        let after = u64::try_from(account.estimated()).unwrap_or(0).saturating_sub(elided.freed);
        return target.saturating_sub(after + before_red(planned));
    };
    let left = target.saturating_sub(kept_tokens(planned, plan, elided) + RECORD_FRAME);
    let previous = planned.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
    let replaced = plan.tokens_to_summarize + previous;
    let record = (left / 2).max(least_record(planned, replaced)).min(replaced * 4 / 5);
    left.saturating_sub(record)
}
