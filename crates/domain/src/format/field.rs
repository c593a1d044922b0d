//! Reading fields of an item: a known field of the wrong type is an error with its place; `null` is absent.

use serde_json::{Map, Value};

use crate::model::item::ItemError;

/// The object behind an item or one of its parts.
pub fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, ItemError> {
    value.as_object().ok_or_else(|| ItemError::new(at, "must be an object"))
}

/// A string field; `None` where it is absent or `null`.
pub fn string<'v>(fields: &'v Map<String, Value>, key: &str, at: &str) -> Result<Option<&'v str>, ItemError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ItemError::new(format!("{at}/{key}"), "must be a string")),
    }
}

/// A string field that must be there.
pub fn required_string<'v>(fields: &'v Map<String, Value>, key: &str, at: &str) -> Result<&'v str, ItemError> {
    string(fields, key, at)?.ok_or_else(|| ItemError::new(format!("{at}/{key}"), "is missing"))
}

/// The type of a part, which must be named: no provider takes one without.
pub fn required_type<'v>(fields: &'v Map<String, Value>, at: &str) -> Result<&'v str, ItemError> {
    match required_string(fields, "type", at)? {
        "" => Err(ItemError::new(format!("{at}/type"), "is empty")),
        kind => Ok(kind),
    }
}

/// A boolean field; `false` where it is absent or `null`.
pub fn flag(fields: &Map<String, Value>, key: &str, at: &str) -> Result<bool, ItemError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(ItemError::new(format!("{at}/{key}"), "must be true or false")),
    }
}

/// An array field; empty where it is absent or `null`.
pub fn array<'v>(fields: &'v Map<String, Value>, key: &str, at: &str) -> Result<&'v [Value], ItemError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(ItemError::new(format!("{at}/{key}"), "must be an array")),
    }
}
