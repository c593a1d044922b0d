//! One entry as lines of a pi file.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::file::PiFile;
use super::members::{is_header, replace, set, text, time};
use crate::format::refused;
use crate::format::{self, pi};
use crate::model::compaction::{CompactionRecord, FileLists};
use crate::model::entry::Entry;
use crate::model::format::Format;
use crate::model::json::{mend_surrogates, parse_lenient};
use crate::model::message::{Block, CallKind, Message};
use crate::model::shape::apply_shape;
use crate::summary::transcript::serialise;

/// An item that pi can't hold.
pub(super) const ITEM: &str = "contextd.item";
/// Text in place of a summary where a compaction was taken back and the history is whole again.
const WHOLE_AGAIN: &str = "Nothing is left out here: an earlier summary was taken back, and the history follows whole.";
const VERBATIM: &str = "Kept word for word from before these notes:";

impl PiFile {
    /// An entry that came from pi: as it came, but for what ties it to the rest of the file and for older versions.
    pub(super) fn own(&mut self, entry: &Entry, mut value: Value, record: Option<&CompactionRecord>) -> Vec<String> {
        let id = entry.head.id;
        if is_header(&value) && (self.header.is_none() || self.header_entry == Some(id)) {
            if self.header.is_none() {
                self.header = Some(self.header_of(value));
            }
            self.ids.note(id, entry.parent_id, None);
            return Vec::new();
        }
        if !value.is_object() || is_header(&value) {
            return self.custom(entry, value);
        }
        let own_id = self.ids.own(id);
        let parent = entry.parent_id.and_then(|parent| self.ids.last(parent));
        let mut changed = self.migrate(&mut value, entry, record);
        changed |= replace(&mut value, "id", json!(own_id));
        changed |= replace(&mut value, "parentId", json!(parent));
        if let Some((target, label)) = pi::label(&value) {
            match label {
                Some(label) => self.labels.given.insert(target, label),
                None => self.labels.given.remove(&target),
            };
        }
        self.ids.note(id, entry.parent_id, Some((own_id.clone(), own_id)));
        vec![if changed { value.to_string() } else { one_line(&entry.item) }]
    }

    /// An imported header, in the newest version.
    pub(super) fn header_of(&self, mut value: Value) -> String {
        set(&mut value, "version", Some(json!(3)));
        let made = [
            ("id", json!(self.origin.session_id)),
            ("timestamp", json!(time(self.origin.created_at))),
            ("cwd", json!("/")),
        ];
        for (name, member) in made {
            let missing = text(&value, name).is_none();
            set(&mut value, name, missing.then_some(member));
        }
        value.to_string()
    }

    /// Brings an entry of an older version to the newest.
    fn migrate(&self, value: &mut Value, entry: &Entry, record: Option<&CompactionRecord>) -> bool {
        let mut changed = false;
        if text(value, "timestamp").is_none() {
            set(value, "timestamp", Some(json!(time(entry.created_at))));
            changed = true;
        }
        if let Some(role) = value.pointer_mut("/message/role").filter(|role| *role == "hookMessage") {
            *role = json!("custom");
            changed = true;
        }
        if let Some(record) = record.filter(|_| text(value, "firstKeptEntryId").is_none()) {
            set(value, "firstKeptEntryId", self.first_kept(record).map(Value::String));
            if let Some(fields) = value.as_object_mut() {
                fields.shift_remove("firstKeptEntryIndex");
            }
            changed = true;
        }
        changed
    }

    /// A compaction of the service's own.
    pub(super) fn compaction(&mut self, entry: &Entry, record: &CompactionRecord) -> Vec<String> {
        let summary = match (&record.summary, record.reverts) {
            (Some(summary), _) => self.with_anchors(record, summary) + &running_behind(record),
            (None, None) => return self.custom(entry, json!(record)),
            // Taken back at once: what follows hangs where the compaction hung.
            (None, Some(reverted)) if entry.parent_id == Some(reverted) => {
                self.ids.skip(entry.head.id, reverted);
                return Vec::new();
            }
            (None, Some(_)) => WHOLE_AGAIN.to_owned(),
        };
        let kept = self.first_kept(record);
        let mut line = json!({"type": "compaction", "summary": summary, "tokensBefore": record.tokens_before,
            "details": details(&record.details)});
        set(&mut line, "fromHook", record.from_hook.then(|| json!(true)));
        let system = self.system_behind(entry, record);
        let at = entry.created_at.timestamp_millis();
        let system = system.map(|text| json!({"role": "system", "content": text, "timestamp": at}));
        set(&mut line, "systemMessage", system);
        let id = self.ids.own(entry.head.id);
        set(&mut line, "firstKeptEntryId", Some(json!(kept.unwrap_or_else(|| id.clone()))));
        self.line(entry, id, line)
    }

