//! Which tool results and arguments a compaction shows shorter, and whether that is all it does.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::domain::compaction::guard::savings_pct;
use crate::domain::compaction::mask::{self, BriefResults, MaskPlan, SparedResults};
use crate::domain::compaction::pays::{self, Expected};
use crate::domain::compaction::prune::{Largest, widened};
use crate::domain::compaction::strategy::aim;
use crate::domain::context::elision::{self, result_tokens};
use crate::domain::context::placeholder::marker;
use crate::domain::context::view::{ViewItem, unchanged_tokens};
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::domain::model::strategy::Strategy;
use crate::domain::settings::Estimator;
use crate::domain::summary::Allowance;
use crate::domain::tokens::accounting::{FillState, fill_state, red_tokens};
use crate::service::compaction::job::Trigger;
use crate::service::compaction::plan::PlannedCompaction;

/// The elisions that pruning and masking propose for a view.
pub(crate) struct ProposedElisions {
    pub merged: Vec<Elision>,
    /// How many results by pruning.
    pub pruned: u32,
    pub masked_results: u32,
    /// Those of masking alone, oldest first.
    pub masks: Vec<Elision>,
    pub freed: u64,
    pub mask_freed: u64,
}

impl ProposedElisions {
    /// The same, with more that is shown shorter.
    pub(super) fn with(self, more: &[Elision]) -> ProposedElisions {
        let freed = self.freed + elision::freed(more);
        ProposedElisions { merged: elision::merge(&self.merged, more), freed, ..self }
    }
}

/// Adds what masking proposes to what pruning does, but for results that are spared.
pub(super) fn elide(
    planned: &PlannedCompaction,
    pruned: &[Elision],
    spared: &SparedResults,
    brief: &BriefResults,
) -> ProposedElisions {
    let previous = planned.loaded.elisions();
    let masks = matches!(planned.strategy, Strategy::Auto | Strategy::Mask);
    let mask = if masks {
        mask::plan_without(&planned.loaded.view(), &planned.loaded.heads, &planned.settings, spared, brief)
    } else {
        MaskPlan::default()
    };
    let mut merged = elision::merge(&elision::merge(previous, pruned), &mask.elisions);
    mask_dead_copies(&mut merged, planned.settings.estimator);
    let freed = elision::freed(&merged).saturating_sub(elision::freed(previous));
    let pruned = pruned.iter().filter(|elision| elision.part == ElidedPart::Result).count();
    let pruned = u32::try_from(pruned).unwrap_or(u32::MAX);
    let MaskPlan { elisions: masks, tokens_freed: mask_freed, results: masked_results } = mask;
    ProposedElisions { freed, pruned, masked_results, masks, mask_freed, merged }
}

/// What points to a copy that is masked itself leads nowhere: it is masked too.
fn mask_dead_copies(merged: &mut [Elision], estimator: Estimator) {
    let is = |one: &Elision, kind: ElisionKind| one.kind == kind && one.part == ElidedPart::Result;
    let masked = merged.iter().filter(|one| is(one, ElisionKind::Mask));
    let masked: HashSet<String> = masked.map(|one| one.tool_call_id.clone()).collect();
    for copy in merged.iter_mut().filter(|one| is(one, ElisionKind::Duplicate)) {
        if copy.same_as.as_ref().is_some_and(|same| masked.contains(same)) {
            let marker = marker(&copy.tool_call_id, copy.tokens_before);
            let tokens_after = result_tokens(estimator, &copy.tool_call_id, &marker);
            *copy = Elision { kind: ElisionKind::Mask, same_as: None, text: None, tokens_after, ..copy.clone() };
        }
    }
}

/// Gives the result that alone overfills the context the room that the others leave, in place of the least.
pub(super) fn widen(
    planned: &PlannedCompaction,
    mut elided: ProposedElisions,
    largest: Option<Largest>,
) -> ProposedElisions {
    let Some(largest) = largest else { return elided };
    let (settings, account) = (&planned.settings, &planned.state.account);
    let estimated = u64::try_from(account.estimated()).unwrap_or(0);
    let estimate = |tokens: u64| account.estimate_of(tokens, settings.estimator);
    let overfills = |estimated: u64| estimated >= estimate(red_tokens(settings) as u64);
    if !overfills(estimated) || overfills(estimated.saturating_sub(u64::from(largest.tokens))) {
        return elided;
    }
    let room = estimate(aim(settings, planned.trigger != Trigger::Manual));
    let room = room.saturating_sub(estimated.saturating_sub(elided.freed));
    let is_it = |one: &&mut Elision| {
        let same = one.entry_id == largest.entry_id && one.tool_call_id == largest.call_id;
        same && one.part == ElidedPart::Result && one.kind == ElisionKind::Truncate
    };
    if let Some(cut) = elided.merged.iter_mut().find(is_it)
        && let Some(wider) = widened(&largest, u64::from(cut.tokens_after) + room, settings.estimator)
        && wider.tokens_after > cut.tokens_after
    {
        elided.freed = elided.freed.saturating_sub(u64::from(wider.tokens_after - cut.tokens_after));
        *cut = wider;
    }
    elided
}

