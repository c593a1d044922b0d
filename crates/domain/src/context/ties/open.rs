//! What a provider has begun and not ended: a program without its output, an approval whose call is to come, code whose
//! result is to come. What comes names by its id what is there, so the beginning must still be there then.

use std::collections::HashMap;

use super::{TieKey, TieKind, needs, opens};
use crate::model::entry::EntryMeta;
use crate::model::shape::{ShapeKind, is_generated_id};

/// So many turns may begin behind what is open before nothing more is expected of it.
const PATIENCE: usize = 8;

/// Where the first of the open ones begins, which is tied to the end of these entries. Given up is what the user has left
/// behind for [`PATIENCE`] turns, and what would hold more than `most_tokens` up to the end: it must not keep all that
/// follows from being compacted.
pub fn open_from(entries: &[&EntryMeta], most_tokens: u64) -> Option<usize> {
    let mut opening = Opening::default();
    for (index, head) in entries.iter().enumerate() {
        opening.take(index, head);
    }
    // Turns and tokens from each entry on, asked for from the end.
    let mut behind: Vec<(usize, u64)> = Vec::with_capacity(entries.len() + 1);
    behind.push((0, 0));
    for head in entries.iter().rev() {
        let (turns, tokens) = behind.last().copied().unwrap_or_default();
        let tokens = tokens + if head.is_visible() { u64::from(head.tokens) } else { 0 };
        behind.push((turns + usize::from(head.starts_turn()), tokens));
    }
    let from = |index: usize| behind.get(entries.len().saturating_sub(index)).copied().unwrap_or_default();
    let expected = |open: &&OpenUnit| from(open.last + 1).0 <= PATIENCE && from(open.first).1 <= most_tokens;
    opening.units().filter(expected).map(|open| open.first).min()
}

/// From where it was begun to what came last of it.
#[derive(Clone, Copy)]
struct OpenUnit {
    first: usize,
    last: usize,
}

#[derive(Default)]
struct Opening<'e> {
    open: HashMap<TieKey<'e>, OpenUnit>,
    /// The agent's calls that code made, and what they belong to.
    made: HashMap<&'e str, TieKey<'e>>,
    /// Those without an id, oldest first.
    unnamed: Vec<OpenUnit>,
}

impl<'e> Opening<'e> {
    fn take(&mut self, index: usize, head: &'e EntryMeta) {
        for key in opens(head).filter(|key| key.kind() == TieKind::Link) {
            self.open.insert(key, OpenUnit { first: index, last: index });
        }
        for key in needs(head) {
            let key = match key {
                TieKey::Call(id) => self.made.get(id).copied(),
                TieKey::Link(_) => Some(key),
            };
            if let Some(open) = key.and_then(|key| self.open.get_mut(&key)) {
                open.last = index;
            }
        }
        let maker = head.shape.links.needs.iter().map(|id| TieKey::Link(id)).find(|key| self.open.contains_key(key));
        if let Some(maker) = maker {
            self.made.extend(head.shape.calls.iter().map(|call| (call.id.as_str(), maker)));
        }
        let ended = head.shape.results.iter().filter(|result| result.kind == ShapeKind::Server);
        let ended = ended.map(|result| result.call_id.as_str());
        for id in ended.chain(head.shape.links.closes.iter().map(String::as_str)) {
            self.open.remove(&TieKey::Link(id));
        }
        self.take_unnamed(index, head);
    }

    fn take_unnamed(&mut self, index: usize, head: &'e EntryMeta) {
        for call in head.shape.calls.iter().filter(|call| call.kind == ShapeKind::Server) {
            if is_generated_id(&call.id, head.seq) {
                self.open.remove(&TieKey::Link(&call.id));
                self.unnamed.push(OpenUnit { first: index, last: index });
            }
        }
        let is_unnamed = |kind: ShapeKind, id: &str| kind == ShapeKind::Server && id.is_empty();
        for _ in head.shape.results.iter().filter(|result| is_unnamed(result.kind, &result.call_id)) {
            self.unnamed.pop();
        }
    }

    fn units(&self) -> impl Iterator<Item = &OpenUnit> {
        self.open.values().chain(&self.unnamed)
    }
}

#[cfg(test)]
mod tests;
