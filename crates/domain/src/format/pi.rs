//! The entries of a pi session file (JSONL, versions 1 to 3).

mod link;
mod message;
mod run;
mod write;

use serde_json::Value;

use super::link::named_parent;
use crate::model::compaction::{CompactionRecord, FileLists};
use crate::model::entry_type::EntryType;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Message, Role};

pub use link::{link, names};
pub use message::for_provider;
pub use run::{is_excluded_run, run_units};
pub use write::write;

/// Reads one entry. Types that pi may have and we don't know are kept as [`EntryType::Custom`]: they say
/// nothing to the model. The file's header is an entry too, outside the tree of the others.
///
/// # Errors
/// No object, no `type`, or a message that is none.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let object = value.as_object().ok_or_else(|| ItemError::new("", "an entry must be an object"))?;
    let kind = object.get("type").and_then(Value::as_str).ok_or_else(|| ItemError::new("/type", "must be a string"))?;
    let mut item = Item {
        kind: EntryType::Custom,
        message: None,
        source_id: object.get("id").and_then(Value::as_str).map(str::to_owned),
        source_parent: object.get("parentId").map(named_parent),
        usage: None,
        stop: None,
        needs_repair: false,
    };
    match kind {
        "message" => {
            message::read(value.get("message"), &mut item)?;
            item.needs_repair = item.message.as_ref().is_some_and(Message::lacks_ids);
        }
        "compaction" => item.kind = EntryType::Compaction,
        "branch_summary" => {
            item.kind = EntryType::BranchSummary;
            item.message = message::summary_message(Role::BranchSummary, value);
        }
        "custom_message" => {
            item.kind = EntryType::CustomMessage;
            let content = message::content(value.get("content"), "/content")?;
            item.message = Some(Message { role: Role::Custom, content, stop: None, opaque: None });
        }
        "label" => item.kind = EntryType::Label,
        "session" => {
            item.kind = EntryType::SessionInfo;
            item.source_parent = None;
        }
        "session_info" => item.kind = EntryType::SessionInfo,
        "model_change" => item.kind = EntryType::ModelChange,
        "thinking_level_change" => item.kind = EntryType::ThinkingLevelChange,
        _ => {}
    }
    Ok(item)
}

/// Reads a `compaction` entry; `None` for any other. `first_kept_entry_id` is pi's own id: the entry of that
/// source id before the compaction on its path, or nothing where there is none (its own id means that too).
/// A version 1 entry has no such id: see [`Link::first_kept`](super::link::Link::first_kept).
pub fn compaction_record(value: &Value) -> Option<CompactionRecord> {
    if value.get("type")?.as_str()? != "compaction" {
        return None;
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(CompactionRecord {
        summary: text("summary"),
        first_kept_entry_id: text("firstKeptEntryId").unwrap_or_default(),
        tokens_before: value.get("tokensBefore").and_then(Value::as_u64).unwrap_or(0),
        details: file_lists(value),
        from_hook: from_hook(value),
        ..CompactionRecord::default()
    })
}

/// Reads a `label` entry: the id of the entry that it names, and the name (`None` clears it). `None` for any other.
pub fn label(value: &Value) -> Option<(String, Option<String>)> {
    if value.get("type")?.as_str()? != "label" {
        return None;
    }
    let name = value.get("label").and_then(Value::as_str).filter(|name| !name.is_empty());
    Some((value.get("targetId")?.as_str()?.to_owned(), name.map(|name| name.replace('\0', "\u{fffd}"))))
}

/// The `details` of a `compaction` or `branch_summary` entry, which pi passes on unless a hook made it.
pub fn file_lists(value: &Value) -> FileLists {
    let list = |key: &str| {
        let items = value.get("details").and_then(|details| details.get(key)).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    FileLists { read_files: list("readFiles"), modified_files: list("modifiedFiles") }
}

/// Returns true if a hook made this `compaction` or `branch_summary`.
pub fn from_hook(value: &Value) -> bool {
    value.get("fromHook").and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests;