/// Returns true if eliding alone is what this compaction does.
pub(super) fn elides_only(planned: &PlannedCompaction, elided: &ProposedElisions) -> bool {
    match planned.strategy {
        Strategy::Mask | Strategy::Prune => true,
        Strategy::Auto if planned.request.summary.is_some() => false,
        // Somebody asked: eliding stands in only where there is nothing to summarise.
        Strategy::Auto if planned.plan.is_err() => elided.freed > 0,
        // The provider found the context too long: how much is too much, our count does not know.
        Strategy::Auto if matches!(planned.trigger, Trigger::Manual | Trigger::Overflow) => false,
        Strategy::Auto => {
            let settings = &planned.settings;
            let (before, _) = planned.state.account.tokens(settings.estimator);
            let after = planned.state.account.tokens_without(elided.freed, settings.estimator);
            let enough = match planned.trigger {
                // It is committed at red, and there is time for more: it must be worth the broken prompt cache.
                Trigger::Ahead => {
                    let at_red = (red_tokens(settings) as u64).saturating_sub(before.saturating_sub(after));
                    fill_state(at_red, settings) == FillState::Green
                }
                _ => fill_state(after, settings) != FillState::Red && leaves_room(planned, after),
            };
            let saves = savings_pct(before, after) >= settings.min_savings_pct;
            elided.freed > 0 && enough && saves && is_worth_the_cache(planned, elided)
        }
        _ => false,
    }
}

/// Of the size at which a context is red, in per cent: what a compaction leaves is no larger where the choice is the service's,
/// else the next one would be due at once.
const MOST_LEFT: f64 = 90.0;

fn leaves_room(planned: &PlannedCompaction, after: u64) -> bool {
    !planned.spares_results() || after as f64 * 100.0 <= red_tokens(&planned.settings) * MOST_LEFT
}

/// Returns true if showing results shorter is worth the prompt cache that it breaks, beside a summary.
fn is_worth_the_cache(planned: &PlannedCompaction, elided: &ProposedElisions) -> bool {
    let Ok(plan) = &planned.plan else { return true };
    let account = &planned.state.account;
    let size = |tokens: i64| u64::try_from(tokens).unwrap_or(0);
    let fixed = size(account.fixed());
    let after = size(account.estimated()).saturating_sub(elided.freed);
    let rewritten = after.saturating_sub(fixed + unchanged_by(planned, &elided.merged));
    let elided = Expected { after, rewritten, summary: (0, 0) };
    let previous = planned.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
    let read = plan.tokens_to_summarize + previous;
    let written = Allowance::new(read, planned.settings.summary_reserve()).likely();
    let behind = plan.tokens_kept + written;
    let summarised = Expected { after: fixed + behind, rewritten: behind, summary: (read, written) };
    pays::elides(account, &planned.settings, &planned.prices, &elided, &summarised)
}

/// Tokens behind system prompt and tools with which the view begins before and after these elisions.
pub(super) fn unchanged_by(planned: &PlannedCompaction, merged: &[Elision]) -> u64 {
    let loaded = &planned.loaded;
    let changed = changed_entries(merged, loaded.elisions());
    let stays = |item: &ViewItem| match item {
        ViewItem::Summary { .. } => true,
        ViewItem::Entry { index, .. } => loaded.heads.get(*index).is_some_and(|head| !changed.contains(&head.id)),
    };
    unchanged_tokens(&loaded.heads, &loaded.view(), stays)
}

/// A result or the arguments of a call.
pub(super) type PartKey = (Uuid, String, ElidedPart);

pub(super) fn key(one: &Elision) -> PartKey {
    (one.entry_id, one.tool_call_id.clone(), one.part)
}

/// Entries that are shown otherwise than before.
pub(super) fn changed_entries(merged: &[Elision], before: &[Elision]) -> HashSet<Uuid> {
    let known: HashMap<PartKey, &Elision> = before.iter().map(|one| (key(one), one)).collect();
    let changed = merged.iter().filter(|one| known.get(&key(one)).is_none_or(|old| *old != *one));
    changed.map(|one| one.entry_id).collect()
}
