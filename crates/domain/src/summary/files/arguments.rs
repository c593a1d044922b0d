//! The arguments of a call that name files.

use serde_json::Value;

use crate::model::message::ToolCall;

/// The paths in the first of these arguments that holds any: one, or a list.
pub(super) fn arguments<'c>(call: &'c ToolCall, names: &str) -> Vec<&'c str> {
    let paths = |name: &str| match call.arguments.get(name) {
        Some(Value::String(path)) => vec![path.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let given = names.split('|').map(|name| paths(name).into_iter().filter(|path| !path.is_empty()).collect());
    given.into_iter().find(|paths: &Vec<&str>| !paths.is_empty()).unwrap_or_default()
}