    pub(super) fn branch_summary(&mut self, entry: &Entry, value: &Value) -> Vec<String> {
        let message = format::native::read(value).ok().and_then(|item| item.message);
        let from = text(value, "from_id").and_then(|id| self.ids.last(Uuid::parse_str(id).ok()?));
        let lists: FileLists =
            value.get("details").and_then(|lists| serde_json::from_value(lists.clone()).ok()).unwrap_or_default();
        let mut line = json!({"type": "branch_summary", "fromId": from.unwrap_or_else(|| "root".to_owned()),
            "summary": message.map(|message| message.plain_text()).unwrap_or_default(), "details": details(&lists)});
        set(&mut line, "fromHook", value.get("from_hook").filter(|hook| **hook == json!(true)).cloned());
        let id = self.ids.own(entry.head.id);
        self.line(entry, id, line)
    }

    /// Messages of another format; what none of pi's messages can say is kept as it came.
    pub(super) fn messages(&mut self, entry: &Entry, value: impl FnOnce() -> Value) -> Vec<String> {
        let written = match self.read(entry) {
            Some(message) => format::write_alone(Format::Pi, message, &mut Vec::new()),
            None => Vec::new(),
        };
        if written.is_empty() {
            return self.custom(entry, value());
        }
        let mut parent = entry.parent_id.and_then(|parent| self.ids.last(parent));
        let (mut lines, mut ids) = (Vec::new(), Vec::new());
        for (n, line) in written.iter().enumerate() {
            let mut line: Value = serde_json::from_str(line).unwrap_or_default();
            let id = if n == 0 { self.ids.own(entry.head.id) } else { self.ids.fresh(&entry.head.id, &n.to_string()) };
            replace(&mut line, "id", json!(id));
            replace(&mut line, "parentId", json!(parent));
            replace(&mut line, "timestamp", json!(time(entry.created_at)));
            if let Some(at) = line.pointer_mut("/message/timestamp") {
                *at = json!(entry.created_at.timestamp_millis());
            }
            lines.push(line.to_string());
            parent = Some(id.clone());
            ids.push(id);
        }
        let ends = ids.first().cloned().zip(ids.last().cloned());
        self.ids.note(entry.head.id, entry.parent_id, ends);
        lines
    }

    fn read(&self, entry: &Entry) -> Option<Message> {
        let mut message = format::read_message(entry.source_format, &entry.item).ok()??;
        apply_shape(&mut message, &entry.head.shape);
        for block in &mut message.content {
            if let Block::ToolResult(result) = block
                && result.name.is_none()
                && result.kind != CallKind::Server
            {
                result.name = self.tool_of(entry.head.id, &result.tool_call_id);
            }
        }
        Some(message)
    }

    /// The tool of the nearest call of this id above an entry.
    fn tool_of(&self, entry_id: Uuid, call_id: &str) -> Option<String> {
        let calls = self.tools.get(call_id)?;
        if !calls.differ {
            return Some(calls.last.clone());
        }
        let parent = |id: &Uuid| {
            self.looks_left.set(self.looks_left.get().checked_sub(1)?);
            self.parents.get(id).copied()
        };
        std::iter::successors(Some(entry_id), parent).find_map(|id| calls.by_caller.get(&id).cloned())
    }

    pub(super) fn note_system(&mut self, entry: &Entry) {
        if let Some(text) = self.systems.get_mut(&entry.head.id) {
            let message = format::read_message(entry.source_format, &entry.item).ok().flatten();
            *text = message.map(|message| message.plain_text()).unwrap_or_default();
        }
    }

