//! The view: what the model sees, as a pure function of the path and the newest compaction on it.

use super::compaction::{CompactionRecord, Elision};
use super::entry::EntryHead;

/// One step of a view, in the order in which the model sees it. Indexes point into the path given to the planner.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewItem {
    /// The summary message of the compaction at this index of the path.
    Summary { compaction: usize },
    /// A message entry, with the tool results in it that are shown shorter.
    Entry { index: usize, elisions: Vec<Elision> },
}

/// The newest compaction on a path, with its place.
#[derive(Debug, Clone, Copy)]
pub struct NewestCompaction<'a> {
    pub index: usize,
    pub record: &'a CompactionRecord,
    /// Index of the first kept entry; `None` where nothing before the compaction is kept.
    pub first_kept: Option<usize>,
}

/// The view of a path. `path` may leave out entries that the view does not show, as long as the order holds.
pub fn plan_view(path: &[EntryHead], newest: Option<NewestCompaction<'_>>) -> Vec<ViewItem> {
    let Some(newest) = newest else {
        return visible(path, 0..path.len(), &[]);
    };
    let elisions = newest.record.elisions.as_slice();
    let mut items: Vec<ViewItem> = Vec::new();
    for anchor in &newest.record.anchors {
        if let Some(index) = path[..newest.index].iter().position(|head| head.id == *anchor) {
            items.extend(visible(path, index..index + 1, elisions));
        }
    }
    if newest.record.summary.as_deref().is_some_and(|summary| !summary.is_empty()) {
        items.push(ViewItem::Summary { compaction: newest.index });
    }
    if let Some(first_kept) = newest.first_kept {
        items.extend(visible(path, first_kept..newest.index, elisions));
    }
    items.extend(visible(path, newest.index + 1..path.len(), &[]));
    items
}

fn visible(path: &[EntryHead], range: std::ops::Range<usize>, elisions: &[Elision]) -> Vec<ViewItem> {
    range
        .filter(|&index| path[index].kind.holds_message() && path[index].role.is_some())
        .map(|index| {
            let id = path[index].id;
            let own = elisions.iter().filter(|elision| elision.entry_id == id).cloned().collect();
            ViewItem::Entry { index, elisions: own }
        })
        .collect()
}
