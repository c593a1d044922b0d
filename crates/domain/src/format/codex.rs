//! The lines of a Codex rollout file (JSONL): items of OpenAI's Responses API and what happened around them.
//!
//! `{timestamp, type, payload}`, one after the other. A `response_item` holds an item, `compacted` the summary of all
//! before it (none where the provider compacted, which only that can read); nothing else is told to a model. Facts as
//! of November 2026.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::field::{object, required_string};
use super::keys::fail;
use super::openai_responses;
use super::write::{Note, Piece};
use crate::model::compaction::CompactionRecord;
use crate::model::entry_type::EntryType;
use crate::model::item::{Item, ItemError};

/// Reads one line. A type that is not known says nothing to the model.
///
/// # Errors
/// No object, no `type`, or an item that is none.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let line = object(value, "")?;
    let kind = required_string(line, "type", "")?;
    let nothing = |kind| Item {
        kind,
        message: None,
        source_id: None,
        source_parent: None,
        usage: None,
        stop: None,
        needs_repair: false,
    };
    match kind {
        "response_item" => {
            let Some(payload) = line.get("payload").filter(|payload| payload.is_object()) else {
                return fail("/payload", "must be an object");
            };
            // A picture of the work tree, which Codex keeps for itself.
            if payload["type"] == "ghost_snapshot" {
                return Ok(nothing(EntryType::Custom));
            }
            let read = openai_responses::read(payload)
                .map_err(|error| ItemError::new(format!("/payload{}", error.pointer), error.detail))?;
            let needs_repair = read.message.as_ref().is_some_and(|message| message.lacks_ids());
            Ok(Item { source_id: None, needs_repair, ..read })
        }
        "compacted" if compaction_record(value).is_some() => Ok(nothing(EntryType::Compaction)),
        "session_meta" => Ok(nothing(EntryType::SessionInfo)),
        _ => Ok(nothing(EntryType::Custom)),
    }
}

/// Reads a `compacted` line; `None` for any other, and for one without words.
pub fn compaction_record(value: &Value) -> Option<CompactionRecord> {
    if value.get("type")? != "compacted" {
        return None;
    }
    let summary = value.pointer("/payload/message")?.as_str().filter(|summary| !summary.trim().is_empty())?;
    Some(CompactionRecord { summary: Some(summary.to_owned()), ..CompactionRecord::default() })
}

/// Writes messages as lines without a time: that is the file's to give.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let items = openai_responses::write(pieces, notes);
    let line = |item: String| match serde_json::from_str::<Value>(&item) {
        Ok(line) if line.get("payload").is_some() => item,
        Ok(item) => json!({"timestamp": null, "type": "response_item", "payload": item}).to_string(),
        Err(_) => item,
    };
    items.into_iter().map(line).collect()
}
