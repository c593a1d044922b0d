//! Calls as clients post them back, and the stored ones that they are.

use std::borrow::Cow;

use serde_json::Value;

use crate::context::elision;
use crate::format::outgoing;
use crate::model::message::ToolCall;

/// Longest id that a provider takes; longer ones come back shortened.
const MAX_IDS: [usize; 3] = [40, 64, 256];

/// Returns true if a posted call is the stored one. Ids count; one that a provider would not take comes back as we
/// sent it.
pub(super) fn is_call(posted: &ToolCall, stored: &ToolCall) -> bool {
    is_name(&posted.name, &stored.name)
        && is_id(&posted.id, &stored.id)
        && same_arguments(&posted.arguments, &stored.arguments)
}

pub fn is_id(posted: &str, stored: &str) -> bool {
    // One that came without an id has the one that it was given here.
    posted.is_empty()
        || posted == stored
        || MAX_IDS.iter().any(|max| outgoing::word(stored, *max) == posted)
        || posted.starts_with("srvtoolu_") && outgoing::server_tool_id(stored) == posted
        // The second call of an id in one context.
        || posted.strip_prefix(stored).and_then(|rest| rest.strip_prefix('_')).is_some_and(is_number)
}

/// The ids that a stored one is sent as where it is too long, or not of the form that a provider takes.
pub fn sent_ids(stored: &str) -> Vec<String> {
    MAX_IDS.iter().map(|max| outgoing::word(stored, *max)).filter(|sent| sent != stored).map(Cow::into_owned).collect()
}

/// The id of which this may be the second in one context, or any later one.
pub fn without_count(posted: &str) -> Option<&str> {
    posted.rsplit_once('_').filter(|(_, count)| is_number(count)).map(|(id, _)| id)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(posted: &str, stored: &str) -> bool {
    let sent =
        |max: usize| [outgoing::word(stored, max), outgoing::led_word(stored, max)].iter().any(|sent| sent == posted);
    posted == stored || [64, 128].into_iter().any(sent)
}

fn same_arguments(posted: &Value, stored: &Value) -> bool {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        // What some languages make of an empty object.
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    // Free text goes to some formats as the one argument that it is.
    let wrapped = |value: &Value| match value {
        Value::Object(fields) if fields.len() == 1 => fields.get("input").cloned(),
        _ => None,
    };
    same_value(posted, stored)
        || (empty(posted) && empty(stored))
        || wrapped(posted).is_some_and(|inner| same_value(&inner, stored))
        || wrapped(stored).is_some_and(|inner| same_value(posted, &inner))
}

/// Numbers count by value, since clients write them anew, and long texts may be shown by their ends.
fn same_value(posted: &Value, stored: &Value) -> bool {
    elision::arguments::is_condensed_of(posted, stored, same_value) || same_parts(posted, stored)
}

fn same_parts(posted: &Value, stored: &Value) -> bool {
    match (posted, stored) {
        (Value::String(text), Value::String(whole)) => text == whole || elision::arguments::is_shown_of(text, whole),
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|number| other.as_f64() == Some(number))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_value(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|known| same_value(value, known)))
        }
        _ => posted == stored,
    }
}
