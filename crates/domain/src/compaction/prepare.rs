//! The plan of a compaction: what is summarised, what stays, decided from small columns only.

mod standing;

use std::collections::{BTreeSet, HashMap};

use super::cut::{Cut, cut_by_messages, cut_point};
use crate::compaction::result::Reason;
use crate::context::ties::ties;
use crate::context::view::{NewestCompaction, anchor_indexes, visible_indexes};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::message::Role;
use crate::model::strategy::counts;
use crate::settings::Settings;
use standing::standing;

/// Plan of a compaction: what it would do. All indexes point into the path.
///
/// `history`, `turn_prefix`, `kept` and the anchors from `boundary_start` on are, together and without overlap,
/// the visible entries from `boundary_start` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Where the entries begin that the last view still showed (besides its anchors).
    pub boundary_start: usize,
    /// The first entry that stays after the summary; may be an invisible one.
    pub first_kept: usize,
    /// Whole turns to summarise.
    pub history: Vec<usize>,
    /// The beginning of the turn that the cut splits.
    pub turn_prefix: Vec<usize>,
    pub is_split_turn: bool,
    /// Entries before the cut that stay verbatim, in path order; also those of earlier compactions.
    pub anchors: Vec<usize>,
    /// True: there is a summary to update.
    pub previous_summary: bool,
    pub kept: Vec<usize>,
    /// Estimates; of `history` and `turn_prefix`.
    pub tokens_to_summarize: u64,
    /// Of `kept` and `anchors`.
    pub tokens_kept: u64,
}

/// Plans a compaction of a whole path.
///
/// # Errors
/// `EmptySession`, `AlreadyCompacted` (nothing came after the last one), `NoValidCutPoint`, `NothingToCompact`.
pub fn prepare(path: &[EntryMeta], newest: Option<NewestCompaction<'_>>, settings: &Settings) -> Result<Plan, Reason> {
    plan(path, newest, settings, |boundary_start| cut(path, boundary_start, settings))
}

/// As [`prepare`], with the cut given: `first_kept` is an index into the path.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_at(
    path: &[EntryMeta],
    newest: Option<NewestCompaction<'_>>,
    settings: &Settings,
    first_kept: usize,
) -> Result<Plan, Reason> {
    plan(path, newest, settings, |_| Some(Cut { first_kept, turn_start: None }))
}

fn plan(
    path: &[EntryMeta],
    newest: Option<NewestCompaction<'_>>,
    settings: &Settings,
    cut: impl FnOnce(usize) -> Option<Cut>,
) -> Result<Plan, Reason> {
    if path.last().is_some_and(|last| last.kind == EntryType::Compaction) {
        return Err(Reason::AlreadyCompacted);
    }
    if newest.is_none() && !path.iter().any(EntryMeta::is_visible) {
        return Err(Reason::EmptySession);
    }
    let boundary_start = boundary_start(newest);
    let cut = cut(boundary_start).ok_or(Reason::NoValidCutPoint)?;
    let anchors = anchors(path, newest, cut.first_kept, settings);
    let between = |start: usize, end: usize| -> Vec<usize> {
        let visible = visible_indexes(path, start..end).map(|(index, _)| index);
        visible.filter(|index| !anchors.contains(index)).collect()
    };
    let history_end = cut.turn_start.unwrap_or(cut.first_kept);
    let released = released(path, newest, boundary_start).filter(|index| !anchors.contains(index));
    let history: Vec<usize> = released.chain(between(boundary_start, history_end)).collect();
    let turn_prefix = between(history_end, cut.first_kept);
    if history.is_empty() && turn_prefix.is_empty() {
        return Err(Reason::NothingToCompact);
    }
    let kept = between(cut.first_kept, path.len());
    Ok(Plan {
        boundary_start,
        first_kept: cut.first_kept,
        is_split_turn: !turn_prefix.is_empty(),
        previous_summary: newest.is_some_and(|newest| newest.record.summary.is_some()),
        tokens_to_summarize: tokens(path, history.iter().chain(&turn_prefix)),
        tokens_kept: tokens(path, kept.iter().chain(&anchors)),
        history,
        turn_prefix,
        anchors: anchors.into_iter().collect(),
        kept,
    })
}

