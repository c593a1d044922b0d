//! A whole session as a pi session file (JSONL, version 3): every branch, the leaf's path last.
//!
//! pi's own entries keep their words and their ids. What pi can't say in an entry of its own is a `custom` entry, which
//! pi shows to nobody. A compaction of the service is pi's `compaction`: what it keeps word for word before the summary
//! stands at the head of the summary, because pi has no place for it; results shown shorter are whole again.

mod entries;
mod ids;

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::{Entry, EntryHead, EntryType};
use crate::domain::format::Format;
use crate::domain::json;
pub use entries::as_items;
use ids::Ids;

/// What stands for a leaf that is not the end of its branch: pi begins where the file ends.
const LEAF: &str = "contextd.leaf";
/// An item that pi can't hold.
const ITEM: &str = "contextd.item";

/// One entry on its way into the file.
pub struct Exported<'a> {
    pub entry: &'a Entry,
    pub record: Option<&'a CompactionRecord>,
    pub label: Option<&'a str>,
}

/// What must be known of an entry before the first line is written.
pub struct Known<'a> {
    pub head: &'a EntryHead,
    pub parent_id: Option<Uuid>,
    pub source_format: Format,
    pub source_id: Option<&'a str>,
    pub record: Option<&'a CompactionRecord>,
}

/// The file's header, where no header was imported.
pub struct Origin {
    pub session_id: Uuid,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Writes entries as lines, parents first.
pub struct Exporter {
    ids: Ids,
    origin: Origin,
    leaf_id: Option<Uuid>,
    /// Nothing hangs under the leaf, so its lines can be the last.
    leaf_is_last: bool,
    leaf_is_label: bool,
    header: Option<String>,
    lines: String,
    leaf_lines: String,
    /// Names of tools by call.
    tools: HashMap<String, String>,
    anchors: Anchors,
    labels: Labels,
}

/// Entries that compactions keep word for word before their summary, as they pass.
#[derive(Default)]
struct Anchors {
    wanted: HashSet<Uuid>,
    texts: HashMap<Uuid, String>,
}

/// Labels as the file's own entries give them, and as they should be.
#[derive(Default)]
struct Labels {
    given: HashMap<String, String>,
    wanted: Vec<(Uuid, Option<String>)>,
}

impl Exporter {
    /// Prepares a file of all the entries known, in the order in which they will be pushed.
    pub fn new<'a>(known: impl Iterator<Item = Known<'a>>, leaf_id: Option<Uuid>, origin: Origin) -> Exporter {
        let mut exporter = Exporter {
            ids: Ids::default(),
            origin,
            leaf_is_last: leaf_id.is_some(),
            leaf_is_label: false,
            leaf_id,
            header: None,
            lines: String::new(),
            leaf_lines: String::new(),
            tools: HashMap::new(),
            anchors: Anchors::default(),
            labels: Labels::default(),
        };
        for entry in known {
            if entry.source_format == Format::Pi {
                exporter.ids.reserve(entry.head.id, entry.source_id);
            }
            exporter.leaf_is_last &= entry.parent_id != leaf_id;
            exporter.leaf_is_label |= Some(entry.head.id) == leaf_id && entry.head.kind == EntryType::Label;
            let calls = entry.head.shape.calls.iter().map(|call| (call.id.clone(), call.name.clone()));
            exporter.tools.extend(calls);
            exporter.anchors.wanted.extend(entry.record.iter().flat_map(|record| record.anchors.iter().copied()));
        }
        exporter
    }

    /// Writes the next entry.
    pub fn push(&mut self, exported: &Exported<'_>) {
        let entry = exported.entry;
        self.note_anchor(entry);
        let value = json::parse_lenient(&entry.item).unwrap_or_default();
        let written = match (exported.record, entry.source_format) {
            (record, Format::Pi) => self.own(entry, value, record),
            (Some(record), _) => self.compaction(entry, record),
            _ if entry.head.kind == EntryType::BranchSummary => self.branch_summary(entry, &value),
            _ => self.messages(entry, value),
        };
        let lines = if self.leaf_is_last && self.leaf_id == Some(entry.head.id) {
            &mut self.leaf_lines
        } else {
            &mut self.lines
        };
        for line in &written {
            lines.push_str(line);
            lines.push('\n');
        }
        self.labels.wanted.push((entry.head.id, exported.label.map(str::to_owned)));
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        self.add_labels();
        if self.leaf_lines.is_empty() && !self.lines.is_empty() {
            let under = self.leaf_id.and_then(|id| self.ids.last(id));
            let id = self.ids.fresh(&self.origin.session_id, LEAF);
            let marker = json!({"type": "custom", "id": id, "parentId": under,
                "timestamp": time(self.origin.updated_at), "customType": LEAF});
            self.leaf_lines = format!("{marker}\n");
        }
        let made = || {
            let (id, at) = (self.origin.session_id, time(self.origin.created_at));
            json!({"type": "session", "version": 3, "id": id, "timestamp": at, "cwd": "/"}).to_string()
        };
        let header = self.header.clone().unwrap_or_else(made);
        format!("{header}\n{}{}", self.lines, self.leaf_lines)
    }

    /// Labels that no entry of the file gives or takes: each beside the entry that it is for.
    fn add_labels(&mut self) {
        let mut added = String::new();
        for (entry_id, label) in std::mem::take(&mut self.labels.wanted) {
            let Some(target) = self.ids.last(entry_id) else { continue };
            if self.labels.given.get(&target) == label.as_ref() {
                continue;
            }
            let id = self.ids.fresh(&entry_id, "label");
            let mut line = json!({"type": "label", "id": id, "parentId": self.ids.parent_of(entry_id),
                "timestamp": time(self.origin.updated_at), "targetId": target});
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

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Sets a member of an object, or leaves it as it is.
fn set(value: &mut Value, name: &str, member: Option<Value>) {
    if let (Some(fields), Some(member)) = (value.as_object_mut(), member) {
        fields.insert(name.to_owned(), member);
    }
}

#[cfg(test)]
mod tests;
