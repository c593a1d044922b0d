//! Closing: what a chapter over a range of tasks hides, keeps and takes in.

use std::collections::BTreeSet;
use std::ops::Range;

use super::tasks::{Refusal, TaskSpan};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::fold::{Fold, ShownFold};

/// A range that can be closed, as places in the folded path and depths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// Visible entries that it hides, chapters among them.
    pub hidden: Vec<usize>,
    pub from: i64,
    pub to: i64,
    pub place: i64,
    pub verbatim: Vec<i64>,
    /// The chapters that it takes in, in order.
    pub chapters: Vec<Fold>,
}

/// Plans the closing of these spans: what it hides, keeps and takes in. `verbatim` are places of the path that nothing
/// may take the place of.
///
/// # Errors
/// `NothingToClose`.
pub fn close(
    spans: &[TaskSpan],
    range: Range<usize>,
    heads: &[EntryMeta],
    verbatim: &BTreeSet<usize>,
    folds: &[ShownFold],
) -> Result<Closing, Refusal> {
    let closed = spans.get(range).unwrap_or_default();
    let (Some(first), Some(last)) = (closed.first(), closed.last()) else { return Err(Refusal::OutOfRange) };
    let entries = heads.get(first.entries.start..last.entries.end).unwrap_or_default();
    let places = entries.iter().zip(first.entries.start..).filter(|(head, _)| head.is_visible());
    let (kept, hidden): (Vec<_>, Vec<_>) = places.partition(|(_, index)| verbatim.contains(index));
    let (Some((begins, _)), true) = (hidden.first(), kept.iter().all(|(head, _)| head.kind != EntryType::Chapter))
    else {
        return Err(Refusal::NothingToClose);
    };
    let nested = hidden.iter().filter(|(head, _)| head.kind == EntryType::Chapter);
    let fold_of = |head: &EntryMeta| {
        let place = folds.binary_search_by_key(&head.depth, |shown| shown.fold.place).ok()?;
        folds.get(place).map(|shown| shown.fold.clone())
    };
    Ok(Closing {
        from: first.from,
        to: last.to,
        place: begins.depth,
        verbatim: kept.iter().map(|(head, _)| head.depth).collect(),
        chapters: nested.filter_map(|(head, _)| fold_of(head)).collect(),
        hidden: hidden.into_iter().map(|(_, index)| index).collect(),
    })
}