/// Where what the last view still showed begins, besides its anchors.
fn boundary_start(newest: Option<NewestCompaction<'_>>) -> usize {
    newest.map_or(0, |newest| newest.first_kept.unwrap_or(newest.index + 1))
}

/// The cut of what the last view still showed, as indexes into the path. Compactions are no part of it: what one kept
/// and what came after it are one stretch.
fn cut(path: &[EntryMeta], boundary_start: usize, settings: &Settings) -> Option<Cut> {
    let shown = path.iter().enumerate().skip(boundary_start).filter(|(_, head)| head.kind != EntryType::Compaction);
    let (places, entries): (Vec<usize>, Vec<&EntryMeta>) = shown.unzip();
    let cut = kept_tail(&entries, settings)?;
    let turn_start = cut.turn_start.and_then(|start| places.get(start).copied());
    Some(Cut { first_kept: *places.get(cut.first_kept)?, turn_start })
}

/// The entries of a view that nothing may take the place of, as indexes.
pub fn verbatim(path: &[EntryMeta], newest: Option<NewestCompaction<'_>>, settings: &Settings) -> BTreeSet<usize> {
    anchors(path, newest, path.len(), settings)
}

/// The cut by tokens, or by messages where the preset says so. A tail of few but large messages is cut by tokens all the
/// same: it would leave no room for the summary and what comes next.
fn kept_tail(entries: &[&EntryMeta], settings: &Settings) -> Option<Cut> {
    let by_tokens = cut_point(entries, settings.keep_recent_tokens, settings.most_open())?;
    if !settings.keeps_messages() {
        return Some(by_tokens);
    }
    let by_messages = cut_by_messages(entries, settings.preserve_recent, settings.most_open())?;
    if by_tokens.first_kept <= by_messages.first_kept {
        return Some(by_tokens);
    }
    let tail = entries.iter().skip(by_messages.first_kept).filter(|head| head.is_visible());
    let tokens: u64 = tail.map(|head| u64::from(head.tokens)).sum();
    let most = settings.target() / 3 * 2;
    if tokens <= u64::from(most) {
        Some(by_messages)
    } else {
        cut_point(entries, most.max(settings.keep_recent_tokens), settings.most_open())
    }
}

/// Finds the entries that the last compaction showed before its boundary and that nothing holds there any more.
fn released<'a>(
    path: &'a [EntryMeta],
    newest: Option<NewestCompaction<'a>>,
    boundary_start: usize,
) -> impl Iterator<Item = usize> + 'a {
    let shown = newest.into_iter().flat_map(move |newest| {
        let all = chosen_by_worth(&newest);
        let shown = anchor_indexes(path, &newest.record.anchors, boundary_start);
        shown.into_iter().filter(move |index| all || path.get(*index).is_some_and(EntryMeta::is_instruction))
    });
    shown.filter(|index| path.get(*index).is_some_and(EntryMeta::is_visible))
}

/// Entries before the cut that no summary replaces: standing system messages, the first message that the user wrote,
/// pinned entries, the newest compaction of a provider's own that no summariser can read, and earlier anchors, each with
/// the whole batch of calls and results, or the reasoned answer, that it belongs to.
fn anchors(
    path: &[EntryMeta],
    newest: Option<NewestCompaction<'_>>,
    first_kept: usize,
    settings: &Settings,
) -> BTreeSet<usize> {
    let mut anchors = required(path, first_kept, settings);
    if let Some(newest) = newest.filter(|newest| !chosen_by_worth(newest)) {
        let earlier = anchor_indexes(path, &newest.record.anchors, first_kept).into_iter();
        anchors.extend(earlier.filter(|index| !path.get(*index).is_some_and(EntryMeta::is_instruction)));
    }
    let before = path.get(..first_kept).unwrap_or_default();
    let checkpoint = newest_checkpoint(path);
    // The newest one carries what the older ones did.
    let superseded = |index, head: &EntryMeta| {
        head.shape.checkpoint && Some(index) != checkpoint && !settings.pinned_entry_ids.contains(&head.id)
    };
    anchors.retain(|index| before.get(*index).is_some_and(|head| head.is_visible() && !superseded(*index, head)));
    with_batches(before, boundary_start(newest), anchors)
}

