//! Results that masking would take though there is room for them: what fits stays.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::domain::compaction::mask::SparedResults;
use crate::domain::compaction::prepare::Plan;
use crate::domain::compaction::strategy::{record_aim, results_aim};
use crate::domain::context::view::ViewItem;
use crate::domain::model::compaction::{ElidedPart, Elision, ElisionKind};
use crate::service::compaction::plan::PlannedCompaction;
use crate::service::compaction::read::elide::{PartKey, ProposedElisions, key};
use crate::service::compaction::read::outline::{RECORD_FRAME, before_red, kept_tokens, least_record, shown_entries};

/// Of the window, in per cent: the context that results may fill where a record stands beside them, and where none does.
const BESIDE_RECORD: u64 = 40;
const ALONE: u64 = 45;

/// How much larger than a result what the agent wrote itself may be, and stay as long.
const OWN_WORDS: u64 = 2;

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

/// Parts that stay, though masking or pruning would have taken them.
#[derive(Debug, Default)]
pub(super) struct RoomyParts {
    /// As they were shown before.
    whole: HashSet<PartKey>,
    /// As pruning shows them: no marker takes their place.
    cut: HashSet<PartKey>,
    /// What was set aside for a record beside them, in estimated tokens.
    pub record: u64,
}

impl RoomyParts {
    /// The results that no marker may take.
    pub fn results(&self) -> impl Iterator<Item = (Uuid, String)> {
        let all = self.whole.iter().chain(&self.cut).filter(|(.., part)| *part == ElidedPart::Result);
        all.map(|(entry_id, call_id, _)| (*entry_id, call_id.clone()))
    }

    /// Returns true if pruning may cut nothing here.
    pub fn stays(&self, one: &Elision) -> bool {
        one.kind == ElisionKind::Truncate && self.whole.contains(&key(one))
    }
}

/// What this compaction would show shorter, in estimated tokens.
struct ShortenedPart {
    key: PartKey,
    /// As it was shown before, as pruning shows it, and as it is proposed.
    before: u32,
    pruned: u32,
    after: u32,
}

impl ShortenedPart {
    /// What is small stays longer than what is large: what is freed by taking it is hardly worth what it says. What the agent
    /// wrote itself stands nowhere else in its context.
    fn rank(&self, age: usize) -> u64 {
        let share = if self.key.2 == ElidedPart::Arguments { OWN_WORDS } else { 1 };
        u64::from(self.before) * (age as u64 + 1) / share
    }
}

/// The parts that the target has room for, beside a record with half of what is left. `plan`: the summary's, where there is to
/// be one.
pub(super) fn roomy_parts(
    planned: &PlannedCompaction,
    pruned: &[Elision],
    elided: &ProposedElisions,
    plan: Option<&Plan>,
) -> RoomyParts {
    let mut roomy = RoomyParts::default();
    if !planned.spares_results() {
        return roomy;
    }
    let RoomForParts { parts: mut room, record, is_small } = RoomForParts::of(planned, elided, plan);
    roomy.record = record;
    let shown = plan.map(|plan| shown_entries(planned, plan));
    let parts = shortened(planned, pruned, elided).into_iter();
    let parts = parts.filter(|one| shown.as_ref().is_none_or(|shown| shown.contains(&one.key.0)));
    let mut parts: Vec<(u64, ShortenedPart)> = parts.rev().enumerate().map(|(age, one)| (one.rank(age), one)).collect();
    parts.sort_by_key(|(rank, _)| *rank);
    let mut fits = |more: u32| {
        let fits = u64::from(more) <= room;
        room -= if fits { u64::from(more) } else { 0 };
        fits
    };
    let (whole, cut): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .partition(|(_, one)| (!is_small || one.pruned == one.before) && fits(one.before.saturating_sub(one.after)));
    roomy.whole = whole.into_iter().map(|(_, one)| one.key).collect();
    let cut = cut.into_iter().filter(|(_, one)| fits(one.pruned.saturating_sub(one.after)));
    roomy.cut = cut.map(|(_, one)| one.key).collect();
    roomy
}

/// What this compaction shows shorter by its own measure, in the order of the view: what repeats another and what a hook
/// wrote stays as it is.
fn shortened(planned: &PlannedCompaction, pruned: &[Elision], elided: &ProposedElisions) -> Vec<ShortenedPart> {
    let before: HashMap<PartKey, u32> =
        planned.loaded.elisions().iter().map(|one| (key(one), one.tokens_after)).collect();
    let by_pruning: HashMap<PartKey, &Elision> = pruned.iter().map(|one| (key(one), one)).collect();
    let masks: HashMap<PartKey, &Elision> = elided.masks.iter().map(|one| (key(one), one)).collect();
    let mut found: Vec<ShortenedPart> = Vec::new();
    for item in planned.loaded.view() {
        let ViewItem::Entry { index, .. } = item else { continue };
        let Some(head) = planned.loaded.heads.get(index) else { continue };
        let calls = head.shape.calls.iter().map(|call| (&call.id, ElidedPart::Arguments));
        let results = head.shape.results.iter().map(|result| (&result.call_id, ElidedPart::Result));
        for (call_id, part) in calls.chain(results) {
            let key = (head.id, call_id.clone(), part);
            let cut = by_pruning.get(&key).copied();
            let Some(elision) = masks.get(&key).copied().or(cut) else { continue };
            if cut.is_some_and(|cut| cut.kind != ElisionKind::Truncate) {
                continue;
            }
            let before = before.get(&key).copied().unwrap_or(elision.tokens_before);
            let pruned = cut.map_or(before, |cut| cut.tokens_after);
            found.push(ShortenedPart { before, pruned, after: elision.tokens_after, key });
        }
    }
    found
}

/// What there is room for, in estimated tokens.
struct RoomForParts {
    parts: u64,
    /// For a record beside them.
    record: u64,
    /// The context is smaller than what is aimed at: it is compacted for what it costs, and pruning is what that is about.
    is_small: bool,
}

impl RoomForParts {
    /// What no record tells may take more: nothing else says it. At least a quarter of the context goes.
    fn of(planned: &PlannedCompaction, elided: &ProposedElisions, plan: Option<&Plan>) -> RoomForParts {
        let (settings, account) = (&planned.settings, &planned.state.account);
        let estimated = |aim: u64| account.estimate_of(aim, settings.estimator);
        let (least, now) = (estimated(record_aim(account, settings)), u64::try_from(account.estimated()).unwrap_or(0));
        let share = if plan.is_some() { BESIDE_RECORD } else { ALONE };
        let most = estimated(results_aim(account, settings, share));
        let is_small = now <= most;
        let target = if is_small { least } else { most.min(now - now / 4) };
        let Some(plan) = plan else {
            let after = now.saturating_sub(elided.freed);
            return RoomForParts { parts: target.saturating_sub(after + before_red(planned)), record: 0, is_small };
        };
        let kept = kept_tokens(planned, plan, elided) + RECORD_FRAME;
        let previous = planned.loaded.record().map_or(0, |record| u64::from(record.summary_tokens));
        let replaced = plan.tokens_to_summarize + previous;
        let left = least.saturating_sub(kept);
        let record = (left / 2).max(least_record(planned, replaced)).min(replaced * 4 / 5);
        RoomForParts { parts: target.saturating_sub(kept + record), record, is_small }
    }
}
