//! One normalised block into a content block of the API.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::{MAX_ID, MAX_NAME, media};
use crate::format::keys::Object;
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, own};
use crate::format::refused;
use crate::format::write::ItemFault;
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Opaque, ToolCall, ToolResult};

/// Where a block is written to.
#[derive(Clone, Copy)]
pub struct BlockContext<'p> {
    /// Assistant messages hold no images and no documents.
    pub assistant: bool,
    /// The message came from this API.
    pub is_own: bool,
    /// The server calls that may be sent, results included.
    pub sendable: &'p HashSet<Cow<'p, str>>,
}

/// `None` where the block can't be said; then a note tells why, empty text aside: that is counted in `empty`.
pub fn write(block: &Block, place: BlockContext<'_>, empty: &mut usize, notes: &mut Notes<'_>) -> Option<Value> {
    match block {
        Block::Text { text, .. } if text.trim().is_empty() => {
            *empty += 1;
            None
        }
        Block::Text { text, opaque } => {
            let mut written = around(opaque.as_ref(), "text");
            let key = if written.get("type").is_some_and(|kind| kind == "compaction") { "content" } else { "text" };
            written.insert(key.into(), text.as_str().into());
            Some(Value::Object(written))
        }
        Block::Thinking { opaque, .. } => {
            let whole = own(opaque.as_ref(), Format::Anthropic).cloned();
            if whole.is_none() {
                notes.add(NoteCode::ThinkingDropped, "thinking without Anthropic's signature can't be replayed");
            }
            whole
        }
        Block::Image { source } => Some(write_media("image", source, place, notes)),
        Block::Document { source } => Some(write_media("document", source, place, notes)),
        Block::ToolCall(call) if call.kind == CallKind::Server => write_server_call(call, place, notes),
        Block::ToolCall(call) => Some(write_call(call, notes)),
        Block::ToolResult(result) if result.kind == CallKind::Server => write_server_result(result, place, notes),
        Block::ToolResult(result) => Some(write_result(result, place, empty, notes)),
        Block::Raw(opaque) => {
            let whole = own(Some(opaque), Format::Anthropic).cloned();
            if whole.is_none() {
                notes.add_pair(outgoing::raw_lost(opaque, NoteCode::RawDropped));
            }
            whole
        }
    }
}

fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

/// The provider's own keys of a block, with its type first.
fn around(opaque: Option<&Opaque>, kind: &str) -> Object {
    match own(opaque, Format::Anthropic) {
        Some(Value::Object(around)) => around.clone(),
        _ => Object::from_iter([("type".to_owned(), Value::from(kind))]),
    }
}

fn write_media(kind: &str, source: &Media, place: BlockContext<'_>, notes: &mut Notes<'_>) -> Value {
    let written = if place.assistant { None } else { media::write(kind, source) };
    let taken = |mut block: Value| {
        // What is of this API was looked at when it was read.
        if !place.is_own {
            refused::mend_anthropic_block(&mut block, false);
        }
        Some(block).filter(|block| block["type"] == kind && !refused::is_anthropic_too_large(block))
    };
    written.and_then(taken).unwrap_or_else(|| {
        notes.add(NoteCode::MediaDropped, format!("this {kind} can't be given to Anthropic here"));
        text(outgoing::media_stand_in(kind, source))
    })
}

fn write_call(call: &ToolCall, notes: &mut Notes<'_>) -> Value {
    let id = outgoing::word(&call.id, MAX_ID);
    let name = outgoing::word(&call.name, MAX_NAME);
    if id != call.id {
        notes.add_fault(NoteCode::CallIdRenamed, ItemFault::IdRefused, format!("{} is sent as {id}", call.id));
    }
    if name != call.name {
        notes.add(NoteCode::ToolNameRenamed, format!("{} is sent as {name}", call.name));
    }
    let (input, wrapped) = outgoing::arguments_object(call);
    if wrapped {
        notes.add(NoteCode::ArgumentsWrapped, format!("the arguments of {id} are no object"));
    }
    let mut block = around(call.opaque.as_ref().filter(|opaque| opaque.value["type"] == "tool_use"), "tool_use");
    block.insert("id".into(), id.into());
    block.insert("name".into(), name.into());
    block.insert("input".into(), input);
    Value::Object(block)
}

fn write_result(result: &ToolResult, place: BlockContext<'_>, empty: &mut usize, notes: &mut Notes<'_>) -> Value {
    let place = BlockContext { assistant: false, ..place };
    let mut content: Vec<Value> = Vec::with_capacity(result.content.len());
    content.extend(result.content.iter().filter_map(|block| write(block, place, empty, notes)));
    let mut block = around(result.opaque.as_ref(), "tool_result");
    block.insert("tool_use_id".into(), outgoing::word(&result.tool_call_id, MAX_ID).into());
    let was_list = block.get("content").is_some_and(Value::is_array);
    if let Some(text) = string_form(&content).filter(|_| !was_list) {
        block.insert("content".into(), text.into());
    } else if !content.is_empty() || was_list {
        block.insert("content".into(), content.into());
    } else if result.opaque.is_none() {
        block.insert("content".into(), "".into());
    }
    if result.is_error {
        block.insert("is_error".into(), true.into());
        if result.content.iter().any(|block| matches!(block, Block::Image { .. } | Block::Document { .. })) {
            notes.add(NoteCode::MediaDropped, "a result that is marked as an error holds nothing but text");
        }
    }
    let mut block = Value::Object(block);
    refused::mend_anthropic_block(&mut block, false);
    block
}

/// The text of content that is one text block and nothing more.
pub fn string_form(content: &[Value]) -> Option<String> {
    match content {
        [Value::Object(block)] if block.len() == 2 && block.get("type")? == "text" => {
            block.get("text")?.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

fn write_server_call(call: &ToolCall, place: BlockContext<'_>, notes: &mut Notes<'_>) -> Option<Value> {
    let Some(whole) = own(call.opaque.as_ref(), Format::Anthropic) else {
        notes.add(NoteCode::ServerToolAsText, format!("{} was run by another provider", call.name));
        return Some(text(outgoing::server_call_text(call)));
    };
    sendable(whole, &call.id, place, notes)
}

fn write_server_result(result: &ToolResult, place: BlockContext<'_>, notes: &mut Notes<'_>) -> Option<Value> {
    match own(result.opaque.as_ref(), Format::Anthropic) {
        Some(_) if !place.assistant => {
            let detail = format!("{} is the result of a tool that the assistant's side runs", result.tool_call_id);
            notes.add(NoteCode::ServerToolUnpaired, detail);
            None
        }
        Some(whole) => sendable(whole, &result.tool_call_id, place, notes),
        None => outgoing::server_result_text(result).map(text),
    }
}

fn sendable(whole: &Value, id: &str, place: BlockContext<'_>, notes: &mut Notes<'_>) -> Option<Value> {
    if place.sendable.contains(id) {
        return Some(whole.clone());
    }
    notes.add(NoteCode::ServerToolUnpaired, format!("{id} lacks its other half in the same turn"));
    None
}
