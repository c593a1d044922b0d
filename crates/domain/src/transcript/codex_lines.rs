//! Entries as lines of a Codex rollout file.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use super::pi_export::{as_items, time};
use crate::model::entry::Entry;
use crate::model::format::Format;
use crate::model::json;

/// The line that a file begins with, where its session came with none.
pub fn header(session_id: Uuid, created_at: DateTime<Utc>) -> String {
    let at = time(created_at);
    let about = json!({"id": session_id, "timestamp": at, "cwd": "/", "originator": "contextd", "cli_version": "0"});
    json!({"timestamp": at, "type": "session_meta", "payload": about}).to_string()
}

/// An entry's lines: as they came, or made at its time.
pub fn lines(entry: &Entry) -> Vec<String> {
    let items = as_items(entry, Format::Codex, &HashMap::new());
    if entry.source_format == Format::Codex {
        return items;
    }
    let at = |item: String| {
        let mut line = json::parse_lenient(&item).unwrap_or_default();
        line["timestamp"] = Value::from(time(entry.created_at));
        line.to_string()
    };
    items.into_iter().map(at).collect()
}
