//! What the Gemini API refuses of one content.

use serde_json::{Map, Value, json};

use super::fault::Faults;
use crate::format::gemini::SIGNATURES;
use crate::format::homes::is_foreign;
use crate::format::outgoing;
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;

pub fn check(value: &Value, found: &mut Faults) {
    match value.get("role").and_then(Value::as_str) {
        None | Some("user" | "model") => {}
        Some("system" | "developer") => {
            found.add(ViolationCode::SystemInMessages, "the system instruction travels beside the contents");
        }
        Some(other) => found.add(ViolationCode::UnknownRole, format!("{other:?} is neither user nor model")),
    }
    match value.get("parts") {
        None | Some(Value::Null) => found.add(ViolationCode::EmptyContent, "parts are missing"),
        Some(Value::Array(parts)) if parts.is_empty() => found.add(ViolationCode::EmptyContent, "no parts"),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| check_part(part, found)),
        Some(_) => {}
    }
}

fn check_part(part: &Value, found: &mut Faults) {
    let Some(fields) = part.as_object() else { return };
    let data = |names: [&str; 2]| names.iter().find_map(|name| fields.get(*name)?.as_object());
    if let Some(result) = data(["functionResponse", "function_response"]) {
        if !result.get("name").is_some_and(Value::is_string) {
            found.add(ViolationCode::InvalidToolName, "a result without the name of its function");
        }
        if result.get("response").is_some_and(Value::is_string) {
            found.add(ViolationCode::InvalidOutput, "a response is an object");
        }
    }
    if has_empty_signature(part) {
        found.add(ViolationCode::EmptySignature, "a thought signature without a character");
    }
    if signatures(fields).any(is_no_base64) {
        found.add(ViolationCode::InvalidSignature, "a thought signature is bytes in base64");
    }
    let empty = |(key, value): (&String, &Value)| value.is_null() || is_signature(key) && *value == "";
    if fields.iter().all(empty) {
        found.add(ViolationCode::InvalidBlock, "a part without data");
    } else if fields.get("text").is_some_and(|text| *text == "") && !is_signed(part) && !is_thought(part) {
        found.add(ViolationCode::EmptyText, "a text without a character");
    }
    if is_other_format(part) {
        found.add(ViolationCode::UnknownBlock, "parts have no type");
    }
}

fn is_other_format(part: &Value) -> bool {
    part.get("type").is_some() || is_foreign(Format::Gemini, part)
}

fn is_signature(key: &str) -> bool {
    SIGNATURES.contains(&key)
}

fn has_empty_signature(part: &Value) -> bool {
    SIGNATURES.iter().any(|key| part.get(*key).is_some_and(|signature| *signature == ""))
}

fn signatures(part: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    SIGNATURES.iter().filter_map(|key| part.get(*key))
}

/// Either alphabet is taken, with padding and without; none ends behind the first character of a group.
fn is_no_base64(signature: &Value) -> bool {
    let Some(text) = signature.as_str() else { return !signature.is_null() };
    let bare = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    !bare.bytes().all(is_taken) || bare.len() % 4 == 1
}

fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

fn is_signed(part: &Value) -> bool {
    let filled = |signature: &Value| signature.as_str().is_some_and(|text| !text.is_empty());
    SIGNATURES.iter().any(|key| part.get(*key).is_some_and(filled))
}

pub fn mend(value: &mut Value) {
    match value.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => *value = told_to_user(value),
        Some("assistant") => value["role"] = "model".into(),
        _ => {}
    }
    let Some(fields) = value.as_object_mut() else { return };
    match fields.get_mut("parts") {
        None | Some(Value::Null) => {
            let said = fields.shift_remove("content").and_then(|content| Some(content.as_str()?.to_owned()));
            let parts = said.map(|text| json!({"text": text})).into_iter().collect();
            fields.insert("parts".to_owned(), Value::Array(parts));
        }
        Some(Value::Array(parts)) => parts.iter_mut().for_each(mend_part),
        Some(_) => {}
    }
}

/// The system prompt travels beside the contents; its words are passed on by the user.
fn told_to_user(content: &Value) -> Value {
    let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    json!({"role": "user", "parts": [{"text": outgoing::told(&texts.join("\n"))}]})
}

fn mend_part(part: &mut Value) {
    if !part.is_object() {
        return;
    }
    if is_other_format(part) {
        let said = part.get("text").and_then(Value::as_str).map_or_else(|| part.to_string(), str::to_owned);
        *part = json!({"text": said});
    }
    if let Some(fields) = part.as_object_mut() {
        fields.retain(|key, value| !is_signature(key) || *value != "" && !is_no_base64(value));
    }
}