fn newest_checkpoint(path: &[EntryMeta]) -> Option<usize> {
    path.iter().rposition(|head| head.is_visible() && head.shape.checkpoint)
}

/// Returns true if the compaction kept messages because they fitted, not because they have to stay: the next one
/// decides anew.
fn chosen_by_worth(newest: &NewestCompaction<'_>) -> bool {
    newest.record.by_handle || newest.record.strategy.is_some_and(counts)
}

/// Entries before `end` that no strategy leaves out: standing system messages, the first message that the user wrote,
/// pinned entries and the newest compaction of a provider's own, each with its batch.
pub(super) fn required(path: &[EntryMeta], end: usize, settings: &Settings) -> BTreeSet<usize> {
    let before = path.get(..end).unwrap_or_default();
    let visible = || before.iter().enumerate().filter(|(_, head)| head.is_visible());
    let mut anchors = anchor_indexes(path, &settings.pinned_entry_ids, end);
    if settings.anchor_first_user {
        let by_user = |head: &EntryMeta| head.is_by_user(&settings.agents) && head.starts_turn();
        anchors.extend(visible().find(|(_, head)| by_user(head)).map(|(index, _)| index));
        // Of an older entry it is not known whether the user speaks behind what a harness says first.
        let surely = |head: &EntryMeta| by_user(head) && !head.shape.begins_by_harness;
        anchors.extend(visible().find(|(_, head)| surely(head)).map(|(index, _)| index));
    }
    anchors.extend(standing(path, settings).filter(|index| *index < end));
    anchors.extend(newest_checkpoint(path).filter(|index| *index < end));
    anchors.retain(|index| before.get(*index).is_some_and(EntryMeta::is_visible));
    with_batches(before, 0, anchors)
}

/// Adds to the set whatever is tied to its members: on the path, or in the view, which begins at `shown_from`. Where an id
/// is used again, the two may differ.
fn with_batches(path: &[EntryMeta], shown_from: usize, members: BTreeSet<usize>) -> BTreeSet<usize> {
    let may_be_tied = |index: &usize| {
        let head = path.get(*index);
        head.is_some_and(|head| head.role == Some(Role::Assistant) || !head.shape.is_trivial())
    };
    if !members.iter().any(may_be_tied) {
        return members;
    }
    let entries: Vec<&EntryMeta> = path.iter().collect();
    let mut tied: HashMap<usize, Vec<usize>> = HashMap::new();
    for from in BTreeSet::from([0, shown_from]) {
        for tie in ties(entries.get(from..).unwrap_or_default()) {
            let (first, last) = (from + tie.first, from + tie.last);
            tied.entry(first).or_default().push(last);
            tied.entry(last).or_default().push(first);
        }
    }
    let mut pending: Vec<usize> = members.iter().copied().collect();
    let mut closed = members;
    while let Some(index) = pending.pop() {
        // Taken out, not looked up: each tie is followed once.
        for other in tied.remove(&index).unwrap_or_default() {
            if closed.insert(other) {
                pending.push(other);
            }
        }
    }
    closed
}

fn tokens<'a>(path: &[EntryMeta], indexes: impl Iterator<Item = &'a usize>) -> u64 {
    indexes.filter_map(|index| path.get(*index)).map(|head| u64::from(head.tokens)).sum()
}

#[cfg(test)]
mod anchor_tests;
#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
pub(crate) mod tests;
