//! Items that their format can't read: their words are kept, in the nearest shape that it can.

use serde_json::{Map, Value, json};

use super::report::Report;
use crate::format;
use crate::format::violation_code::ViolationCode;
use crate::model::format::Format;
use crate::model::item::ItemError;

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
    if check(format, value).is_ok() || on_the_other_side(format, value) {
        return;
    }
    let whole = as_words(format, value);
    *value = part_by_part(format, std::mem::take(value)).unwrap_or(whole);
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

/// Keeps the parts that can be read, and says the others in words. The message is taken apart and not copied: its parts
/// may be all that the memory has room for.
fn part_by_part(format: Format, value: Value) -> Option<Value> {
    let Value::Object(mut fields) = value else { return None };
    if format == Format::Pi {
        return None;
    }
    let key = content_key(format);
    let content = fields.remove(key);
    let calls = fields.remove("tool_calls");
    let parts = match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(parts)) => parts,
        Some(other) => vec![text_part(format, &fields, &words(&other))],
    };
    // Whatever else stands around the parts is looked at once, with all of them: not again for each.
    let beside = fields.iter().filter(|(name, _)| AROUND.contains(&name.as_str()));
    let mut around: Map<String, Value> = beside.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut spoken = Spoken::default();
    for part in parts {
        match read_alone(format, &mut around, key, part) {
            Ok(part) => spoken.part(part, |text| text_part(format, &fields, text)),
            Err(part) => spoken.words(&words(&part)),
        }
    }
    let calls = match calls {
        Some(Value::Array(calls)) => calls,
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other],
    };
    around.insert(key.to_owned(), json!([]));
    let mut made = Vec::new();
    for call in calls {
        match read_alone(format, &mut around, "tool_calls", call) {
            Ok(call) => made.push(call),
            Err(call) => spoken.words(&words(&call)),
        }
    }
    let spoken = spoken.finished(|text| text_part(format, &fields, text));
    fields.insert(key.to_owned(), spoken.into());
    if !made.is_empty() {
        fields.insert("tool_calls".to_owned(), made.into());
    }
    let mended = Value::Object(fields);
    check(format, &mended).is_ok().then_some(mended)
}

/// What a message says, part by part. Words that follow each other are one text, a line each: a text for each of a
/// million numbers would take sixty times the memory of the numbers.
#[derive(Default)]
struct Spoken {
    parts: Vec<Value>,
    words: Option<String>,
}

impl Spoken {
    fn part(&mut self, part: Value, text_part: impl FnOnce(&str) -> Value) {
        self.end_text(text_part);
        self.parts.push(part);
    }

    fn words(&mut self, words: &str) {
        match &mut self.words {
            Some(said) => {
                said.push('\n');
                said.push_str(words);
            }
            None => self.words = Some(words.to_owned()),
        }
    }

    fn finished(mut self, text_part: impl FnOnce(&str) -> Value) -> Vec<Value> {
        self.end_text(text_part);
        self.parts
    }

    fn end_text(&mut self, text_part: impl FnOnce(&str) -> Value) {
        self.parts.extend(self.words.take().map(|said| text_part(&said)));
    }
}

/// One part with what stands around it: `Ok` where that can be read.
fn read_alone(format: Format, around: &mut Map<String, Value>, key: &str, one: Value) -> Result<Value, Value> {
    around.entry(content_key(format)).or_insert_with(|| json!([]));
    around.insert(key.to_owned(), Value::Array(vec![one]));
    let mut item = Value::Object(std::mem::take(around));
    let reads = check(format, &item).is_ok();
    let one = item.get_mut(key).and_then(|parts| parts.get_mut(0)).map(Value::take).unwrap_or_default();
    if let Value::Object(fields) = item {
        *around = fields;
    }
    if reads { Ok(one) } else { Err(one) }
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
