//! Items under the name of a format that is not theirs.
//!
//! A format keeps blocks and fields that it does not know, so an item of another one would pass and its calls would
//! be lost. What is known to be another format's alone is told here, in one place, by its form and not by a word only:
//! new kinds of blocks are nobody's, and stay opaque.

use Format::{Anthropic, ClaudeCode, Codex, Gemini, Native, OpenaiChat, OpenaiResponses, Pi};
use serde_json::Value;

use crate::format::homes::{homes, is_foreign};
use crate::format::keys::Object;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::json;
use crate::model::message::Role;

/// Reads one item that comes in. Stricter than [`super::read`], which also reads what was stored before.
///
/// # Errors
/// Those of [`super::read`]; what is another format's; calls and thinking of somebody else than the assistant. The
/// detail names the format that the item looks like, where it does.
pub fn accept(format: Format, raw: &str) -> Result<Item, ItemError> {
    let value = json::parse_lenient(raw).map_err(|error| ItemError::new("", error.to_string()))?;
    let checked = check(format, &value).and_then(|()| super::read_value(format, &value));
    checked.map_err(|error| hinted(error, format, &value))
}

fn check(format: Format, value: &Value) -> Result<(), ItemError> {
    let Some(item) = value.as_object() else { return Ok(()) };
    match format {
        Pi => check_entry(item),
        Gemini => check_parts(item),
        ClaudeCode => check_line(item, "message", |message| check_message(Anthropic, message, "")),
        Codex => check_line(item, "payload", check_item),
        OpenaiResponses => check_item(item),
        OpenaiChat => {
            if let Some(role) = item.get("role").and_then(Value::as_str)
                && !matches!(role, "system" | "developer" | "user" | "assistant" | "tool" | "function")
            {
                return fail("/role", format!("{role:?} is no role of this format"));
            }
            check_message(format, item, "")
        }
        Native | Anthropic => check_message(format, item, ""),
    }
}

/// What a line wraps, by the rules of its own format.
fn check_line(line: &Object, key: &str, check: impl FnOnce(&Object) -> Result<(), ItemError>) -> Result<(), ItemError> {
    let is_item = key != "payload" || line.get("type").is_some_and(|kind| kind == "response_item");
    match line.get(key).and_then(Value::as_object).filter(|_| is_item) {
        Some(inner) => check(inner).map_err(|error| ItemError::new(format!("/{key}{}", error.pointer), error.detail)),
        None => Ok(()),
    }
}

/// Parts have no type: they are told by the field that holds their data.
fn check_parts(content: &Object) -> Result<(), ItemError> {
    let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten();
    match parts.enumerate().find(|(_, part)| part.get("type").is_some_and(Value::is_string)) {
        Some((place, _)) => fail(format!("/parts/{place}/type"), "is no field of this format"),
        None => Ok(()),
    }
}

/// A message's fields and the blocks of its content.
fn check_message(format: Format, message: &Object, at: &str) -> Result<(), ItemError> {
    if message.get("parts").is_some_and(Value::is_array) && !message.contains_key("content") {
        return fail(format!("{at}/parts"), "is no field of this format");
    }
    let assistant = message.get("role").is_some_and(|role| role == "assistant");
    for key in ["tool_calls", "function_call"] {
        let given =
            message.get(key).is_some_and(|value| !matches!(value, Value::Null) && *value != Value::Array(vec![]));
        if given && format != OpenaiChat {
            return fail(format!("{at}/{key}"), "is no field of this format");
        }
        if given && !assistant {
            return fail(format!("{at}/{key}"), "only an assistant message can call tools");
        }
    }
    if matches!(format, Native | Pi) && message.get("tool_call_id").is_some_and(Value::is_string) {
        return fail(format!("{at}/tool_call_id"), "is no field of this format");
    }
    check_blocks(format, message.get("content"), assistant, &format!("{at}/content"))
}

/// Blocks that only an assistant's message holds, in each format that has them; `tool_use` the readers check themselves.
const SPOKEN_BY_ASSISTANTS: [&str; 5] =
    ["thinking", "redacted_thinking", "toolCall", "server_tool_use", "mcp_tool_use"];

fn check_blocks(format: Format, content: Option<&Value>, assistant: bool, at: &str) -> Result<(), ItemError> {
    for (place, block) in content.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let at = format!("{at}/{place}");
        if is_foreign(format, block) {
            let kind = block["type"].as_str().unwrap_or_default();
            return fail(at, format!("{kind:?} is no block of this format"));
        }
        let kind = block["type"].as_str().unwrap_or_default();
        if !assistant && SPOKEN_BY_ASSISTANTS.contains(&kind) && !homes(block).is_empty() {
            return fail(at, format!("{kind} belongs into an assistant message"));
        }
        if kind == "tool_result" {
            check_result(format, block.get("content"), &format!("{at}/content"))?;
        }
    }
    Ok(())
}

/// Checks the content of a result: it may hold no calls, no thinking, no results.
fn check_result(format: Format, content: Option<&Value>, at: &str) -> Result<(), ItemError> {
    for (place, part) in content.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let acts = matches!(part["type"].as_str(), Some("tool_use" | "tool_result" | "tool_call"));
        if acts && !homes(part).is_empty() {
            return fail(format!("{at}/{place}"), "can't stand in a tool result");
        }
    }
    check_blocks(format, content, false, at)
}

