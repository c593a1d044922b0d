//! Helpers of the readers of provider formats, beside [`super::field`]: keys that are known and keys to give back.

use serde_json::{Map, Value};

use crate::model::item::ItemError;

pub type Object = Map<String, Value>;

/// An error at `pointer`.
pub fn fail<T>(pointer: impl Into<String>, detail: impl Into<String>) -> Result<T, ItemError> {
    Err(ItemError { pointer: pointer.into(), detail: detail.into() })
}

/// A copy that lacks `keys`.
pub fn without(object: &Object, keys: &[&str]) -> Object {
    object
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Returns true if every key is one of `keys`.
pub fn only(object: &Object, keys: &[&str]) -> bool {
    object.keys().all(|key| keys.contains(&key.as_str()))
}

/// Media type and base64 bytes of a `data:` URL.
pub fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}
