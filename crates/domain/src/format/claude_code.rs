//! The lines of a Claude Code session file (JSONL): messages of Anthropic's with what is known around them.
//!
//! A line with a `uuid` hangs under its `parentUuid`. An answer is told in several lines, one block each, of one
//! `message.id`; lines of a subagent (`isSidechain`) make trees of their own; lines without `uuid` stand where they are.
//! A compaction is a `compact_boundary`, whose `logicalParentUuid` is what was before it, and behind it the user's line
//! with the summary (`isCompactSummary`). Facts as of November 2026.

mod link;
mod write;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::anthropic;
use super::field::{flag, object, required_string, string};
use super::keys::{Object, fail};
use super::link::named_parent;
use crate::model::compaction::CompactionRecord;
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, Message, Opaque};

pub use link::{link, names};
pub use write::write;

/// Reads one line. A type that is not known says nothing to the model.
///
/// # Errors
/// No object, no `type`, or a message that is none.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let line = object(value, "")?;
    let kind = required_string(line, "type", "")?;
    let mut item = Item {
        kind: EntryType::Custom,
        message: None,
        source_id: string(line, "uuid", "")?.map(str::to_owned),
        source_parent: line.get("parentUuid").map(named_parent),
        usage: None,
        stop: None,
        needs_repair: false,
    };
    match kind {
        "user" | "assistant" => read_message(line, kind, &mut item)?,
        "summary" | "custom-title" | "ai-title" => item.kind = EntryType::SessionInfo,
        _ => {}
    }
    Ok(item)
}

fn read_message(line: &Object, kind: &str, item: &mut Item) -> Result<(), ItemError> {
    let Some(message) = line.get("message").filter(|message| message.is_object()) else {
        return fail("/message", "must be an object");
    };
    if message["role"] != kind {
        return fail("/message/role", format!("must be {kind:?}, as the line's type"));
    }
    let mut read =
        anthropic::read(message).map_err(|error| ItemError::new(format!("/message{}", error.pointer), error.detail))?;
    if is_summary(line) {
        item.kind = EntryType::Compaction;
        return Ok(());
    }
    // What went wrong, and what only the user was shown, is told to no model.
    if flag(line, "isApiErrorMessage", "")? || flag(line, "isVisibleInTranscriptOnly", "")? {
        return Ok(());
    }
    if let Some(message) = &mut read.message {
        item.needs_repair = message.lacks_ids();
        note_denial(line, message);
        if let Some(opaque) = &mut message.opaque
            && let Some(fields) = opaque.value.as_object_mut()
        {
            fields.retain(|name, _| matches!(name.as_str(), "role" | "content" | "model"));
        }
    }
    (item.kind, item.message, item.usage, item.stop) = (EntryType::Message, read.message, read.usage, read.stop);
    Ok(())
}

/// Keeps with a line's results the field that says that the call was not let run.
fn note_denial(line: &Object, message: &mut Message) {
    let Some(kind) = line.get("toolDenialKind").filter(|kind| kind.is_string()) else { return };
    for block in &mut message.content {
        if let Block::ToolResult(result) = block {
            result.opaque = Some(Opaque { format: Format::ClaudeCode, value: json!({"toolDenialKind": kind}) });
        }
    }
}

fn is_summary(line: &Object) -> bool {
    line.get("isCompactSummary") == Some(&Value::Bool(true))
}

/// Reads the user's line behind a compaction; `None` for any other.
pub fn compaction_record(value: &Value) -> Option<CompactionRecord> {
    let message = value.as_object().filter(|line| is_summary(line))?.get("message")?;
    let summary = anthropic::read(message).ok()?.message?.plain_text();
    Some(CompactionRecord { summary: Some(summary), ..CompactionRecord::default() })
}