    /// Joins the texts of the system messages that stay behind a summary, as pi does.
    fn system_behind(&self, entry: &Entry, record: &CompactionRecord) -> Option<String> {
        if self.systems.is_empty() {
            return None;
        }
        let first = Uuid::parse_str(&record.first_kept_entry_id).ok().filter(|id| *id != entry.head.id);
        let mut kept = Vec::new();
        let mut above = first.and(entry.parent_id);
        while let Some(id) = above {
            kept.push(id);
            above = self.parents.get(&id).copied().filter(|_| Some(id) != first);
        }
        if kept.last().copied() != first {
            kept.clear();
        }
        let ids = record.anchors.iter().chain(kept.iter().rev());
        let texts: Vec<&str> = ids.filter_map(|id| self.systems.get(id).map(String::as_str)).collect();
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    fn custom(&mut self, entry: &Entry, data: Value) -> Vec<String> {
        let id = self.ids.own(entry.head.id);
        self.line(entry, id, json!({"type": "custom", "customType": ITEM, "data": data}))
    }

    /// Ties a line to its place in the file.
    fn line(&mut self, entry: &Entry, id: String, body: Value) -> Vec<String> {
        let parent = entry.parent_id.and_then(|parent| self.ids.last(parent));
        let mut line = json!({"type": null, "id": id, "parentId": parent, "timestamp": time(entry.created_at)});
        for (name, member) in body.as_object().into_iter().flatten() {
            set(&mut line, name, Some(member.clone()));
        }
        self.ids.note(entry.head.id, entry.parent_id, Some((id.clone(), id)));
        vec![line.to_string()]
    }

    /// The id of the first kept entry: the service's own ids are found by entry, pi's stay as they are.
    fn first_kept(&self, record: &CompactionRecord) -> Option<String> {
        match Uuid::parse_str(&record.first_kept_entry_id) {
            Ok(id) => self.ids.first(id),
            Err(_) => Some(record.first_kept_entry_id.clone()).filter(|id| !id.is_empty()),
        }
    }

    pub(super) fn note_anchor(&mut self, entry: &Entry) {
        // System messages go where pi looks for them.
        if !self.anchors.wanted.contains(&entry.head.id) || self.systems.contains_key(&entry.head.id) {
            return;
        }
        if let Ok(Some(message)) = format::read_message(entry.source_format, &entry.item) {
            self.anchors.texts.insert(entry.head.id, serialise(&[message]));
        }
    }

    fn with_anchors(&self, record: &CompactionRecord, summary: &str) -> String {
        let texts = record.anchors.iter().filter_map(|id| self.anchors.texts.get(id).map(String::as_str));
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        if texts.is_empty() {
            return summary.to_owned();
        }
        format!("{VERBATIM}\n\n{}\n\n{summary}", texts.join("\n\n"))
    }
}

/// pi has no place for a message behind a summary.
fn running_behind(record: &CompactionRecord) -> String {
    record.running.as_ref().map(|running| format!("\n\n{}", running.text)).unwrap_or_default()
}

fn details(lists: &FileLists) -> Value {
    json!({"readFiles": lists.read_files, "modifiedFiles": lists.modified_files})
}

/// A JSON text without line breaks: between the tokens of a text there may be some, inside a string none.
pub fn one_line(item: &str) -> String {
    if item.contains(['\n', '\r']) { item.replace(['\n', '\r'], " ") } else { item.to_owned() }
}

/// An entry of a path as a line in its own format, or written in another; none where it says nothing there. `tools`:
/// names by call id, for results that don't say whose they are.
pub fn as_items(entry: &Entry, target: Format, tools: &HashMap<String, String>) -> Vec<String> {
    if entry.source_format == target {
        let line = one_line(&entry.item);
        // What a provider is sent holds no halves of characters; a file has them as they came.
        return vec![if target.is_file_only() { line } else { whole_characters(&line, target) }];
    }
    let message = format::read_message(entry.source_format, &entry.item).ok().flatten();
    let told = message.and_then(|message| match target {
        Format::Native => Some(message),
        _ => pi::for_provider(message),
    });
    let Some(mut message) = told else { return Vec::new() };
    apply_shape(&mut message, &entry.head.shape);
    for block in &mut message.content {
        if let Block::ToolResult(result) = block
            && result.name.is_none()
        {
            result.name = tools.get(&result.tool_call_id).cloned();
        }
    }
    as_message(message, target)
}

/// The lines of a message in a format.
pub fn as_message(message: Message, target: Format) -> Vec<String> {
    format::write_alone(target, message, &mut Vec::new())
}

/// A line without halves of characters, neither its own nor those of arguments that are JSON in a string.
fn whole_characters(line: &str, format: Format) -> String {
    let whole = mend_surrogates(line);
    match parse_lenient(&whole).ok().filter(|_| whole.contains("\\\\u")) {
        Some(value) => refused::mended(format, value).to_string(),
        None => whole.into_owned(),
    }
}
