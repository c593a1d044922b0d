//! What Chat Completions refuses of one message.

use serde_json::{Map, Value, json};

use super::fault::{Faults, check_arguments, mend_arguments};
use crate::format::homes::is_foreign;
use crate::format::openai_chat::{MAX_NAME, THINKING_FIELDS, call_id};
use crate::format::outgoing::{self, is_word};
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

pub fn check(value: &Value, found: &mut Faults) {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
    if !ROLES.contains(&role) {
        found.add(ViolationCode::UnknownRole, format!("{role:?} is no role of this API"));
    }
    if value.get("tool_calls").is_some_and(|calls| calls.as_array().is_some_and(Vec::is_empty)) {
        found.add(ViolationCode::EmptyToolCalls, "tool_calls is an empty list");
    }
    if role != "assistant" && value.get("tool_calls").is_some_and(|calls| !calls.is_null()) {
        found.add(ViolationCode::CallNotAllowed, format!("a {role} message can't call tools"));
    }
    for call in value.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        check_call(call, found);
    }
    if let Some(call) = value.get("function_call").filter(|call| call.is_object()) {
        check_name(call, found);
    }
    let names_no_call = |key: &str| value.get(key).and_then(Value::as_str).is_none_or(str::is_empty);
    if (role == "tool" && names_no_call("tool_call_id")) || (role == "function" && names_no_call("name")) {
        found.add(ViolationCode::InvalidCallId, "the result does not say which call it answers");
    }
    if let Some(id) = value.get("tool_call_id").and_then(Value::as_str).filter(|_| role == "tool") {
        check_id(id, found);
    }
    check_content(value, role, found);
}

fn check_id(id: &str, found: &mut Faults) {
    if call_id(id) != id {
        found.add(ViolationCode::InvalidCallId, "the id of a call is longer than the API takes");
    }
}

fn check_call(call: &Value, found: &mut Faults) {
    match call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        Some(id) => check_id(id, found),
        None => found.add(ViolationCode::InvalidCallId, "a call without an id"),
    }
    let kind = call.get("type").and_then(Value::as_str).unwrap_or("function");
    if let Some(custom) = call.get("custom").filter(|_| kind == "custom") {
        return check_name(custom, found);
    }
    let Some(function) = call.get("function").filter(|_| kind == "function") else { return };
    check_name(function, found);
    check_arguments(function.get("arguments"), found);
}

fn check_name(called: &Value, found: &mut Faults) {
    let name = called.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        found.add(ViolationCode::InvalidToolName, "a call without the name of its tool");
    } else if !is_word(name, MAX_NAME) {
        found.add(ViolationCode::InvalidToolName, format!("{name:?} is no name that the API takes"));
    }
}

fn check_content(value: &Value, role: &str, found: &mut Faults) {
    let acts = acts(value, role);
    let is_result = matches!(role, "tool" | "function");
    let content = value.get("content");
    if says_nothing(content) && !acts && thinks(value, role) {
        return found.add(ViolationCode::ThinkingAlone, "an answer of nothing but its thinking");
    }
    match content {
        None | Some(Value::Null) if !acts => found.add(ViolationCode::EmptyContent, "content is missing"),
        Some(Value::String(text)) if text.is_empty() && !acts && !is_result => {
            found.add(ViolationCode::EmptyContent, "content is empty");
        }
        Some(Value::Array(parts)) if parts.is_empty() => {
            found.add(ViolationCode::EmptyContent, "content is an empty list");
        }
        Some(Value::Array(parts)) => parts.iter().for_each(|part| check_part(part, found)),
        _ => {}
    }
}

fn says_nothing(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(parts)) => parts.iter().all(|part| is_empty_text(part) || is_empty_of("refusal", part)),
        _ => false,
    }
}

fn is_empty_text(part: &Value) -> bool {
    is_empty_of("text", part)
}

/// A part says what it says in a field of its kind's name.
fn is_empty_of(kind: &str, part: &Value) -> bool {
    part.get("type").is_some_and(|its| its == kind) && part.get(kind).is_some_and(|text| *text == "")
}

fn is_filled(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|field| match field {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    })
}

