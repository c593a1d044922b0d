//! The ids of a pi file: those that entries came with, and made-up ones (8 hex digits) for all others.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

#[derive(Default)]
pub struct PiIds {
    used: HashSet<String>,
    own: HashMap<Uuid, String>,
    /// The first and the last line of each entry; `None`: it has none, and what hangs under it hangs under `parent`.
    lines: HashMap<Uuid, Option<(String, String)>>,
    parents: HashMap<Uuid, Option<Uuid>>,
}

impl PiIds {
    /// Keeps an entry's own id for it, unless an earlier one has it.
    pub fn reserve(&mut self, entry_id: Uuid, source_id: Option<&str>) {
        if let Some(id) = source_id.filter(|id| !id.is_empty() && self.used.insert((*id).to_owned())) {
            self.own.insert(entry_id, id.to_owned());
        }
    }

    /// The id that an entry came with, or else a made-up one.
    pub fn own(&mut self, entry_id: Uuid) -> String {
        self.own.get(&entry_id).cloned().unwrap_or_else(|| self.fresh(&entry_id, ""))
    }

    /// An id that nothing else in the file has; the same for the same entry.
    pub fn fresh(&mut self, entry_id: &Uuid, what: &str) -> String {
        let mut attempt = 0_u64;
        loop {
            let digest = blake3::hash(format!("{entry_id}/{what}/{attempt}").as_bytes()).to_hex();
            let id: String = digest.chars().take(8).collect();
            if self.used.insert(id.clone()) {
                return id;
            }
            attempt += 1;
        }
    }

    /// Notes which lines an entry has become; `lines` is `None` where it left none.
    pub fn note(&mut self, entry_id: Uuid, parent_id: Option<Uuid>, lines: Option<(String, String)>) {
        self.parents.insert(entry_id, parent_id);
        // Through entries without lines, at once: a chain of them is walked only here.
        let through = lines.or_else(|| self.lines.get(&parent_id?).cloned().flatten());
        self.lines.insert(entry_id, through);
    }

    /// Lets an entry stand for what was before its parent: neither shows in what hangs under it.
    pub fn skip(&mut self, entry_id: Uuid, parent_id: Uuid) {
        let before = self.parents.get(&parent_id).copied().flatten();
        self.note(entry_id, before, None);
    }

    /// The line that what hangs under this entry names as its parent.
    pub fn last(&self, entry_id: Uuid) -> Option<String> {
        self.lines.get(&entry_id)?.as_ref().map(|(_, last)| last.clone())
    }

    /// The first line of an entry.
    pub fn first(&self, entry_id: Uuid) -> Option<String> {
        self.lines.get(&entry_id)?.as_ref().map(|(first, _)| first.clone())
    }

    /// The parent of an entry's first line.
    pub fn parent_of(&self, entry_id: Uuid) -> Option<String> {
        self.last(self.parents.get(&entry_id).copied().flatten()?)
    }
}
