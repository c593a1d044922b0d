//! What the Responses API refuses of one item.

use serde_json::{Map, Value, json};

use super::fault::{Faults, check_arguments, mend_arguments};
use crate::format::homes::is_foreign;
use crate::format::openai_responses::{MAX_ID, call_key};
use crate::format::outgoing;
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;

pub fn check(value: &Value, found: &mut Faults) {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("message");
    match kind {
        "message" => check_message(value, found),
        "function_call" => check_call(value, found),
        "function_call_output" | "custom_tool_call_output"
            if !matches!(value.get("output"), Some(Value::String(_) | Value::Array(_))) =>
        {
            found.add(ViolationCode::InvalidOutput, "the output is neither a string nor a list of parts");
        }
        "reasoning" if !value.get("summary").is_some_and(Value::is_array) => {
            found.add(ViolationCode::ReasoningWithoutSummary, "reasoning has a summary, be it an empty list");
        }
        _ => {}
    }
    let is_ours = value.get("execution").is_none_or(|execution| *execution != "server");
    let call_id = value.get(call_key(kind)).and_then(Value::as_str).filter(|_| is_ours);
    if call_id.is_some_and(|id| id.is_empty() || id.len() > MAX_ID) {
        found.add(ViolationCode::InvalidCallId, format!("a call_id has 1 to {MAX_ID} characters"));
    }
}

fn check_message(value: &Value, found: &mut Faults) {
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
    if !["system", "developer", "user", "assistant"].contains(&role) {
        found.add(ViolationCode::UnknownRole, format!("{role:?} is no role of this API"));
    }
    match value.get("content") {
        None | Some(Value::Null) => found.add(ViolationCode::EmptyContent, "content is missing"),
        Some(Value::String(text)) if text.is_empty() => found.add(ViolationCode::EmptyContent, "content is empty"),
        Some(Value::Array(parts)) => {
            parts.iter().for_each(|part| check_part(part, role == "assistant", found));
            if parts.iter().any(is_empty_text) {
                found.add(ViolationCode::EmptyText, "a part without text");
            }
            if parts.iter().all(is_empty_text) {
                found.add(ViolationCode::EmptyContent, "content is empty");
            } else if lacks_id(value, role) {
                found.add(ViolationCode::AnswerWithoutId, "a list of spoken parts belongs to an item with its id");
            }
        }
        Some(_) => {}
    }
}

/// Lists of `output_text` belong to items with an id, which only the provider gives; an answer that came without one is
/// taken as a string.
fn lacks_id(value: &Value, role: &str) -> bool {
    let has_id = value.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    let parts = value.get("content").and_then(Value::as_array);
    role == "assistant" && !has_id && parts.is_some_and(|parts| !parts.is_empty() && words(parts).is_some())
}

fn kind_of(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_empty_text(part: &Value) -> bool {
    kind_of(part).ends_with("text") && part.get("text").is_some_and(|text| *text == "")
}

fn check_part(part: &Value, assistant: bool, found: &mut Faults) {
    let Some(kind) = part.get("type").and_then(Value::as_str) else {
        return found.add(ViolationCode::InvalidBlock, "a part is an object with a type");
    };
    let wanted = text_type(assistant);
    match kind {
        "text" | "input_text" | "output_text" if kind != wanted => {
            found.add(ViolationCode::BlockNotAllowed, format!("{kind} where {wanted} is due"));
        }
        "input_image" if lacks_picture(part) => found.add(ViolationCode::InvalidMedia, "an image without its URL"),
        "input_image" if part.get("image_url").is_some_and(Value::is_object) => {
            found.add(ViolationCode::InvalidMedia, "image_url is a string");
        }
        _ if is_foreign(Format::OpenaiResponses, part) => {
            found.add(ViolationCode::UnknownBlock, format!("{kind:?} is no part of this API"));
        }
        _ => {}
    }
}

fn text_type(assistant: bool) -> &'static str {
    if assistant { "output_text" } else { "input_text" }
}

fn lacks_picture(part: &Value) -> bool {
    let is_blank = |value: &Value| value.as_str().is_some_and(|place| place.trim().is_empty());
    let shown = |key: &str| part.get(key).is_some_and(|value| !value.is_null() && !is_blank(value));
    !shown("image_url") && !shown("file_id")
}

