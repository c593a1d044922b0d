//! The view: what the model sees, as a pure function of the path and the newest compaction on it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use uuid::Uuid;

use crate::model::compaction::{CompactionRecord, Elision};
use crate::model::entry::EntryMeta;

/// One step of a view, in the order in which the model sees it. Indexes point into the path given to the planner.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewItem {
    /// The summary message of the compaction at this index of the path, and the running request behind it.
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
pub fn plan_view(path: &[EntryMeta], newest: Option<NewestCompaction<'_>>) -> Vec<ViewItem> {
    let Some(newest) = newest else {
        return visible(path, 0..path.len(), &HashMap::new()).collect();
    };
    let elisions = by_entry(&newest.record.elisions);
    let kept_from = newest.first_kept.map_or(newest.index, |first_kept| first_kept.min(newest.index));
    let mut items: Vec<ViewItem> = Vec::new();
    for index in anchor_indexes(path, &newest.record.anchors, kept_from) {
        items.extend(visible(path, index..index + 1, &elisions));
    }
    if newest.record.shows_something() {
        items.push(ViewItem::Summary { compaction: newest.index });
    }
    items.extend(visible(path, kept_from..newest.index, &elisions));
    items.extend(visible(path, newest.index + 1..path.len(), &HashMap::new()));
    items
}

/// Places of the anchors before `end`, in path order, each once. Those from `end` on are shown where they are.
pub fn anchor_indexes(path: &[EntryMeta], anchors: &[Uuid], end: usize) -> BTreeSet<usize> {
    if anchors.is_empty() {
        return BTreeSet::new();
    }
    let wanted: HashSet<Uuid> = anchors.iter().copied().collect();
    let before = path.iter().take(end).enumerate();
    before.filter(|(_, head)| wanted.contains(&head.id)).map(|(index, _)| index).collect()
}

/// The estimate of one step. A compaction's own tokens are those of its summary message.
pub fn item_tokens(path: &[EntryMeta], item: &ViewItem) -> u64 {
    let own = |index: &usize| path.get(*index).map_or(0, |head| u64::from(head.tokens));
    match item {
        ViewItem::Summary { compaction } => own(compaction),
        ViewItem::Entry { index, elisions } => {
            let freed = |elision: &Elision| u64::from(elision.tokens_before.saturating_sub(elision.tokens_after));
            own(index).saturating_sub(elisions.iter().map(freed).sum())
        }
    }
}

/// Counts the tokens that a view begins with and that stay as they are: its first steps, as far as they `stay`.
pub fn unchanged_tokens(path: &[EntryMeta], view: &[ViewItem], stays: impl Fn(&ViewItem) -> bool) -> u64 {
    view.iter().take_while(|item| stays(item)).map(|item| item_tokens(path, item)).sum()
}

fn by_entry(elisions: &[Elision]) -> HashMap<Uuid, Vec<&Elision>> {
    let mut map: HashMap<Uuid, Vec<&Elision>> = HashMap::new();
    for elision in elisions {
        map.entry(elision.entry_id).or_default().push(elision);
    }
    map
}

fn visible<'a>(
    path: &'a [EntryMeta],
    range: Range<usize>,
    elisions: &'a HashMap<Uuid, Vec<&'a Elision>>,
) -> impl Iterator<Item = ViewItem> + 'a {
    visible_indexes(path, range).map(|(index, head)| {
        let own = elisions.get(&head.id).into_iter().flatten().map(|elision| (*elision).clone());
        ViewItem::Entry { index, elisions: own.collect() }
    })
}

/// The entries of a range that put a message before the model.
pub fn visible_indexes(path: &[EntryMeta], range: Range<usize>) -> impl Iterator<Item = (usize, &EntryMeta)> {
    let taken = range.end.saturating_sub(range.start);
    path.iter().enumerate().skip(range.start).take(taken).filter(|(_, head)| head.is_visible())
}

#[cfg(test)]
mod tests;
