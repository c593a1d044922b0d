//! The service's own message format: [`Message`] as JSON.
//!
//! `content` is a list of blocks or a string. A block of an unknown type is kept as it is.

use serde_json::{Map, Value, json};

use super::write::{Note, Piece};
use super::{field, outgoing};
use crate::format::note_code::NoteCode;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, Stop, ToolCall, ToolResult};

type Fields = Map<String, Value>;

/// Reads one native message.
///
/// # Errors
/// A missing or unknown role, a call outside an assistant message, a result outside a user or tool message, or a
/// known field of the wrong type.
pub fn read(value: &Value) -> Result<Item, ItemError> {
    let fields = field::object(value, "")?;
    let name = field::required_string(fields, "role", "")?;
    let role = name.parse::<Role>().ok().ok_or_else(|| ItemError::new("/role", format!("unknown role {name:?}")))?;
    let listed = blocks(fields.get("content"), "/content")?;
    for (place, block) in listed.iter().enumerate() {
        check_speaker(role, block, &format!("/content/{place}"))?;
    }
    let content: Vec<Block> = listed.iter().filter(|block| !is_empty_text(block)).cloned().collect();
    let short = content.is_empty() || content.len() < listed.len();
    let message = Message { role, content, stop: stop(fields)?, opaque: None };
    let needs_repair = short || message.lacks_ids();
    let source_id = field::string(fields, "id", "")?.map(str::to_owned);
    Ok(Item { source_id, ..Item::of_message(message, needs_repair) })
}

fn is_empty_text(block: &Block) -> bool {
    matches!(block, Block::Text { text, .. } if text.is_empty())
}

fn check_speaker(role: Role, block: &Block, at: &str) -> Result<(), ItemError> {
    let detail = match block {
        Block::ToolCall(_) if role != Role::Assistant => "only an assistant message can hold a tool call",
        Block::ToolResult(result) if result.kind == CallKind::Server => return Ok(()),
        Block::ToolResult(_) if !matches!(role, Role::User | Role::Tool) => {
            "only a user or tool message can hold a tool result"
        }
        Block::ToolResult(_) | Block::ToolCall(_) => return Ok(()),
        _ if role == Role::Tool => "a tool message holds tool results only",
        _ => return Ok(()),
    };
    Err(ItemError::new(at, detail))
}

fn stop(fields: &Fields) -> Result<Option<Stop>, ItemError> {
    let stop = match field::string(fields, "stop", "")? {
        None => return Ok(None),
        Some("end") => Stop::End,
        Some("length") => Stop::Length,
        Some("tool_use") => Stop::ToolUse,
        Some("refusal") => Stop::Refusal,
        Some("aborted") => Stop::Aborted,
        Some("error") => Stop::Error,
        Some(other) => return Err(ItemError::new("/stop", format!("unknown stop reason {other:?}"))),
    };
    Ok(Some(stop))
}

fn blocks(content: Option<&Value>, at: &str) -> Result<Vec<Block>, ItemError> {
    match content {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Block::Text { text: text.clone(), opaque: None }]),
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(place, item)| block(item, &format!("{at}/{place}"))).collect()
        }
        Some(_) => Err(ItemError::new(at, "must be a string or an array of blocks")),
    }
}

fn block(value: &Value, at: &str) -> Result<Block, ItemError> {
    let fields = field::object(value, at)?;
    Ok(match field::required_type(fields, at)? {
        "text" => Block::Text { text: field::required_string(fields, "text", at)?.to_owned(), opaque: None },
        "thinking" => Block::Thinking {
            text: field::string(fields, "text", at)?.unwrap_or_default().to_owned(),
            opaque: opaque(fields, at)?,
        },
        "image" => Block::Image { source: media(fields, at)? },
        "document" => Block::Document { source: media(fields, at)? },
        "tool_call" => Block::ToolCall(call(fields, at)?),
        "tool_result" => Block::ToolResult(result(fields, at)?),
        "raw" if fields.contains_key("format") => Block::Raw(own_json(fields, at)?),
        _ => Block::Raw(Opaque { format: Format::Native, value: value.clone() }),
    })
}

fn call(fields: &Fields, at: &str) -> Result<ToolCall, ItemError> {
    let arguments = match fields.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(arguments) => arguments.clone(),
    };
    Ok(ToolCall {
        id: field::string(fields, "id", at)?.unwrap_or_default().to_owned(),
        name: field::required_string(fields, "name", at)?.to_owned(),
        arguments,
        arguments_text: None,
        kind: kind(fields, at)?,
        opaque: opaque(fields, at)?,
    })
}

