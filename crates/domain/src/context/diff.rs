//! What a compaction changed: a context before and after, entry by entry.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::view::{ViewItem, item_tokens};
use crate::model::entry::EntryMeta;

/// A message of a context, told by its entry; of a compaction, its summary. Tokens are estimates.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ShownEntry {
    pub entry_id: Uuid,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u64,
    /// It is shown shorter than it is.
    pub elided: bool,
}

/// What became of a message: it is as it was (`kept`), the same although it stands before the cut (`anchored`), shown
/// shorter (`elided`), or told by a summary or a chapter (`summarised`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Kept,
    Summarised,
    Elided,
    Anchored,
}

/// What became of a message of the context before.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Change {
    pub kind: ChangeKind,
    pub entry_id: Uuid,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// How many messages became what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChangeCounts {
    pub kept: u64,
    pub summarised: u64,
    pub elided: u64,
    pub anchored: u64,
}

/// The messages of a view.
pub fn shown(heads: &[EntryMeta], view: &[ViewItem]) -> Vec<ShownEntry> {
    let entry = |item: &ViewItem| {
        let (index, elided) = match item {
            ViewItem::Summary { compaction } => (*compaction, false),
            ViewItem::Entry { index, elisions } => (*index, !elisions.is_empty()),
        };
        let head = heads.get(index)?;
        let (kind, role) = (head.kind.into_str(), head.role.map(|role| role.into_str()));
        Some(ShownEntry { entry_id: head.id, kind, role, tokens: item_tokens(heads, item), elided })
    };
    view.iter().filter_map(entry).collect()
}

/// Two contexts, message by message.
pub struct Diff {
    pub before: Vec<ShownEntry>,
    pub after: Vec<ShownEntry>,
    /// One for each of `before`, in its order.
    pub changes: Vec<Change>,
    /// For each of `after`, the place in `before` with which it is told: its own or, of what is new, the next one's.
    places: Vec<usize>,
}

impl Diff {
    /// Compares the context that a compaction found with the one that it left.
    pub fn of(before: Vec<ShownEntry>, after: Vec<ShownEntry>, anchors: &[Uuid]) -> Diff {
        let stays: HashMap<Uuid, u64> = after.iter().map(|entry| (entry.entry_id, entry.tokens)).collect();
        let anchors: HashSet<Uuid> = anchors.iter().copied().collect();
        let change = |entry: &ShownEntry| {
            let left = stays.get(&entry.entry_id).copied();
            let kind = match left {
                None => ChangeKind::Summarised,
                Some(tokens) if tokens < entry.tokens => ChangeKind::Elided,
                Some(_) if anchors.contains(&entry.entry_id) => ChangeKind::Anchored,
                Some(_) => ChangeKind::Kept,
            };
            let tokens_after = left.unwrap_or(0);
            Change { kind, entry_id: entry.entry_id, tokens_before: entry.tokens, tokens_after }
        };
        let changes = before.iter().map(change).collect();
        let places = places(&before, &after);
        Diff { before, after, changes, places }
    }

    pub fn counts(&self) -> ChangeCounts {
        let of = |kind: ChangeKind| self.changes.iter().filter(|change| change.kind == kind).count() as u64;
        ChangeCounts {
            kept: of(ChangeKind::Kept),
            summarised: of(ChangeKind::Summarised),
            elided: of(ChangeKind::Elided),
            anchored: of(ChangeKind::Anchored),
        }
    }

    /// The part that begins with a place of `before`, and where the next one begins. All parts together are the whole.
    pub fn part(&self, from: usize, length: usize) -> (Diff, Option<usize>) {
        let from = from.min(self.before.len());
        let to = from.saturating_add(length).min(self.before.len());
        let is_last = to == self.before.len();
        let is_within = |place: usize| from <= place && (place < to || is_last);
        let after = self.after.iter().zip(&self.places).filter(|(_, place)| is_within(**place));
        let (after, places) = after.map(|(entry, place)| (entry.clone(), *place)).unzip();
        let part = Diff {
            before: self.before.get(from..to).unwrap_or_default().to_vec(),
            changes: self.changes.get(from..to).unwrap_or_default().to_vec(),
            after,
            places,
        };
        (part, (!is_last).then_some(to))
    }
}

fn places(before: &[ShownEntry], after: &[ShownEntry]) -> Vec<usize> {
    let known: HashMap<Uuid, usize> = before.iter().enumerate().map(|(place, entry)| (entry.entry_id, place)).collect();
    let mut next = before.len();
    let mut places: Vec<usize> = Vec::with_capacity(after.len());
    for entry in after.iter().rev() {
        next = known.get(&entry.entry_id).copied().unwrap_or(next).min(next);
        places.push(next);
    }
    places.reverse();
    places
}

#[cfg(test)]
mod tests;
