//! Anthropic's cache marks. Each request has at most four, and its client moves them on; stored messages still have
//! those of their own time.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::model::json;

const MARK: &str = "cache_control";

/// The messages with marks on the last one alone: what leads to it is found in the cache by the provider.
pub fn on_last_alone(messages: &[Box<RawValue>]) -> Vec<Cow<'_, str>> {
    let last = messages.len().saturating_sub(1);
    let text = |(place, message)| if place == last { Cow::Borrowed(RawValue::get(message)) } else { unmarked(message) };
    messages.iter().map(Box::as_ref).enumerate().map(text).collect()
}

fn unmarked(message: &RawValue) -> Cow<'_, str> {
    if !message.get().contains(MARK) {
        return Cow::Borrowed(message.get());
    }
    let Ok(mut value) = json::parse_lenient(message.get()) else { return Cow::Borrowed(message.get()) };
    unmark(value.get_mut("content"), 2);
    Cow::Owned(value.to_string())
}

/// Takes the marks off blocks, and off those that lie in a result.
fn unmark(content: Option<&mut Value>, levels: usize) {
    let Some(Value::Array(blocks)) = content.filter(|_| levels > 0) else { return };
    for block in blocks {
        if let Some(fields) = block.as_object_mut() {
            fields.shift_remove(MARK);
        }
        unmark(block.get_mut("content"), levels - 1);
    }
}