fn check_item(item: &Object) -> Result<(), ItemError> {
    match item.get("type").and_then(Value::as_str) {
        None | Some("message") if !is_entry(item) => check_message(OpenaiResponses, item, ""),
        Some("function_call_output" | "custom_tool_call_output") => {
            check_blocks(OpenaiResponses, item.get("output"), false, "/output")
        }
        Some(kind) if is_entry(item) || is_record(item) => fail("/type", format!("{kind:?} is no item of this format")),
        Some(kind @ ("tool_use" | "tool_result" | "toolCall"))
            if is_foreign(OpenaiResponses, &Value::Object(item.clone())) =>
        {
            fail("/type", format!("{kind:?} is no item of this format"))
        }
        _ => Ok(()),
    }
}

fn check_entry(entry: &Object) -> Result<(), ItemError> {
    let Some(kind) = entry.get("type").and_then(Value::as_str) else { return Ok(()) };
    if is_record(entry) || is_response_item(entry) {
        return fail("/type", format!("{kind:?} is no entry of this format"));
    }
    match entry.get("message").and_then(Value::as_object).filter(|_| kind == "message") {
        Some(message) => {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            if matches!(role, "tool" | "function" | "developer") {
                return fail("/message/role", format!("{role:?} is no role of this format"));
            }
            check_message(Pi, message, "/message")
        }
        None => check_blocks(Pi, entry.get("content"), false, "/content"),
    }
}

/// A line of a pi file.
fn is_entry(item: &Object) -> bool {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "message" => item.get("message").is_some_and(Value::is_object),
        "session" => item.contains_key("cwd") || item.contains_key("version"),
        "compaction" => item.contains_key("firstKeptEntryId") || item.contains_key("firstKeptEntryIndex"),
        "branch_summary"
        | "custom"
        | "custom_message"
        | "label"
        | "session_info"
        | "model_change"
        | "thinking_level_change" => true,
        _ => false,
    }
}

/// A line of the session files of Claude Code or Codex, which wrap their messages.
fn is_record(item: &Object) -> bool {
    record_of(item).is_some()
}

fn record_of(item: &Object) -> Option<(Format, &'static str)> {
    match item.get("type").and_then(Value::as_str)? {
        "user" | "assistant" if item.get("message").is_some_and(Value::is_object) => {
            Some((ClaudeCode, "a line of a Claude Code file (claude_code), whose `message` is anthropic"))
        }
        "response_item" | "event_msg" | "turn_context" | "session_meta"
            if item.get("payload").is_some_and(Value::is_object) =>
        {
            Some((
                Codex,
                "a line of a Codex file (codex), whose `payload` is openai_responses where its type is response_item",
            ))
        }
        _ => None,
    }
}

fn is_response_item(item: &Object) -> bool {
    match item.get("type").and_then(Value::as_str) {
        Some("message") => item.contains_key("role") && item.contains_key("content"),
        Some("reasoning") => item.contains_key("summary") || item.contains_key("encrypted_content"),
        Some("compaction") => item.contains_key("encrypted_content"),
        Some("item_reference") => true,
        Some(kind) if kind.ends_with("_call") || kind.ends_with("_call_output") => {
            ["call_id", "status", "arguments", "output"].iter().any(|key| item.contains_key(*key))
        }
        _ => false,
    }
}

/// Names the format or file that an item looks like, for the words of an error.
fn looks_like(item: &Object, format: Format) -> Option<&'static str> {
    if let Some((of, record)) = record_of(item) {
        return Some(record).filter(|_| of != format);
    }
    let role_of = |item: &Object| item.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let message = item.get("message").and_then(Value::as_object);
    let (role, inner_role) = (role_of(item), message.map(role_of).unwrap_or_default());
    let role = role.as_str();
    let has = |key: &str| message.unwrap_or(item).get(key).is_some_and(|value| !value.is_null());
    let content = message.unwrap_or(item).get("content").and_then(Value::as_array);
    let mut blocks = content.into_iter().flatten().map(homes).filter(|homes| !homes.is_empty());
    let found = if item.get("parts").is_some_and(Value::is_array) && format != Gemini {
        Some(Gemini)
    } else if is_entry(item) && format != Pi {
        Some(Pi)
    } else if has("tool_calls") || has("function_call") || has("tool_call_id") {
        Some(OpenaiChat)
    } else if matches!(role, "toolResult" | "bashExecution" | "branchSummary" | "compactionSummary" | "hookMessage") {
        Some(Pi)
    } else if let Some(homes) = blocks.find(|homes| !homes.contains(&format)) {
        homes.first().copied()
    } else if is_response_item(item) {
        Some(OpenaiResponses)
    } else if matches!(role, "tool" | "function")
        || inner_role == "tool"
        || (format == Pi && role.parse::<Role>().ok().is_some())
    {
        Some(OpenaiChat)
    } else {
        None
    };
    found.filter(|found| *found != format).map(|format| format.into_str())
}

fn hinted(mut error: ItemError, format: Format, value: &Value) -> ItemError {
    if let Some(name) = value.as_object().and_then(|item| looks_like(item, format)) {
        error.detail = format!("{}; this looks like {name}", error.detail);
    }
    error
}

fn fail(pointer: impl Into<String>, detail: impl Into<String>) -> Result<(), ItemError> {
    Err(ItemError::new(pointer, detail))
}
