//! Images and other media, both ways.

use serde_json::{Value, json};

use super::fields::held;
use super::opaque;
use crate::format::field::{object, string};
use crate::format::keys::{Object, data_url, fail};
use crate::format::outgoing::{is_out_of_reach, own};
use crate::model::format::Format;
use crate::model::item::ItemError;
use crate::model::message::{Block, Media};

const TYPE: [&str; 2] = ["mimeType", "mime_type"];
const URI: [&str; 2] = ["fileUri", "file_uri"];
const NAME: [&str; 2] = ["displayName", "display_name"];
/// Where files of the provider's own are.
const OWN_FILES: [&str; 2] = ["https://generativelanguage.googleapis.com/", "gs://"];

/// Reads an `inlineData` or a `fileData` part. Anything but an image is a document.
pub fn read(part: &Object, kind: &str, key: &str, at: &str) -> Result<Block, ItemError> {
    let at = format!("{at}/{key}");
    let data = object(&part[key], &at)?;
    let text = |names: [&'static str; 2]| match held(data, names) {
        Some(name) => string(data, name, &at).map(|text| text.map(str::to_owned)),
        None => Ok(None),
    };
    let mut media = Media { media_type: text(TYPE)?, filename: text(NAME)?, ..Media::default() };
    match kind {
        "inlineData" => media.data = text(["data", "data"])?,
        _ => match text(URI)? {
            Some(uri) if OWN_FILES.iter().any(|own| uri.starts_with(own)) => media.file_id = Some(uri),
            uri => media.url = uri,
        },
    }
    if media.data.is_none() && media.url.is_none() && media.file_id.is_none() {
        return fail(at, "says nowhere where its bytes are");
    }
    media.opaque = Some(opaque(emptied(part, key)));
    let is_image = media.media_type.as_deref().is_some_and(|kind| kind.starts_with("image/"));
    Ok(if is_image { Block::Image { source: media } } else { Block::Document { source: media } })
}

/// The part without its bytes, which the block holds.
fn emptied(part: &Object, key: &str) -> Object {
    let mut around = part.clone();
    if let Some(Value::Object(data)) = around.get_mut(key) {
        for name in ["data", "fileUri", "file_uri"] {
            if let Some(held) = data.get_mut(name) {
                *held = Value::from("");
            }
        }
    }
    around
}

/// The part for a medium; `None` where the API can't be given it.
pub fn write(kind: &str, media: &Media) -> Option<Value> {
    if let Some(Value::Object(around)) = own(media.opaque.as_ref(), Format::Gemini) {
        return filled(around.clone(), media);
    }
    if is_out_of_reach(media, Format::Gemini) {
        return None;
    }
    let default = if kind == "image" { "image/png" } else { "application/pdf" };
    let given = media.media_type.as_deref();
    let inline = media.url.as_deref().and_then(data_url);
    let bytes = match (&media.data, inline) {
        (Some(data), _) => Some((given.unwrap_or(default), data.as_str())),
        (None, inline) => inline,
    };
    if let Some((mime, data)) = bytes {
        return Some(json!({"inlineData": {"mimeType": mime, "data": data}}));
    }
    if let Some(text) = &media.text {
        return Some(json!({"text": text}));
    }
    let url = media.url.as_ref()?;
    let mime = given.or_else(|| type_of(url)).unwrap_or(default);
    Some(json!({"fileData": {"mimeType": mime, "fileUri": url}}))
}

fn filled(mut around: Object, media: &Media) -> Option<Value> {
    let bytes = [("data", &media.data), ("fileUri", &media.url), ("file_uri", &media.url)];
    for data in around.values_mut().filter_map(Value::as_object_mut) {
        for (name, text) in bytes {
            if let Some(held) = data.get_mut(name) {
                *held = text.as_ref().or(media.file_id.as_ref())?.as_str().into();
            }
        }
    }
    Some(Value::Object(around))
}

/// Tells the type of what is behind a URL by its ending.
fn type_of(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let ending = path.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "txt" | "md" => "text/plain",
        _ => return None,
    })
}
