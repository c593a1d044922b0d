//! Faults in one message that the Messages API refuses.

use serde_json::{Value, json};

use super::report::Report;
use super::violation_code::ViolationCode;
use crate::domain::format::is_foreign;
use crate::domain::format::outgoing::is_word;
use crate::domain::model::format::Format;

/// Reports what is wrong with a message, and puts right what the writer of contexts would let pass.
/// `leads`: neither side has spoken before it; later on, newer models take the role `system` too (as of November 2026).
pub fn mend(value: &mut Value, leads: bool, report: &mut Report) -> bool {
    match value.get("role").and_then(Value::as_str) {
        Some("system") if !leads => return true,
        Some("system" | "developer") => system(value, report),
        Some("tool" | "function" | "toolResult") | None => {
            report.add(ViolationCode::UnknownRole, "a message is the user's or the assistant's");
        }
        Some("user" | "assistant") => {}
        Some(other) => {
            let detail = format!("{other:?} is neither user nor assistant");
            report.add(ViolationCode::UnknownRole, detail);
        }
    }
    let assistant = value.get("role").is_some_and(|role| role == "assistant");
    match value.get_mut("content") {
        None | Some(Value::Null) => {
            report.add(ViolationCode::EmptyContent, "content is missing");
            if let Some(fields) = value.as_object_mut() {
                fields.insert("content".to_owned(), json!([]));
            }
        }
        Some(Value::String(text)) if text.is_empty() => report.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::String(text)) if text.trim().is_empty() => report.add(ViolationCode::EmptyText, "content is blank"),
        Some(Value::Array(blocks)) if blocks.is_empty() => report.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::Array(blocks)) => {
            for block in blocks.iter_mut() {
                check_block(block, assistant, report);
            }
            order(blocks, assistant, report);
        }
        Some(_) => {}
    }
    true
}

/// System messages have no place among the others; their words are passed on by the user.
fn system(value: &mut Value, report: &mut Report) {
    report.add(ViolationCode::SystemInMessages, "the system prompt travels beside the messages");
    let text = match value.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    };
    let said = if text.trim().is_empty() { text } else { format!("<system_message>\n{text}\n</system_message>") };
    *value = json!({"role": "user", "content": said});
}

fn check_block(block: &mut Value, assistant: bool, report: &mut Report) {
    let Some(kind) = block.get("type").and_then(Value::as_str).map(str::to_owned) else {
        return report.add(ViolationCode::InvalidBlock, "a block is an object with a type");
    };
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    let has = |key: &str| text(key).is_some_and(|text| !text.is_empty());
    match kind.as_str() {
        "text" if text("text").is_some_and(|text| text.trim().is_empty()) => {
            report.add(ViolationCode::EmptyText, "a blank text")
        }
        "thinking" | "redacted_thinking" if !assistant => {
            report.add(ViolationCode::BlockNotAllowed, "thinking of the user")
        }
        "thinking" if !has("signature") => {
            report.add(ViolationCode::UnsignedThinking, "thinking without its signature")
        }
        "redacted_thinking" if !has("data") => {
            report.add(ViolationCode::UnsignedThinking, "redacted thinking without data")
        }
        "tool_use" if !assistant => report.add(ViolationCode::BlockNotAllowed, "a call of the user"),
        "tool_use" => check_call(block, report),
        "tool_result" if assistant => report.add(ViolationCode::BlockNotAllowed, "a result of the assistant"),
        "tool_result" => {
            for part in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
                check_block(part, false, report);
            }
        }
        "image" | "document" if assistant => {
            report.add(ViolationCode::BlockNotAllowed, format!("{kind} of the assistant"))
        }
        "image" | "document" if !block.get("source").is_some_and(Value::is_object) => {
            report.add(ViolationCode::InvalidMedia, format!("{kind} without a source"));
        }
        _ if is_foreign(Format::Anthropic, block) => {
            report.add(ViolationCode::UnknownBlock, format!("{kind:?} is no block of this API"));
            let said = block.get("text").or(block.get("refusal")).and_then(Value::as_str);
            let said = said.map_or_else(|| block.to_string(), str::to_owned);
            *block = json!({"type": "text", "text": said});
        }
        _ => {}
    }
    if !assistant && matches!(kind.as_str(), "thinking" | "redacted_thinking") {
        let said = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
        *block = json!({"type": "text", "text": said});
    }
}

fn check_call(block: &Value, report: &mut Report) {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    if !is_word(text("id"), 256) {
        report.add(ViolationCode::InvalidCallId, format!("{:?} is no id that the API takes", text("id")));
    }
    if !is_word(text("name"), 128) {
        report.add(ViolationCode::InvalidToolName, format!("{:?} is no name that the API takes", text("name")));
    }
    if !block.get("input").is_some_and(Value::is_object) {
        report.add(ViolationCode::InvalidArguments, "input is no object");
    }
}

/// Results come first, and so does the thinking that leads to a call.
fn order(blocks: &mut [Value], assistant: bool, report: &mut Report) {
    let is = |block: &Value, kind: &str| block.get("type").is_some_and(|known| known == kind);
    if !assistant {
        if !blocks.is_sorted_by_key(|block| !is(block, "tool_result")) {
            report.add(ViolationCode::ResultsNotFirst, "tool results come before anything else");
        }
        return;
    }
    let thinks = |block: &Value| is(block, "thinking") || is(block, "redacted_thinking");
    let calls = blocks.iter().any(|block| is(block, "tool_use"));
    let server = blocks.iter().any(|block| is(block, "server_tool_use") || is(block, "mcp_tool_use"));
    let led = blocks.first().is_none_or(thinks) || !blocks.iter().any(thinks);
    if calls && !server && !led {
        report.add(ViolationCode::ThinkingNotFirst, "a turn that calls tools begins with its thinking");
        blocks.sort_by_key(|block| !thinks(block));
    }
}
