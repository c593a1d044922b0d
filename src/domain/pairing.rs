//! Pairing: whatever the path holds, what goes out has a result right after every call and no result without one.
//!
//! Everything is decided from shapes. An entry goes out byte for byte where it is in the target format and nothing
//! about it or around it needs changing; only the others are read. Linear in the number of entries.

mod emit;
mod matching;

use std::collections::HashSet;

use crate::domain::entry::{EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::format::write::{Note, Piece};
use crate::domain::message::Role;
use crate::domain::shape::{Shape, ShapeKind};
use crate::domain::view::ViewItem;

use self::matching::Outcome;
use super::compaction::Elision;

/// What a call without a result is answered with.
pub const SYNTHETIC_RESULT: &str = "No result: this tool call was interrupted or its result was never recorded. \
     It is unknown whether it took effect.";

/// A stored item as it came.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub format: Format,
    pub item: &'a str,
}

/// Turns a view into pieces that [`crate::domain::format::write`] can write as they are.
///
/// `sources` and `summary_text` are asked with indexes into `path`: for a message entry's stored item, and for the
/// message that a compaction or a chapter stands for. Everything that does not go out as stored is named in `notes`:
/// `synthetic_result`, `result_moved`, `orphan_result_dropped`, `duplicate_result_dropped`, `messages_merged`,
/// `call_id_renamed`, `item_repaired`, `item_unreadable`.
pub fn pieces<'a>(
    view: &[ViewItem],
    path: &[EntryHead],
    sources: impl Fn(usize) -> Source<'a>,
    summary_text: impl Fn(usize) -> String,
    target: Format,
    notes: &mut Vec<Note>,
) -> Vec<Piece<'a>> {
    let steps: Vec<Step<'_>> = view.iter().filter_map(|item| Step::of(item, path)).collect();
    let matching = matching::Matching::of(&steps, target == Format::Anthropic);
    emit::Emitter::new(&steps, matching, &sources, &summary_text, target, notes).run()
}

/// The results of a view that answer none of its calls, as index into `path` and place among the entry's results: they
/// go out in no context.
pub fn unanswered(view: &[ViewItem], path: &[EntryHead]) -> HashSet<(usize, usize)> {
    let steps: Vec<Step<'_>> = view.iter().filter_map(|item| Step::of(item, path)).collect();
    let matching = matching::Matching::of(&steps, false);
    let dropped = |outcome: &Outcome| matches!(outcome, Outcome::Orphan | Outcome::Duplicate);
    let of_step = |(at, step): (usize, &Step<'_>)| {
        let slots = matching.outcomes_of(at).iter().enumerate().filter(|(_, outcome)| dropped(outcome));
        slots.map(|(slot, _)| (step.index, slot)).collect::<Vec<_>>()
    };
    steps.iter().enumerate().flat_map(of_step).collect()
}

/// One step of the view, with what pairing needs of its entry.
struct Step<'v> {
    /// Place in the path.
    index: usize,
    seq: i64,
    role: Role,
    shape: &'v Shape,
    elisions: &'v [Elision],
    /// Its text is the service's, not an item's: a compaction or a chapter.
    is_summary: bool,
}

static NO_SHAPE: Shape = Shape {
    calls: Vec::new(),
    results: Vec::new(),
    needs_repair: false,
    mixed: false,
    leads: false,
    checkpoint: false,
    chapter_task: false,
    in_chapter: false,
};

impl<'v> Step<'v> {
    fn of(item: &'v ViewItem, path: &'v [EntryHead]) -> Option<Step<'v>> {
        match item {
            ViewItem::Summary { compaction } => Some(Step {
                index: *compaction,
                seq: path.get(*compaction)?.seq,
                role: Role::CompactionSummary,
                shape: &NO_SHAPE,
                elisions: &[],
                is_summary: true,
            }),
            ViewItem::Entry { index, elisions } => {
                let head = path.get(*index)?;
                // An entry without a role is metadata that a format of its own carries along.
                let role = head.role.unwrap_or(Role::Custom);
                let is_summary = head.kind == EntryType::Chapter;
                Some(Step { index: *index, seq: head.seq, role, shape: &head.shape, elisions, is_summary })
            }
        }
    }

    fn is_assistant(&self) -> bool {
        self.role == Role::Assistant || self.shape.calls.iter().any(|call| call.kind == ShapeKind::Function)
    }

    fn has_results(&self) -> bool {
        self.shape.results.iter().any(|result| result.kind == ShapeKind::Function)
    }

    /// Carries results for calls of earlier messages.
    fn answers(&self) -> bool {
        !self.is_assistant() && self.has_results()
    }
}

#[cfg(test)]
pub(in crate::domain) mod tests;
