//! The members of a line of a pi file.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

/// Returns true if an item of pi's is the header of a file.
pub(super) fn is_header(value: &Value) -> bool {
    text(value, "type") == Some("session")
}

pub(super) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// Sets a member; says whether it was another before.
pub(super) fn replace(value: &mut Value, name: &str, member: Value) -> bool {
    let differs = value.get(name) != Some(&member);
    if differs {
        set(value, name, Some(member));
    }
    differs
}

/// A time as pi writes it.
pub fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Sets a member of an object, or leaves it as it is.
pub(super) fn set(value: &mut Value, name: &str, member: Option<Value>) {
    if let (Some(fields), Some(member)) = (value.as_object_mut(), member) {
        fields.insert(name.to_owned(), member);
    }
}
