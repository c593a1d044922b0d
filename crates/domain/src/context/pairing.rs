//! Pairing: whatever the path holds, what goes out has a result right after every call and no result without one.
//!
//! Everything is decided from shapes. An entry goes out byte for byte where it is in the target format and nothing
//! about it or around it needs changing; only the others are read. Linear in the number of entries.

mod emit;
mod examined;
mod halves;
mod matching;
mod source;
mod step;
mod synthetic;

use std::collections::HashSet;

use self::matching::MatchOutcome;
use self::step::ViewStep;
use crate::context::view::ViewItem;
use crate::format::write::{Note, Piece};
use crate::model::entry::EntryMeta;
use crate::model::format::Format;

pub use source::StoredSource;
pub use synthetic::{STAND_IN_TOKENS, SYNTHETIC_RESULT};

/// Turns a view into pieces that [`crate::format::write`] can write as they are.
///
/// `sources` and `summary_text` are asked with indexes into `path`: for a message entry's stored item, and for the
/// message that a compaction or a chapter stands for. Everything that does not go out as stored is named in `notes`:
/// `synthetic_result`, `result_moved`, `orphan_result_dropped`, `duplicate_result_dropped`, `messages_merged`,
/// `call_id_renamed`, `item_repaired`, `item_unreadable`.
pub fn pieces<'a>(
    view: &[ViewItem],
    path: &[EntryMeta],
    sources: impl Fn(usize) -> StoredSource<'a>,
    summary_text: impl Fn(usize) -> String,
    target: Format,
    notes: &mut Vec<Note>,
) -> Vec<Piece<'a>> {
    let steps: Vec<ViewStep<'_>> = view.iter().filter_map(|item| ViewStep::of(item, path)).collect();
    let matching = matching::Matching::of(&steps, matches!(target, Format::Anthropic | Format::OpenaiResponses));
    emit::Emitter::new(&steps, matching, &sources, &summary_text, target, notes).run()
}

/// The results of a view that answer none of its calls, as index into `path` and place among the entry's results: they
/// go out in no context.
pub fn unanswered(view: &[ViewItem], path: &[EntryMeta]) -> HashSet<(usize, usize)> {
    let steps: Vec<ViewStep<'_>> = view.iter().filter_map(|item| ViewStep::of(item, path)).collect();
    let matching = matching::Matching::of(&steps, false);
    let dropped = |outcome: &MatchOutcome| matches!(outcome, MatchOutcome::Orphan | MatchOutcome::Duplicate);
    let of_step = |(at, step): (usize, &ViewStep<'_>)| {
        let slots = matching.outcomes_of(at).iter().enumerate().filter(|(_, outcome)| dropped(outcome));
        slots.map(|(slot, _)| (step.index, slot)).collect::<Vec<_>>()
    };
    steps.iter().enumerate().flat_map(of_step).collect()
}

#[cfg(test)]
pub(crate) mod tests;
