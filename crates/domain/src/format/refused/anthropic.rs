//! What the Messages API refuses of one message.

use serde_json::{Value, json};

use super::anthropic_media as media;
use super::fault::{Faults, is_system_directive};
use crate::format::anthropic::{MAX_ID, MAX_NAME};
use crate::format::homes::is_foreign;
use crate::format::outgoing::{self, is_server_tool_id, is_word};
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;

/// What a result says that is marked as an error and came without a word: the API wants one.
pub const NO_WORDS: &str = "(no output)";

pub fn check(value: &Value, found: &mut Faults) {
    match value.get("role").and_then(Value::as_str) {
        Some("system") if is_system_directive(value) => return,
        Some("developer") => {
            found.add(ViolationCode::SystemInMessages, "the system prompt travels beside the messages")
        }
        Some("tool" | "function" | "toolResult") | None => {
            found.add(ViolationCode::UnknownRole, "a message is the user's or the assistant's");
        }
        Some("user" | "assistant" | "system") => {}
        Some(other) => found.add(ViolationCode::UnknownRole, format!("{other:?} is neither user nor assistant")),
    }
    let assistant = is_assistant(value);
    match value.get("content") {
        None | Some(Value::Null) => found.add(ViolationCode::EmptyContent, "content is missing"),
        Some(Value::String(text)) if text.is_empty() => found.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::String(text)) if text.trim().is_empty() => found.add(ViolationCode::EmptyText, "content is blank"),
        Some(Value::Array(blocks)) if blocks.is_empty() => found.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::Array(blocks)) => {
            blocks.iter().for_each(|block| check_block(block, assistant, found));
            check_order(blocks, assistant, found);
        }
        Some(_) => {}
    }
}

fn is_assistant(value: &Value) -> bool {
    value.get("role").is_some_and(|role| role == "assistant")
}

fn check_block(block: &Value, assistant: bool, found: &mut Faults) {
    let Some(kind) = block.get("type").and_then(Value::as_str) else {
        return found.add(ViolationCode::InvalidBlock, "a block is an object with a type");
    };
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    let has = |key: &str| text(key).is_some_and(|text| !text.is_empty());
    if is_thinking(block) {
        return check_thinking(block, assistant, found);
    }
    if is_marked(block) && !is_known_mark(&block["cache_control"]) {
        found.add(ViolationCode::InvalidCacheMark, "a cache mark is ephemeral, for 5m or 1h");
    }
    let mut ids = server_ids(kind).filter_map(|pointer| block.pointer(pointer).and_then(Value::as_str));
    if let Some(id) = ids.find(|id| !is_server_tool_id(id)) {
        found.add(ViolationCode::InvalidCallId, format!("{id:?} is no id of a tool of the provider's own"));
    }
    match kind {
        "text" if text("text").is_some_and(|text| text.trim().is_empty()) => {
            found.add(ViolationCode::EmptyText, "a blank text");
        }
        "tool_use" if !assistant => found.add(ViolationCode::BlockNotAllowed, "a call of the user"),
        "tool_use" => check_call(block, found),
        "tool_result" if assistant => found.add(ViolationCode::BlockNotAllowed, "a result of the assistant"),
        "tool_result" => check_result(block, found),
        "image" | "document" if assistant => {
            found.add(ViolationCode::BlockNotAllowed, format!("{kind} of the assistant"));
        }
        "image" | "document" => {
            if let Some((code, detail)) = media::fault(kind, block) {
                found.add(code, detail);
            }
            held(block).for_each(|part| check_block(part, false, found));
        }
        _ if !assistant && kind.ends_with("_tool_result") && has("tool_use_id") => {
            found.add(ViolationCode::BlockNotAllowed, "the result of a server tool in a message of the user");
        }
        _ if is_foreign(Format::Anthropic, block) => {
            found.add(ViolationCode::UnknownBlock, format!("{kind:?} is no block of this API"));
        }
        _ => {}
    }
}

/// What a document that is made of blocks holds.
fn held(document: &Value) -> impl Iterator<Item = &Value> {
    document.pointer("/source/content").and_then(Value::as_array).into_iter().flatten()
}

/// Where the ids stand by which a block is, answers or names a tool that the provider runs. Those of MCP servers have another form.
fn server_ids(kind: &str) -> impl Iterator<Item = &'static str> {
    let is_call = kind == "server_tool_use";
    let is_result = kind.ends_with("_tool_result") && kind != "mcp_tool_result";
    let places = [("/id", is_call), ("/tool_use_id", is_result), ("/caller/tool_id", true)];
    places.into_iter().filter(|(_, holds)| *holds).map(|(pointer, _)| pointer)
}

fn is_known_mark(mark: &Value) -> bool {
    let ttl = mark.get("ttl").filter(|ttl| !ttl.is_null());
    mark.get("type").is_some_and(|kind| kind == "ephemeral") && ttl.is_none_or(|ttl| *ttl == "5m" || *ttl == "1h")
}

fn check_thinking(block: &Value, assistant: bool, found: &mut Faults) {
    if is_marked(block) {
        found.add(ViolationCode::CacheMarkNotAllowed, "thinking can't be marked for the cache");
    }
    let proof = if block.get("type").is_some_and(|kind| kind == "thinking") { "signature" } else { "data" };
    if !assistant {
        found.add(ViolationCode::BlockNotAllowed, "thinking of the user");
    } else if block.get(proof).and_then(Value::as_str).is_none_or(str::is_empty) {
        found.add(ViolationCode::UnsignedThinking, format!("thinking without its {proof}"));
    }
}

