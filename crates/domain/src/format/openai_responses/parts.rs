//! The parts of message content and of tool outputs, both ways.

use serde_json::{Value, json};

use super::opaque;
use crate::format::field::{object, required_string, required_type, string};
use crate::format::keys::{Object, data_url, only, without};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::{self, Notes, is_out_of_reach, own};
use crate::model::format::Format;
use crate::model::item::ItemError;
use crate::model::message::{Block, Media, Opaque, Role};

const FORMAT: Format = Format::OpenaiResponses;

/// The type of text parts in messages of this role.
pub fn text_type(role: Role) -> &'static str {
    if role == Role::Assistant { "output_text" } else { "input_text" }
}

/// Reads one part; sets `needs_repair` for the part types of other APIs that can be said in this one.
pub fn read(value: &Value, role: Role, pointer: &str, needs_repair: &mut bool) -> Result<Block, ItemError> {
    let part = object(value, pointer)?;
    Ok(match required_type(part, pointer)? {
        "text" => {
            *needs_repair = true;
            Block::text(required_string(part, "text", pointer)?)
        }
        kind @ ("input_text" | "output_text") if kind != text_type(role) => {
            *needs_repair = true;
            Block::text(required_string(part, "text", pointer)?)
        }
        kind @ ("input_text" | "output_text" | "summary_text" | "refusal") => {
            let key = text_key(kind);
            let text = required_string(part, key, pointer)?.to_owned();
            *needs_repair |= text.is_empty();
            let plain = kind == text_type(role) && only(part, &["type", "text"]);
            Block::Text { text, opaque: (!plain).then(|| opaque(without(part, &[key]))) }
        }
        "input_image" => Block::Image { source: read_image(part, pointer, needs_repair)? },
        "input_file" => Block::Document { source: read_file(part, pointer)? },
        _ => Block::Raw(opaque(part.clone())),
    })
}

/// The part for a text, image, document or raw block; `None`, with a note, where there is no way to say it.
pub fn write(block: &Block, role: Role, notes: &mut Notes<'_>) -> Option<Value> {
    match block {
        Block::Text { text, opaque } if outgoing::is_foreign_compaction(opaque.as_ref(), FORMAT) => {
            notes.add_pair(outgoing::COMPACTION_AS_TEXT);
            Some(write_text(&outgoing::compaction_text(text), None, role))
        }
        Block::Text { text, opaque } => Some(write_text(text, opaque.as_ref(), role)),
        Block::Image { source } => Some(write_media("image", source, role, notes)),
        Block::Document { source } => Some(write_media("document", source, role, notes)),
        Block::Raw(opaque) => {
            let whole = own(Some(opaque), FORMAT).cloned();
            if whole.is_none() {
                notes.add_pair(outgoing::raw_lost(opaque, NoteCode::RawDropped));
            }
            whole
        }
        Block::Thinking { .. } | Block::ToolCall(_) | Block::ToolResult(_) => None,
    }
}

fn text_key(kind: &str) -> &'static str {
    if kind == "refusal" { "refusal" } else { "text" }
}

fn write_text(text: &str, around: Option<&Opaque>, role: Role) -> Value {
    let Some(Value::Object(around)) = own(around, FORMAT) else {
        return json!({"type": text_type(role), "text": text});
    };
    let mut part = around.clone();
    let key = part.get("type").and_then(Value::as_str).map_or("text", text_key);
    part.insert(key.into(), text.into());
    Value::Object(part)
}

fn read_image(part: &Object, pointer: &str, needs_repair: &mut bool) -> Result<Media, ItemError> {
    let url = string(part, "image_url", pointer)?.map(str::to_owned);
    let file_id = string(part, "file_id", pointer)?.map(str::to_owned);
    *needs_repair |= url.is_none() && file_id.is_none();
    let mut media = inline(url);
    media.file_id = file_id;
    media.opaque = (!only(part, &["type", "image_url"])).then(|| opaque(without(part, &["image_url", "file_id"])));
    Ok(media)
}

fn read_file(part: &Object, pointer: &str) -> Result<Media, ItemError> {
    let data = string(part, "file_data", pointer)?.map(str::to_owned);
    let mut media = match data {
        Some(data) if data_url(&data).is_none() => Media { data: Some(data), ..Media::default() },
        data => inline(data),
    };
    if let Some(url) = string(part, "file_url", pointer)?.map(str::to_owned) {
        media.url = Some(url);
    }
    media.file_id = string(part, "file_id", pointer)?.map(str::to_owned);
    media.filename = string(part, "filename", pointer)?.map(str::to_owned);
    if !only(part, &["type", "file_data", "file_url", "filename"]) {
        media.opaque = Some(opaque(without(part, &["file_data", "file_url", "file_id", "filename"])));
    }
    Ok(media)
}

/// A medium behind a URL, which may be a `data:` URL.
pub fn inline(url: Option<String>) -> Media {
    match url.as_deref().and_then(data_url) {
        Some((media_type, data)) => {
            Media { media_type: Some(media_type.into()), data: Some(data.into()), ..Media::default() }
        }
        None => Media { url, ..Media::default() },
    }
}

fn write_media(kind: &str, source: &Media, role: Role, notes: &mut Notes<'_>) -> Value {
    if let Some(text) = source.text.as_ref().filter(|_| role != Role::Assistant) {
        notes.add(NoteCode::DocumentAsText, "a document of plain text is sent as text");
        return json!({"type": "input_text", "text": text});
    }
    if role == Role::Assistant || is_out_of_reach(source, FORMAT) {
        notes.add(NoteCode::MediaDropped, format!("this {kind} can't be given to OpenAI here"));
        return json!({"type": text_type(role), "text": outgoing::media_stand_in(kind, source)});
    }
    let mut part = match own(source.opaque.as_ref(), FORMAT) {
        Some(Value::Object(around)) => around.clone(),
        _ => Object::from_iter([("type".into(), if kind == "image" { "input_image" } else { "input_file" }.into())]),
    };
    let (url_key, data_key) = if kind == "image" { ("image_url", "image_url") } else { ("file_url", "file_data") };
    if let Some(data) = &source.data {
        part.insert(data_key.into(), data_value(kind, data, source.media_type.as_deref()).into());
    }
    if let Some(url) = &source.url {
        part.insert(url_key.into(), url.as_str().into());
    }
    if let Some(id) = &source.file_id {
        part.insert("file_id".into(), id.as_str().into());
    }
    if let Some(name) = source.filename.as_ref().filter(|_| kind == "document") {
        part.insert("filename".into(), name.as_str().into());
    } else if kind == "document" && source.data.is_some() && source.opaque.is_none() {
        // The API wants a name beside inline bytes.
        part.insert("filename".into(), "document.pdf".into());
    }
    Value::Object(part)
}

fn data_value(kind: &str, data: &str, media_type: Option<&str>) -> String {
    match (kind, media_type) {
        ("document", None) => data.to_owned(),
        (_, media_type) => format!("data:{};base64,{data}", media_type.unwrap_or("image/png")),
    }
}
