//! What the readers of provider formats share: checked access to the fields of an item.

use serde_json::{Map, Value};

use super::ItemError;

pub type Object = Map<String, Value>;

/// An error at `pointer`.
pub fn fail<T>(pointer: impl Into<String>, detail: impl Into<String>) -> Result<T, ItemError> {
    Err(ItemError { pointer: pointer.into(), detail: detail.into() })
}

/// The object at `pointer`, or an error that names it.
pub fn object<'a>(value: &'a Value, pointer: &str) -> Result<&'a Object, ItemError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => fail(pointer, "expected an object"),
    }
}

/// A string field that has to be there; `pointer` is the object's.
pub fn string<'a>(object: &'a Object, key: &str, pointer: &str) -> Result<&'a str, ItemError> {
    match object.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => fail(format!("{pointer}/{key}"), "expected a string"),
        None => fail(format!("{pointer}/{key}"), "missing"),
    }
}

/// A string field that may be absent or null.
pub fn optional_string(object: &Object, key: &str, pointer: &str) -> Result<Option<String>, ItemError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => fail(format!("{pointer}/{key}"), "expected a string"),
    }
}

/// A copy that lacks `keys`.
pub fn without(object: &Object, keys: &[&str]) -> Object {
    object
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether every key is one of `keys`.
pub fn only(object: &Object, keys: &[&str]) -> bool {
    object.keys().all(|key| keys.contains(&key.as_str()))
}

/// Media type and base64 bytes of a `data:` URL.
pub fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}
