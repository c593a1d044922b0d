//! Where a compaction cuts: pi 0.87's rules, and one of our own, that nothing is parted which is tied together.

use crate::context::ties::{open_from, ties, ties_from};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::message::Role;

/// Where the kept tail begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Index into the entries.
    pub first_kept: usize,
    /// Where the turn begins that the cut splits; `None` where it splits none.
    pub turn_start: Option<usize>,
}

/// Walks back from the end until `keep_recent_tokens` are gathered and cuts at the first place from there on where
/// a context may begin; at the newest such place before, where there is none after. Invisible entries directly
/// before the cut are kept with it. Entries that are smaller than that together are cut at their first place. What is
/// open is kept while it takes no more than `most_open` tokens. `None`: no place will do.
pub fn cut_point(entries: &[&EntryMeta], keep_recent_tokens: u32, most_open: u64) -> Option<Cut> {
    let last = last_place(entries, most_open);
    let start = budget_start(entries, keep_recent_tokens).unwrap_or(0);
    let place = match valid_places(entries, start).first() {
        Some(place) if *place <= last => *place,
        _ => last_valid_before(entries, start.min(last + 1))?,
    };
    Some(cut_at(entries, place))
}

/// The last place that parts nothing open from what is still to come for it.
fn last_place(entries: &[&EntryMeta], most_open: u64) -> usize {
    open_from(entries, most_open).unwrap_or(entries.len())
}

/// As [`cut_point`], with the newest `messages` kept, and more where a context can't begin with the first of them.
/// Instructions are not counted.
pub fn cut_by_messages(entries: &[&EntryMeta], messages: u32, most_open: u64) -> Option<Cut> {
    let counted = |head: &EntryMeta| head.is_visible() && !matches!(head.role, Some(Role::System | Role::Developer));
    let newest = entries.iter().enumerate().rev().filter(|(_, head)| counted(head));
    let start = newest.take(messages.max(1) as usize).map(|(place, _)| place).last()?;
    let last = last_place(entries, most_open);
    let first = || valid_places(entries, 0).first().copied().filter(|place| *place <= last);
    let place = last_valid_before(entries, start.min(last) + 1).or_else(first)?;
    Some(cut_at(entries, place))
}

/// The newest place before `end` where a context may begin.
fn last_valid_before(entries: &[&EntryMeta], end: usize) -> Option<usize> {
    // It is near as a rule, and a path may be long.
    let mut reach = 64;
    loop {
        let from = end.saturating_sub(reach);
        let place = valid_places(entries, from).into_iter().rfind(|place| *place < end);
        if place.is_some() || from == 0 {
            return place;
        }
        reach *= 8;
    }
}

fn cut_at(entries: &[&EntryMeta], place: usize) -> Cut {
    let first_kept = with_metadata(entries, place);
    let turn_start = turn_start(entries, first_kept).filter(|start| *start != first_kept);
    Cut { first_kept, turn_start }
}

/// The index at which the entries from it to the end reach the budget.
fn budget_start(entries: &[&EntryMeta], keep_recent_tokens: u32) -> Option<usize> {
    let mut gathered = 0_u64;
    // What says nothing is no place to stop at, however little is wanted.
    let counts = |head: &EntryMeta| adds_context(head) && head.tokens > 0;
    entries.iter().enumerate().rev().filter(|(_, head)| counts(head)).find_map(|(index, head)| {
        gathered += u64::from(head.tokens);
        (gathered >= u64::from(keep_recent_tokens)).then_some(index)
    })
}

/// The place of the first of the invisible entries directly before `place`.
pub(super) fn with_metadata(entries: &[&EntryMeta], place: usize) -> usize {
    let before = entries.get(..place).unwrap_or_default();
    before.iter().rposition(|head| adds_context(head)).map_or(0, |index| index + 1)
}

fn adds_context(head: &EntryMeta) -> bool {
    head.is_visible() || head.kind == EntryType::Compaction
}

fn turn_start(entries: &[&EntryMeta], from: usize) -> Option<usize> {
    entries.iter().take(from + 1).rposition(|head| head.starts_turn())
}

fn starts_context(head: &EntryMeta) -> bool {
    let answers = matches!(head.role, Some(Role::Assistant | Role::CompactionSummary));
    !head.shape.in_chapter && (head.starts_turn() || (head.is_visible() && answers))
}

/// Why a context can't be cut before an entry, and the nearest one before which it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutFault {
    pub why: &'static str,
    /// Index of the entry.
    pub nearest: Option<usize>,
}

/// Checks a cut that was asked for by the rules that every cut keeps.
///
/// # Errors
/// What the cut would part, or that no context begins with such an entry.
pub fn check_cut(entries: &[&EntryMeta], first_kept: usize, most_open: u64) -> Result<(), CutFault> {
    let shown = entries.iter().skip(first_kept).position(|head| adds_context(head)).map(|behind| first_kept + behind);
    let last = last_place(entries, most_open);
    let mut places = valid_places(entries, 0);
    places.retain(|place| *place <= last);
    let Err(after) = places.binary_search(&shown.unwrap_or(entries.len())) else { return Ok(()) };
    let parting = ties(entries).into_iter().filter(|tie| tie.first < first_kept && first_kept <= tie.last).min();
    let in_chapter = entries.get(first_kept).is_some_and(|head| head.shape.in_chapter);
    let why = match parting {
        _ if in_chapter => "would part a chapter from what it keeps",
        Some(tie) => tie.kind.parting(),
        None if first_kept > last => "would part what is not ended from what is still to come for it",
        None => "is nothing that a context can begin with",
    };
    // Before the first message there is nothing to take the place of.
    let first = entries.iter().position(|head| adds_context(head)).unwrap_or(entries.len());
    let near = [after.checked_sub(1), Some(after)].into_iter().flatten().filter_map(|at| places.get(at).copied());
    let near = near.filter(|place| *place > first);
    Err(CutFault { why, nearest: near.min_by_key(|place| place.abs_diff(first_kept)) })
}

/// Places from `from` on where a context may begin, ascending. What stands before `from` is looked at only as far as
/// it can matter.
fn valid_places(entries: &[&EntryMeta], from: usize) -> Vec<usize> {
    // Behind a message that is not the agent's, no answer goes on.
    let before = entries.get(..from).unwrap_or_default();
    let base = before.iter().rposition(|head| head.is_visible() && !head.is_answer()).unwrap_or(0);
    let tail = entries.get(base..).unwrap_or_default();
    let mut opened = vec![0_usize; tail.len() + 1];
    let mut closed = vec![0_usize; tail.len() + 1];
    let tied = ties_from(entries, base);
    let within = tied.within.into_iter().map(|tie| (tie.first + 1 - base, tie.last - base));
    let across = tied.across.into_iter().map(|last| (0, last - base));
    for (first, last) in within.chain(across) {
        // A cut at any of these places would part them.
        for (list, place) in [(&mut opened, first), (&mut closed, last + 1)] {
            if let Some(count) = list.get_mut(place) {
                *count += 1;
            }
        }
    }
    let mut parted = 0;
    let edges = opened.iter().zip(&closed);
    let places = tail.iter().zip(edges).enumerate().filter_map(|(place, (head, (opens, closes)))| {
        parted = parted + opens - closes;
        (parted == 0 && starts_context(head)).then_some(base + place)
    });
    places.filter(|place| *place >= from).collect()
}

#[cfg(test)]
mod tests;
