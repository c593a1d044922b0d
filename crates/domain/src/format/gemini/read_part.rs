//! One part into a normalised block.
//!
//! What a block does not tell of its part stays beside it as the part with its own values taken out: so the part can be
//! put together again as it was, and it shows whether a call had an id.

use serde_json::{Value, json};

use super::fields::{self, held, kinds};
use super::{MAX_OWN_NAME, media, opaque};
use crate::format::field::{array, object, required_string, string};
use crate::format::keys::{Object, fail, only, without};
use crate::format::outgoing;
use crate::model::item::ItemError;
use crate::model::message::{Block, CallKind, Role, ToolCall, ToolResult};

/// Reads one part of a content of `role`; sets `needs_repair` where the API would refuse it as it is.
pub fn read(part: &Object, role: Role, at: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let mut found = kinds(part);
    let Some((kind, key)) = found.next() else { return Ok(read_other(part, needs_repair)) };
    if let Some((other, _)) = found.next() {
        return fail(at, format!("holds {kind} and {other}: a part has one kind of data"));
    }
    match kind {
        "text" => read_text(part, at, needs_repair),
        "functionCall" if role != Role::Assistant => fail(at, "functionCall belongs into a content of the model"),
        "functionResponse" if role == Role::Assistant => {
            fail(at, "functionResponse belongs into a content of the user")
        }
        "functionCall" => read_call(part, key, at, needs_repair),
        "functionResponse" => read_result(part, key, at, needs_repair),
        "inlineData" | "fileData" => media::read(part, kind, key, at),
        // The model alone runs code.
        "executableCode" | "toolCall" if role != Role::Assistant => Ok(Block::Raw(opaque(part.clone()))),
        "executableCode" | "toolCall" => read_server_call(part, kind, key, at),
        _ => read_server_result(part, kind, key, at),
    }
}

/// A part that is only a signature is thinking; any other is kept whole. The API refuses an empty one.
fn read_other(part: &Object, needs_repair: &mut bool) -> Block {
    if fields::is_thought(part) {
        return Block::Thinking { text: String::new(), opaque: Some(opaque(part.clone())) };
    }
    if part.values().all(Value::is_null) {
        *needs_repair = true;
        return Block::text("");
    }
    Block::Raw(opaque(part.clone()))
}

fn read_text(part: &Object, at: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let text = required_string(part, "text", at)?;
    if fields::is_thought(part) {
        return Ok(Block::Thinking { text: text.to_owned(), opaque: Some(opaque(part.clone())) });
    }
    // The last part of a streamed answer may be a signature on an empty text.
    *needs_repair |= text.is_empty() && !fields::is_signed(part);
    let around = (!only(part, &["text"])).then(|| opaque(without(part, &["text"])));
    Ok(Block::Text { text: text.to_owned(), opaque: around })
}

/// The part with `values` of its data replaced: what they were, the block tells.
fn emptied(part: &Object, key: &str, values: &[(&str, Value)]) -> Object {
    let replaced = |(name, value): (&String, &Value)| {
        let known = values.iter().find(|(known, _)| known == name);
        (name.clone(), known.map_or(value, |(_, place)| place).clone())
    };
    let around = |(name, value): (&String, &Value)| match value {
        Value::Object(data) if name == key => (name.clone(), Value::Object(data.iter().map(replaced).collect())),
        other => (name.clone(), other.clone()),
    };
    part.iter().map(around).collect()
}

fn read_call(part: &Object, key: &str, at: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let at = format!("{at}/{key}");
    let call = object(&part[key], &at)?;
    let name = required_string(call, "name", &at)?.to_owned();
    let id = string(call, "id", &at)?.unwrap_or_default().to_owned();
    let arguments = match call.get("args") {
        None | Some(Value::Null) => json!({}),
        Some(args) => args.clone(),
    };
    *needs_repair |= !is_name(&name) || !arguments.is_object();
    let values = [("id", id_place(&id)), ("name", "".into()), ("args", Value::Null)];
    let around = Some(opaque(emptied(part, key, &values)));
    let kind = CallKind::Function;
    Ok(Block::ToolCall(ToolCall { id, name, arguments, arguments_text: None, kind, opaque: around }))
}

/// An id that is there leaves an empty string, so that a call without one (or with `null`) gets none.
fn id_place(id: &str) -> Value {
    if id.is_empty() { Value::Null } else { "".into() }
}

/// Returns true if the API takes it as the name of a function, which begins with a letter or an underscore.
pub fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    outgoing::is_led(name) && name.len() <= MAX_OWN_NAME && name.bytes().all(allowed)
}

