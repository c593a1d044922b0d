//! The items of a compacted response, as OpenAI hands them out.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::api::problem::{Problem, Result};
use crate::domain::model::handle;
use crate::domain::model::json;
use crate::service::core::clock;

/// The item that a handle travels in.
pub fn compaction(handle: &str) -> Result<Box<RawValue>> {
    raw(&handle::item(&clock::new_id().simple().to_string(), handle))
}

/// The items that stay, and the compaction behind them.
pub fn items(kept: Vec<Box<RawValue>>, compaction: Box<RawValue>) -> Result<Vec<Box<RawValue>>> {
    kept.into_iter().map(given_out).chain([Ok(compaction)]).collect()
}

/// A text that the user says, given as JSON, as an item. `None`: it is no text.
pub fn said(text: &RawValue) -> Option<Box<RawValue>> {
    let text = json::parse_lenient(text.get()).ok().filter(Value::is_string)?;
    to_raw_value(&json!({"type": "message", "role": "user", "content": text})).ok()
}

/// An item with all that OpenAI's types of answers need: a message has an id, a status and a list of parts. What has them
/// goes out as it came.
fn given_out(item: Box<RawValue>) -> Result<Box<RawValue>> {
    let Ok(Value::Object(fields)) = json::parse_lenient(item.get()) else { return Ok(item) };
    let is_message = fields.get("type").is_none_or(|kind| kind == "message");
    if !is_message || is_whole(&fields) { Ok(item) } else { raw(&Value::Object(whole(fields))) }
}

fn is_whole(message: &Map<String, Value>) -> bool {
    let has_id = message.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
    has_id && message.contains_key("type") && message.contains_key("status") && has_parts(message)
}

fn has_parts(message: &Map<String, Value>) -> bool {
    message.get("content").is_some_and(Value::is_array)
}

fn whole(mut message: Map<String, Value>) -> Map<String, Value> {
    if let Some(text) = message.get_mut("content").filter(|content| content.is_string()) {
        *text = json!([{"type": "input_text", "text": text}]);
    }
    let known =
        |name: &str| message.get(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty())).cloned();
    let (own_id, status) = (known("id"), known("status"));
    let mut whole = Map::from_iter([
        ("id".to_owned(), own_id.unwrap_or_else(|| format!("msg_{}", clock::new_id().simple()).into())),
        ("type".to_owned(), "message".into()),
        ("status".to_owned(), status.unwrap_or_else(|| "completed".into())),
    ]);
    for (name, value) in message {
        whole.entry(name).or_insert(value);
    }
    whole
}

fn raw(item: &Value) -> Result<Box<RawValue>> {
    to_raw_value(item).map_err(|error| {
        tracing::error!(%error, "an item of a compacted response is no JSON");
        Problem::internal()
    })
}
