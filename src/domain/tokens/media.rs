//! Stated costs, in tokens, of what is not text.

use serde_json::Value;

use super::counted::saturate;
use crate::domain::model::message::Media;

/// An image of any size, wherever its bytes are.
pub const IMAGE_TOKENS: u32 = 1_200;
/// A page of a document that did not come as text; a document has at least one.
pub const PAGE_TOKENS: u32 = 1_500;
/// How many bytes of a document (before base64) are taken for a page.
pub const PAGE_BYTES: usize = 50_000;
/// An opaque block (encrypted reasoning, a provider's own block), besides its strings.
pub const OPAQUE_TOKENS: u32 = 32;
/// Bytes of an opaque block's strings for one token: base64 of text that would take about 4 bytes a token.
pub const OPAQUE_BYTES_PER_TOKEN: usize = 6;

/// A document: its text where it has one, counted by `text`, else pages by the size of its data.
pub fn document_tokens(source: &Media, text: impl Fn(&str) -> u32) -> u32 {
    if let Some(plain) = &source.text {
        return text(plain);
    }
    let bytes = source.data.as_ref().map_or(0, |data| data.len() / 4 * 3);
    let pages = saturate(bytes.div_ceil(PAGE_BYTES).max(1));
    pages.saturating_mul(PAGE_TOKENS)
}

/// A block that only its provider can read, by the size of its strings.
pub fn opaque_tokens(value: &Value) -> u32 {
    OPAQUE_TOKENS.saturating_add(saturate(string_bytes(value) / OPAQUE_BYTES_PER_TOKEN))
}

fn string_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(string_bytes).sum(),
        Value::Object(fields) => fields.values().map(string_bytes).sum(),
        _ => 0,
    }
}