fn read_result(part: &Object, key: &str, at: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let at = format!("{at}/{key}");
    let result = object(&part[key], &at)?;
    let name = string(result, "name", &at)?.map(str::to_owned);
    let id = string(result, "id", &at)?.unwrap_or_default().to_owned();
    *needs_repair |= !name.as_deref().is_some_and(is_name);
    let said = read_response(result.get("response"), &at, needs_repair)?;
    let mut content: Vec<Block> =
        Some(said.text).filter(|text| !text.is_empty()).map(Block::text).into_iter().collect();
    for (place, value) in array(result, "parts", &at)?.iter().enumerate() {
        let at = format!("{at}/parts/{place}");
        let inner = object(value, &at)?;
        content.push(match kinds(inner).next() {
            Some((kind @ ("inlineData" | "fileData"), key)) => media::read(inner, kind, key, &at)?,
            _ => Block::Raw(opaque(inner.clone())),
        });
    }
    let values =
        [("id", id_place(&id)), ("name", "".into()), ("response", said.place), ("parts", Value::Array(Vec::new()))];
    Ok(Block::ToolResult(ToolResult {
        tool_call_id: id,
        name,
        content,
        is_error: said.is_error,
        kind: CallKind::Function,
        opaque: Some(opaque(emptied(part, key, &values))),
    }))
}

/// What a response says.
struct Response {
    text: String,
    is_error: bool,
    /// The response without what it says: the one field that is to hold it, or no field where it is the JSON of all.
    place: Value,
}

/// The fields that hold a response's words by custom.
const WORDS: [&str; 4] = ["output", "result", "content", "error"];

fn read_response(response: Option<&Value>, at: &str, needs_repair: &mut bool) -> Result<Response, ItemError> {
    match response {
        None | Some(Value::Null) => Ok(Response { text: String::new(), is_error: false, place: Value::Null }),
        Some(Value::String(text)) => {
            *needs_repair = true;
            Ok(Response { text: text.clone(), is_error: false, place: json!({"output": ""}) })
        }
        Some(Value::Object(fields)) => {
            let is_error = fields.get("error").is_some_and(|error| !error.is_null());
            let words = WORDS.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?)));
            Ok(match words.filter(|_| fields.len() == 1) {
                Some((name, text)) => {
                    let place = Object::from_iter([(name.to_owned(), Value::from(""))]);
                    Response { text: text.to_owned(), is_error, place: Value::Object(place) }
                }
                None if fields.is_empty() => Response { text: String::new(), is_error, place: json!({}) },
                None => Response { text: Value::Object(fields.clone()).to_string(), is_error, place: json!({}) },
            })
        }
        Some(_) => fail(format!("{at}/response"), "must be an object"),
    }
}

fn read_server_call(part: &Object, kind: &str, key: &str, at: &str) -> Result<Block, ItemError> {
    let call = object(&part[key], &format!("{at}/{key}"))?;
    let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
    let named = held(call, ["toolType", "tool_type"]).map(text);
    let (name, arguments) = match kind {
        "executableCode" => ("code_execution", json!({"language": text("language"), "code": text("code")})),
        _ => (named.unwrap_or("tool"), call.get("args").cloned().unwrap_or_default()),
    };
    Ok(Block::ToolCall(ToolCall {
        id: text("id").to_owned(),
        name: name.to_owned(),
        arguments,
        arguments_text: None,
        kind: CallKind::Server,
        opaque: Some(opaque(part.clone())),
    }))
}

fn read_server_result(part: &Object, kind: &str, key: &str, at: &str) -> Result<Block, ItemError> {
    let result = object(&part[key], &format!("{at}/{key}"))?;
    let text = |name: &str| result.get(name).and_then(Value::as_str).unwrap_or_default();
    let (said, is_error) = match kind {
        "codeExecutionResult" => {
            (text("output").to_owned(), !matches!(text("outcome"), "" | "OUTCOME_OK" | "OUTCOME_UNSPECIFIED"))
        }
        _ => (result.get("response").map(Value::to_string).unwrap_or_default(), false),
    };
    Ok(Block::ToolResult(ToolResult {
        tool_call_id: text("id").to_owned(),
        name: None,
        content: Some(said).filter(|said| !said.is_empty()).map(Block::text).into_iter().collect(),
        is_error,
        kind: CallKind::Server,
        opaque: Some(opaque(part.clone())),
    }))
}
