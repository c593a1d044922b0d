//! Images and documents, both ways.

use serde_json::{Value, json};

use crate::format::field::{object, required_string, string};
use crate::format::keys::{Object, data_url, fail, only, without};
use crate::format::outgoing::{is_out_of_reach, own};
use crate::model::format::Format;
use crate::model::item::ItemError;
use crate::model::message::{Media, Opaque};

/// Reads an `image` or `document` block. A source that no field can hold stays in `opaque` alone.
pub fn read(block: &Object, pointer: &str) -> Result<Media, ItemError> {
    let at = format!("{pointer}/source");
    let Some(value) = block.get("source") else { return fail(at, "missing") };
    let source = object(value, &at)?;
    let mut media = Media { filename: string(block, "title", pointer)?.map(str::to_owned), ..Media::default() };
    match required_string(source, "type", &at)? {
        "base64" => {
            media.media_type = Some(required_string(source, "media_type", &at)?.to_owned());
            media.data = Some(required_string(source, "data", &at)?.to_owned());
        }
        "text" => {
            media.media_type = string(source, "media_type", &at)?.map(str::to_owned);
            media.text = Some(required_string(source, "data", &at)?.to_owned());
        }
        "url" => media.url = Some(required_string(source, "url", &at)?.to_owned()),
        "file" => media.file_id = Some(required_string(source, "file_id", &at)?.to_owned()),
        _ => media.opaque = Some(opaque(block.clone())),
    }
    let simple = only(block, &["type", "source", "title"]) && only(source, &["type", "media_type", "data", "url"]);
    if media.opaque.is_none() && !simple {
        media.opaque = Some(opaque(without(block, &["source"])));
    }
    Ok(media)
}

/// The block for a medium; `None` where the API can't be given it.
pub fn write(kind: &str, media: &Media) -> Option<Value> {
    let around = own(media.opaque.as_ref(), Format::Anthropic);
    if let Some(whole) = around.filter(|around| around.get("source").is_some()) {
        return Some(whole.clone());
    }
    let source = source(kind, media)?;
    let mut block = match around {
        Some(Value::Object(around)) => around.clone(),
        _ => Object::new(),
    };
    block.insert("type".into(), kind.into());
    block.insert("source".into(), source);
    if let Some(title) = media.filename.as_ref().filter(|_| kind == "document") {
        block.insert("title".into(), title.as_str().into());
    }
    Some(Value::Object(block))
}

fn source(kind: &str, media: &Media) -> Option<Value> {
    if is_out_of_reach(media, Format::Anthropic) {
        return None;
    }
    let inline = media.url.as_deref().and_then(data_url);
    let bytes = match (&media.data, inline) {
        (Some(data), _) => Some((media.media_type.as_deref().unwrap_or(default_type(kind)), data.as_str())),
        (None, inline) => inline,
    };
    if let Some((media_type, data)) = bytes {
        // Documents are taken as PDF only; other text has to come as text.
        let taken = kind == "image" || media_type == "application/pdf";
        return taken.then(|| json!({"type": "base64", "media_type": media_type, "data": data}));
    }
    if let Some(text) = media.text.as_ref().filter(|_| kind == "document") {
        return Some(json!({"type": "text", "media_type": "text/plain", "data": text}));
    }
    if let Some(url) = &media.url {
        return Some(json!({"type": "url", "url": url}));
    }
    media.file_id.as_ref().map(|id| json!({"type": "file", "file_id": id}))
}

fn default_type(kind: &str) -> &'static str {
    if kind == "image" { "image/png" } else { "application/pdf" }
}

/// JSON that only this format reads.
pub fn opaque(value: Object) -> Opaque {
    Opaque { format: Format::Anthropic, value: Value::Object(value) }
}
