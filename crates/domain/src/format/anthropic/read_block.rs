//! One content block into a normalised one.

use serde_json::Value;

use super::media::{self, opaque};
use super::{MAX_ID, MAX_NAME};
use crate::format::field::{object, required_string, required_type, string};
use crate::format::keys::{Object, fail, only, without};
use crate::format::outgoing::is_word;
use crate::model::item::ItemError;
use crate::model::message::{Block, CallKind, Opaque, Role, ToolCall, ToolResult};

/// Reads one block of a message of `role`; sets `needs_repair` where the API would refuse the block as it is.
pub fn read(value: &Value, role: Role, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let block = object(value, pointer)?;
    let kind = required_type(block, pointer)?;
    match kind {
        "tool_use" if role != Role::Assistant => fail(pointer, "tool_use belongs into an assistant message"),
        "tool_result" if role != Role::User => fail(pointer, "tool_result belongs into a user message"),
        "thinking" | "redacted_thinking" => read_thinking(block, kind, pointer, needs_repair),
        "compaction" => read_compaction(block, pointer, needs_repair),
        "tool_use" => read_call(block, pointer, needs_repair),
        "tool_result" => read_result(block, pointer, needs_repair),
        "server_tool_use" | "mcp_tool_use" => read_server_call(block, pointer),
        _ if kind.ends_with("_tool_result") => read_server_result(block, pointer),
        _ => {
            // Only the user shows images and documents.
            *needs_repair |= role == Role::Assistant && matches!(kind, "image" | "document");
            read_simple(block, kind, pointer, needs_repair)
        }
    }
}

/// The kinds that tool results hold as well as messages; a kind that is not known is kept whole.
fn read_simple(block: &Object, kind: &str, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    match kind {
        "text" => {
            let text = required_string(block, "text", pointer)?;
            *needs_repair |= text.trim().is_empty();
            let opaque = (!only(block, &["type", "text"])).then(|| opaque(without(block, &["text"])));
            Ok(Block::Text { text: text.into(), opaque })
        }
        "image" => Ok(Block::Image { source: media::read(block, pointer)? }),
        "document" => Ok(Block::Document { source: media::read(block, pointer)? }),
        _ => Ok(Block::Raw(opaque(block.clone()))),
    }
}

/// Thinking without a signature can't be replayed: the API checks it.
fn read_thinking(block: &Object, kind: &str, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let (text, proof) = match kind {
        "thinking" => {
            (required_string(block, "thinking", pointer)?, string(block, "signature", pointer)?.map(str::to_owned))
        }
        _ => ("", Some(required_string(block, "data", pointer)?.to_owned())),
    };
    let replayable = proof.is_some_and(|proof| !proof.is_empty());
    *needs_repair |= !replayable;
    Ok(Block::Thinking { text: text.into(), opaque: replayable.then(|| opaque(block.clone())) })
}

/// The provider's own summary, as text for all others. One without a summary is refused as input.
fn read_compaction(block: &Object, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let summary = string(block, "content", pointer)?.unwrap_or_default();
    *needs_repair |= summary.trim().is_empty();
    Ok(Block::Text { text: summary.to_owned(), opaque: Some(opaque(without(block, &["content"]))) })
}

fn read_call(block: &Object, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let id = string(block, "id", pointer)?.map(str::to_owned).unwrap_or_default();
    let name = required_string(block, "name", pointer)?.to_owned();
    let arguments = block.get("input").cloned().unwrap_or_else(|| Value::Object(Object::new()));
    *needs_repair |= !is_word(&id, MAX_ID) || !is_word(&name, MAX_NAME);
    *needs_repair |= !block.get("input").is_some_and(Value::is_object);
    let known = ["type", "id", "name", "input"];
    let opaque = (!only(block, &known)).then(|| opaque(without(block, &["id", "name", "input"])));
    Ok(Block::ToolCall(ToolCall { id, name, arguments, arguments_text: None, kind: CallKind::Function, opaque }))
}

