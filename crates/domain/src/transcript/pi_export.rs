//! A whole session as a pi session file (JSONL, version 3): every branch, the leaf's path last.
//!
//! pi's own entries keep their words and their ids. What pi can't say in an entry of its own is a `custom` entry, which
//! pi shows to nobody. A compaction of the service is pi's `compaction`: what it keeps word for word before the summary
//! stands at the head of the summary, because pi has no place for it; results shown shorter are whole again.

mod entries;
mod file;
mod ids;
mod members;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::compaction::CompactionRecord;
use crate::model::entry::{Entry, EntryMeta};
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::json;
use crate::model::message::Role;
use file::PiFile;
use members::{is_header, set};

pub use entries::{as_items, as_message};
pub use file::Origin;
pub use members::time;

/// Custom type of the entry for a leaf that is not the end of its branch: pi begins where the file ends.
const LEAF: &str = "contextd.leaf";
/// One entry on its way into the file.
pub struct Exported<'a> {
    pub entry: &'a Entry,
    pub record: Option<&'a CompactionRecord>,
    pub label: Option<&'a str>,
}

/// Facts of an entry that must be known before the first line is written.
pub struct ExportedEntry<'a> {
    pub head: &'a EntryMeta,
    pub parent_id: Option<Uuid>,
    pub source_format: Format,
    pub source_id: Option<&'a str>,
    pub record: Option<&'a CompactionRecord>,
}

/// Writes entries as lines, parents first.
pub struct Exporter {
    file: PiFile,
    leaf_id: Option<Uuid>,
    /// Nothing hangs under the leaf, so its lines can be the last.
    leaf_is_last: bool,
    leaf_is_label: bool,
    /// Nothing was written yet.
    is_empty: bool,
    lines: String,
    leaf_lines: String,
}

impl Exporter {
    /// Prepares a file. What it is to hold is made known first ([`Exporter::know`]), then written in the same order.
    pub fn new(leaf_id: Option<Uuid>, origin: Origin) -> Exporter {
        Exporter {
            file: PiFile::new(origin),
            leaf_is_last: leaf_id.is_some(),
            leaf_is_label: false,
            leaf_id,
            is_empty: true,
            lines: String::new(),
            leaf_lines: String::new(),
        }
    }

    /// Takes in what must be known of an entry. To be called for all of them, parents first, before the first is written.
    pub fn know(&mut self, entry: &ExportedEntry<'_>) {
        if entry.source_format == Format::Pi {
            self.file.ids.reserve(entry.head.id, entry.source_id);
        }
        self.leaf_is_last &= entry.parent_id != self.leaf_id;
        self.leaf_is_label |= Some(entry.head.id) == self.leaf_id && entry.head.kind == EntryType::Label;
        self.file.parents.extend(entry.parent_id.map(|parent| (entry.head.id, parent)));
        for call in &entry.head.shape.calls {
            self.file.tools.entry(call.id.clone()).or_default().add(entry.head.id, &call.name);
        }
        if matches!(entry.head.role, Some(Role::System | Role::Developer)) {
            self.file.systems.insert(entry.head.id, String::new());
        }
        self.file.anchors.wanted.extend(entry.record.iter().flat_map(|record| record.anchors.iter().copied()));
    }

    /// Lets an entry give the file its header, if it is one. What is found so is the header, whatever else is written.
    pub fn lead(&mut self, entry: &Entry) -> bool {
        let value = json::parse_lenient(&entry.item).unwrap_or_default();
        let leads = entry.source_format == Format::Pi && self.file.header.is_none() && is_header(&value);
        if leads {
            self.file.header = Some(self.file.header_of(value));
            self.file.header_entry = Some(entry.head.id);
        }
        leads
    }

    /// Writes the next entry.
    pub fn push(&mut self, exported: &Exported<'_>) {
        let entry = exported.entry;
        self.file.note_anchor(entry);
        self.file.note_system(entry);
        let value = || json::parse_lenient(&entry.item).unwrap_or_default();
        let written = match (exported.record, entry.source_format) {
            (record, Format::Pi) => self.file.own(entry, value(), record),
            (Some(record), _) => self.file.compaction(entry, record),
            _ if entry.head.kind == EntryType::BranchSummary => self.file.branch_summary(entry, &value()),
            _ => self.file.messages(entry, value),
        };
        self.is_empty &= written.is_empty();
        let lines = if self.leaf_is_last && self.leaf_id == Some(entry.head.id) {
            &mut self.leaf_lines
        } else {
            &mut self.lines
        };
        for line in &written {
            lines.push_str(line);
            lines.push('\n');
        }
        self.file.labels.wanted.push((entry.head.id, exported.label.map(str::to_owned)));
    }

    /// The first line.
    pub fn header(&mut self) -> String {
        let made = || {
            let (id, at) = (self.file.origin.session_id, time(self.file.origin.created_at));
            json!({"type": "session", "version": 3, "id": id, "timestamp": at, "cwd": "/"}).to_string()
        };
        format!("{}\n", self.file.header.get_or_insert_with(made))
    }

    /// The lines written since they were taken last, but for those that must be the last of all.
    pub fn take_lines(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    /// The last lines.
    pub fn finish(mut self) -> String {
        self.add_labels();
        if self.leaf_lines.is_empty() && !self.is_empty {
            let under = self.leaf_id.and_then(|id| self.file.ids.last(id));
            let id = self.file.ids.fresh(&self.file.origin.session_id, LEAF);
            let marker = json!({"type": "custom", "id": id, "parentId": under,
                "timestamp": time(self.file.origin.updated_at), "customType": LEAF});
            self.leaf_lines = format!("{marker}\n");
        }
        self.lines + &self.leaf_lines
    }

    /// Labels that no entry of the file gives or takes: each beside the entry that it is for.
    fn add_labels(&mut self) {
        let mut added = String::new();
        for (entry_id, label) in std::mem::take(&mut self.file.labels.wanted) {
            let Some(target) = self.file.ids.last(entry_id) else { continue };
            if self.file.labels.given.get(&target) == label.as_ref() {
                continue;
            }
            let id = self.file.ids.fresh(&entry_id, "label");
            let mut line = json!({"type": "label", "id": id, "parentId": self.file.ids.parent_of(entry_id),
                "timestamp": time(self.file.origin.updated_at), "targetId": target});
            set(&mut line, "label", label.map(Value::String));
            added.push_str(&format!("{line}\n"));
        }
        // The last label of a target counts.
        if self.leaf_is_label && !added.is_empty() {
            self.lines.push_str(&std::mem::take(&mut self.leaf_lines));
        }
        self.lines.push_str(&added);
    }
}

#[cfg(test)]
mod tests;
