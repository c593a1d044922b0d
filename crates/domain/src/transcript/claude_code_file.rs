//! A whole session as a Claude Code file: its own lines as they came, all others as lines that hang under them.
//!
//! Compactions of the service's own are left out: Claude Code reads the history whole, and compacts it itself.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::pi_export::{Exported, as_items};
use crate::model::entry::Entry;
use crate::model::format::Format;
use crate::model::json;

/// Writes entries as lines, parents first.
pub struct ClaudeCodeFile {
    session_id: Uuid,
    /// The line that what hangs under an entry names as its parent.
    last: HashMap<Uuid, Option<String>>,
    lines: String,
}

impl ClaudeCodeFile {
    pub fn new(session_id: Uuid) -> ClaudeCodeFile {
        ClaudeCodeFile { session_id, last: HashMap::new(), lines: String::new() }
    }

    /// Writes the next entry.
    pub fn push(&mut self, exported: &Exported<'_>) {
        let entry = exported.entry;
        let parent = entry.parent_id.and_then(|parent| self.last.get(&parent).cloned().flatten());
        let is_own = entry.source_format == Format::ClaudeCode;
        // A compaction of the service's own is no line.
        let is_ours = exported.record.is_some() && entry.source_format == Format::Native;
        let mut last = parent;
        let items = if is_ours { Vec::new() } else { as_items(entry, Format::ClaudeCode, &HashMap::new()) };
        for (n, item) in items.into_iter().enumerate() {
            if is_own {
                last = entry.source_id.clone().or(last);
                self.lines.push_str(&item);
            } else {
                let id = line_id(entry.head.id, n);
                self.lines.push_str(&self.hung(entry, &item, &id, last.as_deref()));
                last = Some(id);
            }
            self.lines.push('\n');
        }
        self.last.insert(entry.head.id, last);
    }

    fn hung(&self, entry: &Entry, item: &str, id: &str, parent: Option<&str>) -> String {
        let mut line = json::parse_lenient(item).unwrap_or_default();
        line["uuid"] = json!(id);
        line["parentUuid"] = json!(parent);
        line["sessionId"] = json!(self.session_id);
        line["timestamp"] = json!(super::pi_export::time(entry.created_at));
        if let Some(message_id) = line.pointer_mut("/message/id") {
            *message_id = Value::from(format!("msg_{}", entry.head.id.simple()));
        }
        line.to_string()
    }

    /// The lines written since they were taken last.
    pub fn take_lines(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }
}

/// The entry's own id for its first line, made-up ones for further lines.
fn line_id(entry_id: Uuid, n: usize) -> String {
    if n == 0 {
        return entry_id.to_string();
    }
    let digest = blake3::hash(format!("{entry_id}/{n}").as_bytes());
    let [bytes, _] = digest.as_bytes().as_chunks::<16>().0 else { return entry_id.to_string() };
    Uuid::from_bytes(*bytes).to_string()
}
