//! A stored Messages item into a normalised message.

use serde_json::Value;

use super::{read_block, server};
use crate::format::field::{object, required_string, string};
use crate::format::keys::{Object, fail, only, without};
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, Message, Opaque, Role, Stop};
use crate::model::usage::ReportedUsage;

/// Reads one message. Fields that only answers have (`id`, `usage`, …) are taken up and mark the item for repair,
/// because the API refuses them as input.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let item = object(value, "")?;
    let role = match required_string(item, "role", "")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return fail("/role", "expected user, assistant or system"),
    };
    // A system message may change the configuration, and may end with the next message of the user.
    let known: &[&str] = match role {
        Role::System => &["role", "content", "output_config", "clear_at"],
        _ => &["role", "content"],
    };
    let mut needs_repair = !only(item, known);
    let content = read_content(item, role, &mut needs_repair)?;
    let (role, content) = place_results(role, content, &mut needs_repair);
    needs_repair |= server::is_out_of_order(&content);
    let stop = item.get("stop_reason").and_then(Value::as_str).and_then(read_stop);
    let mut around = without(item, &["content"]);
    if item.get("content").is_some_and(Value::is_string) {
        around.insert("content".into(), "".into());
    }
    let opaque = Some(Opaque { format: Format::Anthropic, value: Value::Object(around) });
    Ok(Item {
        kind: EntryType::Message,
        message: Some(Message { role, content, stop, opaque }),
        source_id: string(item, "id", "")?.map(str::to_owned),
        source_parent: None,
        usage: item.get("usage").and_then(Value::as_object).and_then(read_usage),
        stop,
        needs_repair,
    })
}

fn read_content(item: &Object, role: Role, needs_repair: &mut bool) -> Result<Vec<Block>, ItemError> {
    let blocks = match item.get("content") {
        None => return fail("/content", "missing"),
        Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => {
            *needs_repair |= text.trim().is_empty();
            vec![Block::text(text)]
        }
        Some(Value::Array(list)) => {
            let mut read = Vec::with_capacity(list.len());
            for (index, value) in list.iter().enumerate() {
                read.push(read_block::read(value, role, &format!("/content/{index}"), needs_repair)?);
            }
            read
        }
        Some(_) => return fail("/content", "expected a string or a list of blocks"),
    };
    *needs_repair |= blocks.is_empty() && !(role == Role::System && item.contains_key("output_config"));
    Ok(blocks)
}

/// Puts the results of a user message first, where the API wants them, and tells a message of results only apart.
fn place_results(role: Role, content: Vec<Block>, needs_repair: &mut bool) -> (Role, Vec<Block>) {
    let is_result = |block: &Block| matches!(block, Block::ToolResult(_));
    if role != Role::User || !content.iter().any(is_result) {
        return (role, content);
    }
    *needs_repair |= !content.is_sorted_by_key(|block| !is_result(block));
    let (mut results, others): (Vec<Block>, Vec<Block>) = content.into_iter().partition(is_result);
    let role = if others.is_empty() { Role::Tool } else { Role::User };
    results.extend(others);
    (role, results)
}

fn read_stop(reason: &str) -> Option<Stop> {
    Some(match reason {
        "end_turn" | "stop_sequence" | "pause_turn" | "compaction" => Stop::End,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "tool_use" => Stop::ToolUse,
        "refusal" => Stop::Refusal,
        _ => return None,
    })
}

/// `None` where every count is 0: clients write such usage into messages of their own making.
fn read_usage(usage: &Object) -> Option<ReportedUsage> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let reported = ReportedUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        total: None,
    };
    (reported != ReportedUsage::default()).then_some(reported)
}