fn read_result(block: &Object, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let id = string(block, "tool_use_id", pointer)?.map(str::to_owned).unwrap_or_default();
    *needs_repair |= !is_word(&id, MAX_ID);
    let content = read_result_content(block, pointer, needs_repair)?;
    let is_error = match block.get("is_error") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(flag)) => *flag,
        Some(_) => return fail(format!("{pointer}/is_error"), "expected a boolean"),
    };
    Ok(Block::ToolResult(ToolResult {
        tool_call_id: id,
        name: None,
        content,
        is_error,
        kind: CallKind::Function,
        opaque: result_opaque(block),
    }))
}

fn read_result_content(block: &Object, pointer: &str, needs_repair: &mut bool) -> Result<Vec<Block>, ItemError> {
    let list = match block.get("content") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => return Ok(Vec::new()),
        Some(Value::String(text)) => return Ok(vec![Block::text(text)]),
        Some(Value::Array(list)) => list,
        Some(_) => return fail(format!("{pointer}/content"), "expected a string or a list of blocks"),
    };
    let mut read = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let at = format!("{pointer}/content/{index}");
        let inner = object(value, &at)?;
        read.push(read_simple(inner, required_type(inner, &at)?, &at, needs_repair)?);
    }
    Ok(read)
}

/// Keeps what the result's own fields don't tell: other keys, and whether the content was a list.
fn result_opaque(block: &Object) -> Option<Opaque> {
    let plain = block.get("content").is_some_and(Value::is_string)
        && only(block, &["type", "tool_use_id", "content", "is_error"])
        && block.get("is_error").is_none_or(|flag| *flag == true);
    if plain {
        return None;
    }
    let mut around = without(block, &["tool_use_id", "content"]);
    match block.get("content") {
        Some(Value::Array(_)) => drop(around.insert("content".into(), Value::Array(Vec::new()))),
        Some(Value::String(_)) => drop(around.insert("content".into(), "".into())),
        _ => {}
    }
    Some(opaque(around))
}

fn read_server_call(block: &Object, pointer: &str) -> Result<Block, ItemError> {
    Ok(Block::ToolCall(ToolCall {
        id: required_string(block, "id", pointer)?.to_owned(),
        name: required_string(block, "name", pointer)?.to_owned(),
        arguments: block.get("input").cloned().unwrap_or(Value::Null),
        arguments_text: None,
        kind: CallKind::Server,
        opaque: Some(opaque(block.clone())),
    }))
}

fn read_server_result(block: &Object, pointer: &str) -> Result<Block, ItemError> {
    let content = block.get("content").unwrap_or(&Value::Null);
    let failed = content["type"].as_str().is_some_and(|kind| kind.ends_with("_error"));
    Ok(Block::ToolResult(ToolResult {
        tool_call_id: required_string(block, "tool_use_id", pointer)?.to_owned(),
        name: None,
        content: server_content(content),
        is_error: failed || block.get("is_error") == Some(&Value::Bool(true)),
        kind: CallKind::Server,
        opaque: Some(opaque(block.clone())),
    }))
}

/// Reads the content of a server result, for readers other than Anthropic: text as it is, anything else as JSON
/// without what only Anthropic can decrypt.
fn server_content(content: &Value) -> Vec<Block> {
    let text_of = |block: &Value| (block["type"] == "text").then(|| block["text"].as_str().map(Block::text)).flatten();
    match content {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Block::text(text)],
        Value::Array(list) => match list.iter().map(text_of).collect::<Option<Vec<Block>>>() {
            Some(texts) => texts,
            None => vec![Block::text(readable(content).to_string())],
        },
        _ => vec![Block::text(readable(content).to_string())],
    }
}

fn readable(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let shown = fields.iter().filter(|(key, _)| !key.starts_with("encrypted_"));
            Value::Object(shown.map(|(key, value)| (key.clone(), readable(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(readable).collect()),
        _ => value.clone(),
    }
}