fn result(fields: &Fields, at: &str) -> Result<ToolResult, ItemError> {
    let content_at = format!("{at}/content");
    let mut content = blocks(fields.get("content"), &content_at)?;
    let misplaced = content.iter().position(|block| {
        !matches!(block, Block::Text { .. } | Block::Image { .. } | Block::Document { .. } | Block::Raw(_))
    });
    if let Some(place) = misplaced {
        return Err(ItemError::new(format!("{content_at}/{place}"), "can't stand in a tool result"));
    }
    content.retain(|block| !is_empty_text(block));
    Ok(ToolResult {
        tool_call_id: field::string(fields, "tool_call_id", at)?.unwrap_or_default().to_owned(),
        name: field::string(fields, "name", at)?.map(str::to_owned),
        content,
        is_error: field::flag(fields, "is_error", at)?,
        kind: kind(fields, at)?,
        opaque: opaque(fields, at)?,
    })
}

fn kind(fields: &Fields, at: &str) -> Result<CallKind, ItemError> {
    match field::string(fields, "kind", at)? {
        None | Some("function") => Ok(CallKind::Function),
        Some("custom") => Ok(CallKind::Custom),
        Some("server") => Ok(CallKind::Server),
        Some(other) => Err(ItemError::new(format!("{at}/kind"), format!("unknown kind {other:?}"))),
    }
}

fn media(fields: &Fields, at: &str) -> Result<Media, ItemError> {
    let at = format!("{at}/source");
    let source = fields.get("source").ok_or_else(|| ItemError::new(&at, "is missing"))?;
    let source = field::object(source, &at)?;
    let text = |key| field::string(source, key, &at).map(|text| text.map(str::to_owned));
    Ok(Media {
        media_type: text("media_type")?,
        data: text("data")?,
        url: text("url")?,
        file_id: text("file_id")?,
        text: text("text")?,
        filename: text("filename")?,
        opaque: opaque(source, &at)?,
    })
}

fn opaque(fields: &Fields, at: &str) -> Result<Option<Opaque>, ItemError> {
    match fields.get("opaque") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let at = format!("{at}/opaque");
            own_json(field::object(value, &at)?, &at).map(Some)
        }
    }
}

/// `{format, value}`: a provider's own JSON.
fn own_json(fields: &Fields, at: &str) -> Result<Opaque, ItemError> {
    let name = field::required_string(fields, "format", at)?;
    let format = Format::try_from(name)
        .ok()
        .ok_or_else(|| ItemError::new(format!("{at}/format"), format!("unknown format {name:?}")))?;
    Ok(Opaque { format, value: fields.get("value").cloned().unwrap_or(Value::Null) })
}

/// Writes native messages. Everything can be said here; only empty messages are left out.
pub fn write(pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let mut written = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Verbatim { item, .. } => written.push(item.to_string()),
            Piece::Message { entry, message } if message.content.iter().all(is_empty_text) => {
                notes.push(Note::new(NoteCode::EmptyMessageDropped, *entry, "a message without content is left out"));
            }
            Piece::Message { entry, message } => {
                if message.content.iter().any(is_compaction) {
                    let (code, detail) = outgoing::COMPACTION_AS_TEXT;
                    notes.push(Note::new(code, *entry, detail));
                }
                written.push(message_value(message).to_string());
            }
        }
    }
    written
}

/// The message as native JSON. A block that came in native and was not understood goes out as it came.
pub fn message_value(message: &Message) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.into_str().into());
    fields.insert(
        "content".to_owned(),
        message.content.iter().filter(|block| !is_empty_text(block)).map(block_value).collect(),
    );
    if let Some(stop) = message.stop {
        fields.insert("stop".to_owned(), json!(stop));
    }
    Value::Object(fields)
}

fn block_value(block: &Block) -> Value {
    match block {
        Block::Raw(Opaque { format: Format::Native, value }) => value.clone(),
        Block::Text { text, .. } if is_compaction(block) => json!(Block::text(outgoing::compaction_text(text))),
        other => json!(other),
    }
}

fn is_compaction(block: &Block) -> bool {
    matches!(block, Block::Text { opaque: Some(opaque), .. } if opaque.is_compaction())
}

#[cfg(test)]
mod tests;
