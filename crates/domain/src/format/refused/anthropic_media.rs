//! What the Messages API refuses of one picture or document: by its kind, its bytes and its sides.

use serde_json::{Value, json};

use crate::format::outgoing;
use crate::format::violation_code::ViolationCode;
use crate::model::pictures;

/// The longest base64 text of an image that the API takes.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;
/// The largest request that the API takes; a document can't be larger.
const MAX_DOCUMENT_BYTES: usize = 32 * 1024 * 1024;
/// The longest side of an image, in pixels.
const MAX_SIDE: u32 = 8_000;
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const DOCUMENT_TYPE: &str = "application/pdf";

/// A picture, or a document that is read page by page.
pub struct Medium<'v> {
    pub is_image: bool,
    /// Its bytes, where they are in the block.
    data: Option<&'v str>,
}

impl<'v> Medium<'v> {
    /// `None`: the block is something else, or a document of words, which is taken as those.
    pub fn of(block: &'v Value) -> Option<Medium<'v>> {
        let is_image = match block.get("type")?.as_str()? {
            "image" => true,
            "document" => false,
            _ => return None,
        };
        let source = block.get("source")?;
        let kind = source.get("type").and_then(Value::as_str).unwrap_or_default();
        if !is_image && matches!(kind, "text" | "content") {
            return None;
        }
        Some(Medium { is_image, data: source.get("data").and_then(Value::as_str).filter(|_| kind == "base64") })
    }

    /// The longer side of a picture in pixels; 0 where it can't be told.
    pub fn side(&self) -> u32 {
        let size = self.data.filter(|_| self.is_image).and_then(pictures::size);
        size.map_or(0, |(width, height)| width.max(height))
    }

    /// The pages of a document; one where they can't be told.
    pub fn pages(&self) -> u32 {
        self.data.and_then(pictures::pages).unwrap_or(1)
    }
}

/// What is wrong with an image or a document (`kind`).
pub fn fault(kind: &str, block: &Value) -> Option<(ViolationCode, String)> {
    let Some(source) = block.get("source").filter(|source| source.is_object()) else {
        return Some((ViolationCode::InvalidMedia, format!("{kind} without a source")));
    };
    if source.get("type").is_none_or(|kind| kind != "base64") {
        return None;
    }
    let data = source.get("data").and_then(Value::as_str)?;
    let given = source.get("media_type").and_then(Value::as_str).unwrap_or_default();
    let is_image = kind == "image";
    let (is_taken, most) = match is_image {
        true => (IMAGE_TYPES.contains(&given), MAX_IMAGE_BYTES),
        false => (given == DOCUMENT_TYPE, MAX_DOCUMENT_BYTES),
    };
    let known = pictures::media_type(data).filter(|_| is_image);
    let side = Medium { is_image, data: Some(data) }.side();
    if data.is_empty() {
        Some((ViolationCode::InvalidMedia, format!("the {kind} is empty")))
    } else if !is_taken {
        Some((ViolationCode::InvalidMedia, format!("{given:?} is no {kind} that the API takes")))
    } else if let Some(known) = known.filter(|known| *known != given) {
        Some((ViolationCode::InvalidMedia, format!("{given} is said of what is {known}")))
    } else if data.len() > most {
        Some((ViolationCode::MediaTooLarge, format!("the {kind} is larger than the API takes")))
    } else if side > MAX_SIDE {
        Some((ViolationCode::MediaTooLarge, format!("a side of the {kind} has more than {MAX_SIDE} pixels")))
    } else {
        None
    }
}

/// Returns true if the API takes no image or document of this size.
pub fn is_too_large(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    fault(kind, block).is_some_and(|(code, _)| code == ViolationCode::MediaTooLarge)
}

/// An image says what its bytes are, and what the API does not take is told in words.
pub fn mend(kind: &str, block: &mut Value) {
    // What has no source is no image that could be read; its words are kept elsewhere.
    if !block.get("source").is_some_and(Value::is_object) || fault(kind, block).is_none() {
        return;
    }
    let known = block.pointer("/source/data").and_then(Value::as_str).and_then(pictures::media_type);
    if let (Some(known), Some(given)) =
        (known.filter(|_| kind == "image"), block.pointer_mut("/source/media_type").filter(|given| given.is_string()))
    {
        *given = known.into();
    }
    if fault(kind, block).is_some() {
        *block = not_shown(kind, block);
    }
}

/// The text in the place of something that can't be shown, in the words that the writers have for it too.
pub fn not_shown(kind: &str, block: &Value) -> Value {
    let source = |key: &str| block.get("source").and_then(|source| source.get(key)).and_then(Value::as_str);
    let names = [block.get("title").and_then(Value::as_str), source("url"), source("media_type")];
    let name = names.into_iter().flatten().find(|name| !name.trim().is_empty());
    json!({"type": "text", "text": outgoing::not_shown(kind, name)})
}