fn acts(value: &Value, role: &str) -> bool {
    role == "assistant" && ["tool_calls", "function_call", "audio", "refusal"].iter().any(|key| is_filled(value, key))
}

fn thinks(value: &Value, role: &str) -> bool {
    role == "assistant" && THINKING_FIELDS.iter().any(|key| is_filled(value, key))
}

fn check_part(part: &Value, found: &mut Faults) {
    let Some(kind) = part.get("type").and_then(Value::as_str) else {
        return found.add(ViolationCode::InvalidBlock, "a part is an object with a type");
    };
    match kind {
        "text" if is_empty_text(part) => found.add(ViolationCode::EmptyText, "an empty text"),
        _ if is_foreign(Format::OpenaiChat, part) => {
            found.add(ViolationCode::UnknownBlock, format!("{kind:?} is no part of this API"));
        }
        "image_url" => {
            let inner = part.get("image_url");
            let url = inner.and_then(|inner| inner.get("url").or(Some(inner))).and_then(Value::as_str);
            if url.is_none_or(str::is_empty) {
                found.add(ViolationCode::InvalidMedia, "an image without its URL");
            } else if inner.is_some_and(Value::is_string) {
                found.add(ViolationCode::InvalidMedia, "image_url is an object with a url");
            }
        }
        "file" | "input_audio" if names_nothing(part) => {
            found.add(ViolationCode::InvalidMedia, "a file or a sound that holds no character of data");
        }
        _ => {}
    }
}

/// Returns true for a file or a sound that says in none of its fields where its bytes are, or leaves one of them blank.
fn names_nothing(part: &Value) -> bool {
    let inner = part.get("type").and_then(Value::as_str).and_then(|kind| part.get(kind));
    let places = ["data", "file_data", "file_id"].map(|key| inner.and_then(|inner| inner.get(key)?.as_str()));
    let is_blank = |place: &str| place.trim().is_empty();
    places.iter().all(Option::is_none) || places.into_iter().flatten().any(is_blank)
}

pub fn mend(value: &mut Value) {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (acts, thinks) = (acts(value, &role), thinks(value, &role));
    let Some(fields) = value.as_object_mut() else { return };
    let is_list = fields.get("tool_calls").is_some_and(Value::is_array);
    if role != "assistant" && fields.get("tool_calls").is_some_and(|calls| !calls.is_null()) {
        fields.shift_remove("tool_calls");
    }
    for call in fields.get_mut("tool_calls").filter(|_| is_list).and_then(Value::as_array_mut).into_iter().flatten() {
        if call.get("type").is_some_and(|kind| kind != "function") {
            continue;
        }
        mend_arguments(call.get_mut("function").and_then(|function| function.get_mut("arguments")));
    }
    for part in fields.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        mend_part(part);
    }
    if thinks && !acts {
        drop_lone_thinking(fields);
    }
}

/// Thinking without an answer says nothing that the provider takes: what is left of the message is empty.
fn drop_lone_thinking(fields: &mut Map<String, Value>) {
    if says_nothing(fields.get("content")) {
        fields.retain(|key, _| !THINKING_FIELDS.contains(&key.as_str()));
        fields.entry("content").or_insert(Value::Null);
    }
}

fn mend_part(part: &mut Value) {
    if is_foreign(Format::OpenaiChat, part) {
        let said = part.get("text").or(part.get("thinking")).and_then(Value::as_str);
        let said = said.map_or_else(|| part.to_string(), str::to_owned);
        *part = json!({"type": "text", "text": said});
    }
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    if matches!(kind, "file" | "input_audio") && names_nothing(part) {
        let kind = kind.to_owned();
        if let Some(Value::Object(inner)) = part.get_mut(&kind) {
            inner.retain(|_, place| place.as_str().is_none_or(|place| !place.trim().is_empty()));
        }
        if kind == "input_audio" {
            *part = json!({"type": "text", "text": outgoing::not_shown("sound", None)});
        }
    } else if kind == "image_url"
        && let Some(url @ Value::String(_)) = part.get_mut("image_url")
    {
        *url = json!({"url": url.take()});
    }
}
