//! Items that their format can't read: their words are kept, in the nearest shape that it can.

use serde_json::{Map, Value, json};

use super::report::Report;
use crate::domain::format;
use crate::domain::format::violation_code::ViolationCode;
use crate::domain::model::format::Format;
use crate::domain::model::item::ItemError;

/// The fields beside its parts that say what kind of item it is.
const AROUND: [&str; 6] = ["role", "type", "name", "id", "call_id", "tool_call_id"];

/// Checks that the item reads; the error says where it does not.
pub fn check(format: Format, value: &Value) -> Result<(), ItemError> {
    format::message_of(format, value).map(drop)
}

/// Leaves `value` as an item that the format can read. What has to change is reported.
pub fn make_readable(format: Format, value: &mut Value, report: &mut Report) {
    let Err(error) = check(format, value) else { return };
    if !report.names(report.index) {
        report.add(code(&error), format!("{}: {}", error.pointer, error.detail));
    }
    give_a_role(format, value);
    if check(format, value).is_ok() || on_the_other_side(format, value) || part_by_part(format, value) {
        return;
    }
    *value = as_words(format, value);
}

fn code(error: &ItemError) -> ViolationCode {
    let fields: Vec<&str> = error.pointer.split('/').skip(1).collect();
    let holds = |field: &str| fields.contains(&field);
    match fields.as_slice() {
        ["role"] | ["message", "role"] => ViolationCode::UnknownRole,
        ["content"] | ["parts"] | ["message", "content"] => ViolationCode::EmptyContent,
        [.., "source"] => ViolationCode::InvalidMedia,
        _ if holds("image_url") => ViolationCode::InvalidMedia,
        ["content" | "parts", ..] => ViolationCode::InvalidBlock,
        [.., "input"] => ViolationCode::InvalidArguments,
        _ if holds("arguments") => ViolationCode::InvalidArguments,
        [.., "call_id" | "tool_call_id" | "toolCallId"] => ViolationCode::InvalidCallId,
        _ if holds("tool_calls") || holds("function_call") => ViolationCode::InvalidCall,
        _ => ViolationCode::InvalidItem,
    }
}

/// A message whose speaker is not known is the user's.
fn give_a_role(format: Format, value: &mut Value) {
    let known = match format {
        Format::Pi => return,
        Format::OpenaiResponses if value.get("type").is_some_and(|kind| kind != "message") => return,
        Format::Anthropic => ["user", "assistant"].as_slice(),
        Format::Gemini => &["user", "model"],
        _ => &["system", "developer", "user", "assistant", "tool", "function"],
    };
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
    if !known.contains(&role)
        && let Some(fields) = value.as_object_mut()
    {
        fields.insert("role".to_owned(), "user".into());
    }
}

/// Calls stand in messages of the assistant and results in those of the user: what was given to the other side is put
/// right.
fn on_the_other_side(format: Format, value: &mut Value) -> bool {
    if !matches!(format, Format::Anthropic | Format::Gemini | Format::Native) {
        return false;
    }
    let given = value.get("role").cloned().unwrap_or_default();
    let assistant = if format == Format::Gemini { "model" } else { "assistant" };
    for role in [Value::from("user"), Value::from(assistant), given] {
        let Some(fields) = value.as_object_mut() else { return false };
        fields.insert("role".to_owned(), role);
        if check(format, value).is_ok() {
            return true;
        }
    }
    false
}

/// Keeps the parts that can be read, and says the others in words.
fn part_by_part(format: Format, value: &mut Value) -> bool {
    let Some(mut fields) = value.as_object().filter(|_| format != Format::Pi).cloned() else { return false };
    let key = content_key(format);
    let content = fields.remove(key);
    let calls = fields.remove("tool_calls");
    let parts = match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(parts)) => parts,
        Some(other) => vec![text_part(format, &fields, &words(&other))],
    };
    let mut spoken: Vec<Value> = Vec::with_capacity(parts.len());
    for part in parts {
        let reads = reads_alone(format, &fields, key, &part);
        spoken.push(if reads { part } else { text_part(format, &fields, &words(&part)) });
    }
    let calls = match calls {
        Some(Value::Array(calls)) => calls,
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other],
    };
    let (made, unmade): (Vec<Value>, Vec<Value>) =
        calls.into_iter().partition(|call| reads_alone(format, &fields, "tool_calls", call));
    spoken.extend(unmade.iter().map(|call| text_part(format, &fields, &words(call))));
    fields.insert(key.to_owned(), spoken.into());
    if !made.is_empty() {
        fields.insert("tool_calls".to_owned(), made.into());
    }
    let mended = Value::Object(fields);
    if check(format, &mended).is_err() {
        return false;
    }
    *value = mended;
    true
}

fn reads_alone(format: Format, around: &Map<String, Value>, key: &str, one: &Value) -> bool {
    // Whatever else stands around the parts is looked at once, with all of them: not again for each.
    let beside = around.iter().filter(|(name, _)| AROUND.contains(&name.as_str()));
    let mut fields: Map<String, Value> = beside.map(|(name, value)| (name.clone(), value.clone())).collect();
    fields.entry(content_key(format)).or_insert_with(|| json!([]));
    fields.insert(key.to_owned(), json!([one]));
    check(format, &Value::Object(fields)).is_ok()
}

fn content_key(format: Format) -> &'static str {
    if format == Format::Gemini { "parts" } else { "content" }
}

fn text_part(format: Format, fields: &Map<String, Value>, text: &str) -> Value {
    let assistant = fields.get("role").is_some_and(|role| role == "assistant");
    let kind = match format {
        Format::Gemini => return json!({"text": text}),
        Format::OpenaiResponses if assistant => "output_text",
        Format::OpenaiResponses => "input_text",
        _ => "text",
    };
    json!({"type": kind, "text": text})
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The whole item as something that its speaker said.
fn as_words(format: Format, value: &Value) -> Value {
    let content = value.get("content").filter(|content| content.is_string()).map_or_else(|| value.to_string(), words);
    match format {
        Format::OpenaiResponses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": content}]})
        }
        Format::Gemini => json!({"role": "user", "parts": [{"text": content}]}),
        Format::Pi => {
            let field = |key: &str| value.get(key).cloned().unwrap_or_default();
            json!({"type": "message", "id": field("id"), "parentId": field("parentId"),
                "timestamp": field("timestamp"), "message": {"role": "user", "content": content}})
        }
        _ => json!({"role": "user", "content": content}),
    }
}