fn check_call(block: &Value, found: &mut Faults) {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    if !is_word(text("id"), MAX_ID) {
        found.add(ViolationCode::InvalidCallId, format!("{:?} is no id that the API takes", text("id")));
    }
    if !is_word(text("name"), MAX_NAME) {
        found.add(ViolationCode::InvalidToolName, format!("{:?} is no name that the API takes", text("name")));
    }
    if !block.get("input").is_some_and(Value::is_object) {
        found.add(ViolationCode::InvalidArguments, "input is no object");
    }
}

fn check_result(block: &Value, found: &mut Faults) {
    for part in block.get("content").and_then(Value::as_array).into_iter().flatten() {
        check_block(part, false, found);
    }
    if !is_error(block) {
        return;
    }
    if !says_a_word(block) {
        found.add(ViolationCode::EmptyErrorResult, "a result that is marked as an error says nothing");
    } else if parts(block).any(|part| part.get("type").is_some_and(|kind| kind != "text")) {
        found.add(ViolationCode::ErrorResultNotText, "a result that is marked as an error holds nothing but text");
    }
}

fn is_error(result: &Value) -> bool {
    result.get("is_error") == Some(&Value::Bool(true))
}

fn parts(result: &Value) -> impl Iterator<Item = &Value> {
    result.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn says_a_word(result: &Value) -> bool {
    let filled = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    let shows =
        |part: &Value| part.get("type").is_some_and(|kind| kind != "text") || part.get("text").is_some_and(filled);
    result.get("content").is_some_and(filled) || parts(result).any(shows)
}

/// Results come first, and so does the thinking that leads to a call.
fn check_order(blocks: &[Value], assistant: bool, found: &mut Faults) {
    let is_result = |block: &Value| block.get("type").is_some_and(|kind| kind == "tool_result");
    if !assistant && !blocks.is_sorted_by_key(|block| !is_result(block)) {
        found.add(ViolationCode::ResultsNotFirst, "tool results come before anything else");
    }
    if assistant && thinks_late(blocks) {
        found.add(ViolationCode::ThinkingNotFirst, "a turn that calls tools begins with its thinking");
    }
}

fn thinks_late(blocks: &[Value]) -> bool {
    let any = |kind: &str| blocks.iter().any(|block| block.get("type").is_some_and(|known| known == kind));
    let led = blocks.first().is_none_or(is_thinking) || !blocks.iter().any(is_thinking);
    any("tool_use") && !any("server_tool_use") && !any("mcp_tool_use") && !led
}

pub fn is_thinking(block: &Value) -> bool {
    matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}

pub fn is_marked(block: &Value) -> bool {
    block.get("cache_control").is_some_and(|mark| !mark.is_null())
}

pub fn mend(value: &mut Value) {
    if value.get("role").is_some_and(|role| role == "developer") {
        *value = told_to_user(value);
    }
    if value.get("role").is_some_and(|role| role == "system") && is_system_directive(value) {
        return;
    }
    let assistant = is_assistant(value);
    let Some(fields) = value.as_object_mut() else { return };
    match fields.get_mut("content") {
        None | Some(Value::Null) => drop(fields.insert("content".to_owned(), json!([]))),
        Some(Value::Array(blocks)) => {
            blocks.iter_mut().for_each(|block| mend_block(block, assistant));
            if assistant && thinks_late(blocks) {
                blocks.sort_by_key(|block| !is_thinking(block));
            }
        }
        Some(_) => {}
    }
}

/// A system message, its words passed on by the user.
pub fn told_to_user(message: &Value) -> Value {
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    };
    json!({"role": "user", "content": outgoing::told(&text)})
}

pub fn mend_block(block: &mut Value, assistant: bool) {
    if is_thinking(block)
        && is_marked(block)
        && let Some(fields) = block.as_object_mut()
    {
        fields.shift_remove("cache_control");
    }
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    mend_mark(block);
    for pointer in server_ids(&kind) {
        if let Some(Value::String(id)) = block.pointer_mut(pointer) {
            *id = outgoing::server_tool_id(id).into_owned();
        }
    }
    match kind.as_str() {
        "thinking" | "redacted_thinking" if !assistant => {
            let said = block.get("thinking").and_then(Value::as_str).unwrap_or_default();
            *block = json!({"type": "text", "text": said});
        }
        "tool_result" if !assistant => mend_result(block),
        "image" | "document" if !assistant => {
            let parts = block.pointer_mut("/source/content").and_then(Value::as_array_mut);
            parts.into_iter().flatten().for_each(|part| mend_block(part, false));
            media::mend(&kind, block);
        }
        "" | "tool_use" | "tool_result" | "image" | "document" => {}
        _ if is_foreign(Format::Anthropic, block) => {
            let said = block.get("text").or(block.get("refusal")).and_then(Value::as_str);
            let said = said.map_or_else(|| block.to_string(), str::to_owned);
            *block = json!({"type": "text", "text": said});
        }
        _ => {}
    }
}

/// A mark for a time that is not known goes for the usual one; one of another kind is taken off.
fn mend_mark(block: &mut Value) {
    let Some(mark) = block.get_mut("cache_control").filter(|mark| !mark.is_null() && !is_known_mark(mark)) else {
        return;
    };
    if let Some(fields) = mark.as_object_mut() {
        fields.shift_remove("ttl");
    }
    if !is_known_mark(mark)
        && let Some(fields) = block.as_object_mut()
    {
        fields.shift_remove("cache_control");
    }
}

/// What the writers make of a result and of media, as the API takes it.
pub fn mend_result(block: &mut Value) {
    for part in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        mend_block(part, false);
    }
    if !is_error(block) {
        return;
    }
    if !says_a_word(block)
        && let Some(fields) = block.as_object_mut()
    {
        fields.insert("content".to_owned(), NO_WORDS.into());
    }
    for part in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("text").to_owned();
        if kind != "text" {
            *part = media::not_shown(&kind, part);
        }
    }
}