fn check_call(value: &Value, found: &mut Faults) {
    if !value.get("call_id").is_some_and(Value::is_string) {
        found.add(ViolationCode::InvalidCallId, "a call without a call_id");
    }
    check_arguments(value.get("arguments"), found);
}

pub fn mend(value: &mut Value) {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    let Some(fields) = value.as_object_mut() else { return };
    match kind.as_str() {
        "message" => mend_message(fields),
        "function_call" => mend_call(fields),
        "function_call_output" | "custom_tool_call_output" => mend_output(fields),
        "reasoning" if !fields.get("summary").is_some_and(Value::is_array) => {
            fields.insert("summary".to_owned(), json!([]));
        }
        _ => {}
    }
}

fn mend_message(fields: &mut Map<String, Value>) {
    let assistant = fields.get("role").is_some_and(|role| role == "assistant");
    if let Some(Value::Array(parts)) = fields.get_mut("content") {
        parts.iter_mut().for_each(|part| mend_part(part, assistant));
        parts.retain(|part| !is_empty_text(part));
    } else if fields.get("content").is_none_or(Value::is_null) {
        fields.insert("content".to_owned(), json!([]));
    }
    let item = Value::Object(std::mem::take(fields));
    let spoken = lacks_id(&item, if assistant { "assistant" } else { "" });
    let Value::Object(item) = item else { return };
    *fields = item;
    let words = fields.get("content").and_then(Value::as_array).filter(|_| spoken).and_then(|parts| words(parts));
    if let Some(words) = words {
        fields.insert("content".to_owned(), words.into());
    }
}

/// The words of spoken parts, each on lines of its own, by which they are recognised when they come back; `None` where
/// one of them is something else.
fn words(parts: &[Value]) -> Option<String> {
    let text = |part: &Value| {
        let is_spoken = matches!(kind_of(part), "output_text" | "refusal");
        part.get("text").or(part.get("refusal")).and_then(Value::as_str).filter(|_| is_spoken).map(str::to_owned)
    };
    parts.iter().map(text).collect::<Option<Vec<String>>>().map(|texts| texts.join("\n"))
}

fn mend_part(part: &mut Value, assistant: bool) {
    let wanted = text_type(assistant);
    match kind_of(part) {
        "text" | "input_text" | "output_text" => {
            if let Some(fields) = part.as_object_mut() {
                fields.insert("type".to_owned(), wanted.into());
            }
        }
        "input_image" if lacks_picture(part) => {
            *part = json!({"type": wanted, "text": outgoing::not_shown("image", None)})
        }
        "input_image" => {
            let url = part.get("image_url").and_then(|inner| inner.get("url")).cloned();
            if let (Some(url @ Value::String(_)), Some(fields)) = (url, part.as_object_mut()) {
                fields.insert("image_url".to_owned(), url);
            }
        }
        "" => {}
        _ if is_foreign(Format::OpenaiResponses, part) => {
            let said = part.get("text").or(part.get("thinking")).and_then(Value::as_str);
            let said = said.map_or_else(|| part.to_string(), str::to_owned);
            *part = json!({"type": wanted, "text": said});
        }
        _ => {}
    }
}

fn mend_call(fields: &mut Map<String, Value>) {
    if fields.get("call_id").and_then(Value::as_str).is_none_or(str::is_empty)
        && let Some(id) = fields.get("id").filter(|id| id.is_string()).cloned()
    {
        fields.insert("call_id".to_owned(), id);
    }
    match fields.get_mut("arguments") {
        Some(Value::String(_)) => {}
        other => {
            let text =
                other.filter(|value| !value.is_null()).map_or_else(|| "{}".to_owned(), |value| value.to_string());
            fields.insert("arguments".to_owned(), text.into());
        }
    }
    mend_arguments(fields.get_mut("arguments"));
}

fn mend_output(fields: &mut Map<String, Value>) {
    if !matches!(fields.get("output"), Some(Value::String(_) | Value::Array(_) | Value::Object(_))) {
        let given = fields.get("output").filter(|value| !value.is_null());
        let text = given.map_or_else(String::new, Value::to_string);
        fields.insert("output".to_owned(), text.into());
    }
}
