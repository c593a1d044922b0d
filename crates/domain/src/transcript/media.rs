//! Media, told apart whatever format they are in.

use crate::model::message::Media;

/// Gives the key that tells media apart, whatever format they are in.
pub(super) fn medium(source: &Media) -> String {
    let bytes = source.data.as_ref().or(source.url.as_ref()).or(source.text.as_ref()).or(source.file_id.as_ref());
    let bytes = bytes.map(|bytes| blake3::hash(bytes.as_bytes()).to_hex().to_string());
    bytes.unwrap_or_else(|| "medium".to_owned())
}
