//! The counting strategies: what stays of a context that is to shrink to a size, decided without a model.
//!
//! All of them choose among [units](units::Unit): messages that calls and results tie together stay or go as one.
//! Whatever is chosen, standing system messages, the first user message, pinned entries and the newest unit stay.

mod choice;
mod clues;
mod room;
mod sliding;
pub mod smart;
mod truncate;
mod units;

use std::collections::BTreeSet;

use super::cut::with_metadata;
use super::prepare::{Plan, required};
use crate::compaction::result::Reason;
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::strategy::Strategy;
use crate::settings::Settings;
use units::Units;

pub use crate::model::strategy::counts;
pub use choice::{Choice, ShownMessage};
pub use room::{
    RoomForKept, aim, is_narrow, most_kept, record_aim, record_room, results_aim, room_below_red, room_for_tail,
    worthwhile,
};

/// The plan of a counting strategy: `history` is left out, `anchors` and `kept` stay. Where the target can't be reached,
/// the plan keeps what has to stay and `tokens_kept` says how much that is.
///
/// # Errors
/// `AlreadyCompacted`, `EmptySession`, `NothingToCompact` (nothing has to go).
pub fn select(strategy: Strategy, choice: &Choice<'_>) -> Result<Plan, Reason> {
    if choice.path.last().is_some_and(|last| last.kind == EntryType::Compaction) {
        return Err(Reason::AlreadyCompacted);
    }
    if choice.items.is_empty() {
        return Err(Reason::EmptySession);
    }
    let required = required(choice.path, choice.path.len(), choice.settings);
    let units = Units::of(choice.path, choice.items, &required, choice.settings.most_open());
    let stays = match strategy {
        Strategy::Sliding => sliding::select(&units, choice.room),
        Strategy::Smart => smart::select(&units, choice),
        _ => truncate::select(&units, choice.room, choice.settings.preserve_recent),
    };
    plan(choice, &units, &stays)
}

/// Where the newest `preserve_recent` messages of a view begin, calls and results kept whole: an index into the items. Instructions are
/// not counted.
pub fn tail_start(path: &[EntryMeta], items: &[ShownMessage], settings: &Settings) -> usize {
    Units::of(path, items, &BTreeSet::new(), settings.most_open()).tail_start(settings.preserve_recent)
}

/// Turns the choice into a plan: what stays and is followed by nothing that goes is the kept tail, the rest are anchors.
fn plan(choice: &Choice<'_>, units: &Units, stays: &[bool]) -> Result<Plan, Reason> {
    let boundary_start = choice.newest.map_or(0, |newest| newest.first_kept.unwrap_or(newest.index + 1));
    let stays = units.by_item(stays);
    // Entries before the boundary are not next to each other on the path: they can only be anchors.
    let in_tail = |(item, stays): &(&ShownMessage, bool)| *stays && item.index >= boundary_start;
    let marked = || choice.items.iter().zip(stays.iter().copied());
    let tail = marked().rev().take_while(in_tail).count();
    let (mut history, mut anchors, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tokens_to_summarize, mut tokens_kept) = (0, 0);
    for (at, (item, stays)) in marked().enumerate() {
        match stays {
            false => history.push(item.index),
            true if at + tail < choice.items.len() => anchors.push(item.index),
            true => kept.push(item.index),
        }
        *(if stays { &mut tokens_kept } else { &mut tokens_to_summarize }) += item.tokens;
    }
    if history.is_empty() {
        return Err(Reason::NothingToCompact);
    }
    let first = kept.first().copied().ok_or(Reason::NoValidCutPoint)?;
    Ok(Plan {
        boundary_start,
        first_kept: metadata_start(choice.path, first).max(boundary_start.min(first)),
        history,
        turn_prefix: Vec::new(),
        is_split_turn: false,
        anchors,
        previous_summary: choice.newest.is_some_and(|newest| newest.record.summary.is_some()),
        kept,
        tokens_to_summarize,
        tokens_kept,
    })
}

/// Invisible entries directly before the tail stay with it.
fn metadata_start(path: &[EntryMeta], first: usize) -> usize {
    with_metadata(&path.iter().take(first).collect::<Vec<_>>(), first)
}

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod tests;
