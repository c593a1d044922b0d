//! Taking thinking out of written messages, but for those of the running tool-use turn.

use serde_json::Value;

use crate::domain::format::Format;
use crate::domain::format::openai_chat::THINKING_FIELDS;
use crate::domain::format::write::Note;
use crate::domain::json;

/// What a message is to the turn around it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// Somebody other than the model and its tools speaks: a turn begins.
    Start,
    /// The model's; with calls, or the last word.
    Answer {
        calls: bool,
    },
    Result,
    /// Says nothing about turns.
    Aside,
}

/// The messages without thinking, but for the running tool-use turn; one note with the number of blocks.
pub fn strip(messages: Vec<String>, target: Format, notes: &mut Vec<Note>) -> Vec<String> {
    let kept_from = running_turn(&messages, target);
    let mut stripped = 0;
    let mut messages = messages;
    let running = messages.split_off(kept_from);
    let mut out = match target {
        Format::OpenaiResponses => strip_items(messages, &mut stripped),
        _ => messages.into_iter().filter_map(|message| strip_message(message, target, &mut stripped)).collect(),
    };
    out.extend(running);
    if stripped > 0 {
        notes.push(Note::new("thinking_stripped", None, format!("{stripped} blocks of thinking are left out, as set")));
    }
    out
}

/// Where the turn begins whose calls were just answered; the end, where no such turn is running.
fn running_turn(messages: &[String], target: Format) -> usize {
    let mut running = false;
    for (at, message) in messages.iter().enumerate().rev() {
        let step = json::parse_lenient(message).map_or(Step::Aside, |value| step(&value, target));
        match step {
            Step::Start if running => return at + 1,
            Step::Start => return messages.len(),
            Step::Answer { calls: false } if !running => return messages.len(),
            Step::Answer { .. } | Step::Result => running = true,
            Step::Aside => {}
        }
    }
    if running { 0 } else { messages.len() }
}

fn step(message: &Value, target: Format) -> Step {
    match target {
        Format::OpenaiResponses => item_step(message),
        Format::Pi => match message.get("message") {
            Some(inner) => role_step(inner),
            None => Step::Aside,
        },
        _ => role_step(message),
    }
}

fn role_step(message: &Value) -> Step {
    let blocks = || message["content"].as_array().into_iter().flatten().filter_map(|block| block["type"].as_str());
    let listed = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    match message["role"].as_str() {
        Some("assistant") => {
            let is_call =
                |kind| matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use" | "tool_call" | "toolCall");
            Step::Answer { calls: listed || message["function_call"].is_object() || blocks().any(is_call) }
        }
        Some("tool" | "function" | "toolResult") => Step::Result,
        Some("user") if blocks().any(|kind| kind == "tool_result") => Step::Result,
        Some("system" | "developer") | None => Step::Aside,
        Some(_) => Step::Start,
    }
}

fn item_step(item: &Value) -> Step {
    match (item["type"].as_str(), item["role"].as_str()) {
        (_, Some("user")) => Step::Start,
        (_, Some("assistant")) => Step::Answer { calls: false },
        (_, Some(_)) | (None | Some("additional_tools"), _) => Step::Aside,
        _ if is_compaction(item) => Step::Aside,
        (Some("mcp_approval_response"), _) => Step::Result,
        (Some(kind), _) if kind.ends_with("_output") => Step::Result,
        (Some(_), _) => Step::Answer { calls: true },
    }
}

/// `None` where the message was nothing but thinking.
fn strip_message(message: String, target: Format, stripped: &mut usize) -> Option<String> {
    let marks: &[&str] = if target == Format::OpenaiChat { &THINKING_FIELDS } else { &["thinking"] };
    if !marks.iter().any(|mark| message.contains(mark)) {
        return Some(message);
    }
    let Ok(mut value) = json::parse_lenient(&message) else { return Some(message) };
    let inner = if target == Format::Pi { value.get_mut("message") } else { Some(&mut value) };
    let Some(inner) = inner.filter(|inner| inner["role"] == "assistant") else { return Some(message) };
    let (removed, left) = if target == Format::OpenaiChat { strip_fields(inner) } else { strip_blocks(inner) };
    match (removed, left) {
        (0, _) => Some(message),
        // Entries of pi name the one before them: an empty one would break the chain.
        (_, false) if target == Format::Pi => Some(message),
        (_, left) => {
            *stripped += removed;
            left.then(|| value.to_string())
        }
    }
}

/// How many blocks went, and whether any is left.
fn strip_blocks(message: &mut Value) -> (usize, bool) {
    let Some(content) = message.get_mut("content").and_then(Value::as_array_mut) else { return (0, true) };
    let before = content.len();
    content.retain(|block| !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking")));
    (before - content.len(), !content.is_empty())
}

fn strip_fields(message: &mut Value) -> (usize, bool) {
    let Some(fields) = message.as_object_mut() else { return (0, true) };
    let removed = THINKING_FIELDS.iter().filter(|name| fields.shift_remove(**name).is_some()).count();
    let says = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    let left = ["content", "tool_calls", "function_call", "audio", "refusal"].into_iter().any(says);
    (usize::from(removed > 0), left)
}

/// Without reasoning, the items that it led to lose their ids. Where that can't be, because the provider ran a tool
/// whose item is nothing without its id, the answer stays whole.
fn strip_items(items: Vec<String>, stripped: &mut usize) -> Vec<String> {
    if !items.iter().any(|item| item.contains("\"reasoning\"")) {
        return items;
    }
    let mut out = Vec::with_capacity(items.len());
    let mut answer: Vec<(String, Value)> = Vec::new();
    for item in items {
        let value = json::parse_lenient(&item).unwrap_or_default();
        if is_compaction(&value) || matches!(item_step(&value), Step::Answer { .. }) {
            answer.push((item, value));
        } else {
            out.extend(strip_answer(std::mem::take(&mut answer), stripped));
            out.push(item);
        }
    }
    out.extend(strip_answer(answer, stripped));
    out
}

/// Goes out unchanged, wherever in an answer it stands.
fn is_compaction(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("compaction" | "compaction_summary"))
}

fn strip_answer(answer: Vec<(String, Value)>, stripped: &mut usize) -> Vec<String> {
    fn kind(value: &Value) -> &str {
        value["type"].as_str().unwrap_or("message")
    }
    let reasoned = answer.iter().filter(|(_, value)| kind(value) == "reasoning").count();
    let known = ["message", "function_call", "custom_tool_call", "reasoning"];
    let is_known = |value: &Value| is_compaction(value) || known.contains(&kind(value));
    if reasoned == 0 || !answer.iter().all(|(_, value)| is_known(value)) {
        return answer.into_iter().map(|(item, _)| item).collect();
    }
    *stripped += reasoned;
    let rest = answer.into_iter().filter(|(_, value)| kind(value) != "reasoning");
    let without_id = |(item, mut value): (String, Value)| {
        let fields = value.as_object_mut().filter(|fields| fields.contains_key("id"));
        match fields.map(|fields| fields.shift_remove("id")) {
            Some(_) => value.to_string(),
            None => item,
        }
    };
    rest.map(|(item, value)| if is_compaction(&value) { item } else { without_id((item, value)) }).collect()
}
