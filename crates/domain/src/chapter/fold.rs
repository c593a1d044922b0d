//! Folding: which entries of a path a chapter hides, and where it stands in their place.

use std::collections::HashMap;

use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::fold::ShownFold;

/// One place of a folded path. Numbers are indexes into the path and into the folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Entry(usize),
    Chapter { entry: usize, fold: usize },
}

/// A path with its chapters in place. `path` ascends by depth and may leave out what is hidden; `folds` ascend by place
/// and hide nothing twice. A chapter that is in no fold is shown nowhere.
pub fn arrange(path: &[EntryMeta], folds: &[ShownFold]) -> Vec<Slot> {
    let chapters = path.iter().enumerate().filter(|(_, head)| head.kind == EntryType::Chapter);
    let entries: HashMap<i64, usize> = chapters.map(|(index, head)| (head.depth, index)).collect();
    let slot = |fold: usize| {
        let entry = folds.get(fold).and_then(|shown| entries.get(&shown.fold.depth)).copied()?;
        Some(Slot::Chapter { entry, fold })
    };
    let mut slots = Vec::with_capacity(path.len());
    let mut next = 0;
    for (index, head) in path.iter().enumerate() {
        while folds.get(next).is_some_and(|shown| shown.fold.place <= head.depth) {
            slots.extend(slot(next));
            next += 1;
        }
        let current = next.checked_sub(1).and_then(|last| folds.get(last));
        let hidden = current.is_some_and(|shown| shown.fold.hides(head.depth));
        if head.kind != EntryType::Chapter && !hidden {
            slots.push(Slot::Entry(index));
        }
    }
    slots.extend((next..folds.len()).filter_map(slot));
    slots
}
