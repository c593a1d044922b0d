//! Long strings inside a call's arguments, shown by head and tail. The arguments stay what they are: the same JSON
//! with the same keys, or free text where the tool takes free text.

use serde_json::{Value, json};

use crate::domain::context::placeholder::{SHORTENED, head_and_tail, is_placeholder, is_shortened_line, parts};
use crate::domain::model::compaction::{Elision, ElisionKind};
use crate::domain::model::links::is_made_by_code;
use crate::domain::model::message::{Block, CallKind, Message, Role, ToolCall};
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_message;

/// Strings of at most this many characters stay whole, however little is wanted: paths, names and commands tell
/// the calls apart.
pub const ALWAYS_WHOLE: usize = 200;

/// An object is condensed as a whole only where it is so many times as long as each of its fields may be.
const FIELDS_ROOM: usize = 4;

/// The field that then holds it, as writers name the one argument of a call that has no fields.
const WHOLE: &str = "input";

/// Returns true if the arguments of a call may be shown shorter: writers put those that the call has by now into what they
/// keep of its item. What the provider ran, or code of its made, goes back as it came.
pub fn may_shorten(call: &ToolCall) -> bool {
    call.kind != CallKind::Server && !is_made_by_code(call)
}

/// Shows the arguments as an elision says. Returns whether anything is shorter; doing it twice changes nothing more.
pub fn show(call: &mut ToolCall, elision: &Elision) -> bool {
    let Some((head, tail)) = elision.keep_chars else { return false };
    match elision.kind {
        ElisionKind::Mask => condense(call, head as usize, tail as usize),
        _ => shorten(call, head as usize, tail as usize),
    }
}

/// Shows every string of more than `head + tail` characters by its ends, where that is shorter. Returns whether there
/// was one.
pub fn shorten(call: &mut ToolCall, head: usize, tail: usize) -> bool {
    may_shorten(call) && shorten_value(&mut call.arguments, &call.id, head, tail) && rewrite(call)
}

/// The same where the strings are short and many: a list, or an object of many fields, of more than `head + tail`
/// characters gives way to the ends of its JSON. It stays a list or an object.
pub fn condense(call: &mut ToolCall, head: usize, tail: usize) -> bool {
    may_shorten(call) && condense_value(&mut call.arguments, &call.id, head, tail) && rewrite(call)
}

/// Has the text of the arguments say what they are now.
fn rewrite(call: &mut ToolCall) -> bool {
    if call.arguments_text.is_some() {
        call.arguments_text = Some(match &call.arguments {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        });
    }
    true
}

/// Returns true if a string in the call's arguments is shown by its ends.
pub fn is_shortened(call: &ToolCall) -> bool {
    fn holds(value: &Value) -> bool {
        match value {
            Value::String(text) => text.lines().any(is_shortened_line),
            Value::Array(items) => items.iter().any(holds),
            Value::Object(fields) => fields.values().any(holds),
            _ => false,
        }
    }
    holds(&call.arguments)
}

/// The size of a message that holds this call alone.
pub fn call_tokens(estimator: Estimator, call: &ToolCall) -> u32 {
    count_message(estimator, &Message::new(Role::Assistant, vec![Block::ToolCall(call.clone())])).total
}

/// Returns true if a string in the arguments is shown by its ends, as [`shorten`] does for this call.
pub fn are_shortened(arguments: &Value, call_id: &str) -> bool {
    let own = |line: &str| {
        is_shortened_line(line) && line.strip_prefix(SHORTENED).is_some_and(|rest| rest.starts_with(call_id))
    };
    match arguments {
        Value::String(text) => text.lines().any(own),
        Value::Array(items) => items.iter().any(|item| are_shortened(item, call_id)),
        Value::Object(fields) => fields.values().any(|field| are_shortened(field, call_id)),
        _ => false,
    }
}

/// Returns true if `shown` is the text `whole`, shown by its ends.
pub fn is_shown_of(shown: &str, whole: &str) -> bool {
    let mut at = 0;
    for line in shown.split_inclusive('\n') {
        let end = at + line.len();
        if let Some((_, number)) = parts(line.trim_end(), SHORTENED, "; original_characters=")
            && let (Some(head), Some(tail)) = (shown[..at].strip_suffix('\n'), shown.get(end..))
            && number.parse() == Ok(whole.chars().count())
            && whole.starts_with(head)
            && whole.ends_with(tail)
        {
            return true;
        }
        at = end;
    }
    false
}

fn shorten_value(value: &mut Value, call_id: &str, head: usize, tail: usize) -> bool {
    match value {
        Value::String(text) if text.len() > ALWAYS_WHOLE && !is_placeholder(text) => {
            let shown = head_and_tail(text, SHORTENED, call_id, head, tail);
            let shown = shown.filter(|shown| shown.len() < text.len() && text.chars().nth(ALWAYS_WHOLE).is_some());
            let changed = shown.is_some();
            *text = shown.unwrap_or_else(|| std::mem::take(text));
            changed
        }
        // Every one is to be visited: `any` would stop at the first.
        Value::Array(items) => {
            items.iter_mut().filter_map(|item| shorten_value(item, call_id, head, tail).then_some(())).count() > 0
        }
        Value::Object(fields) => {
            fields.values_mut().filter_map(|field| shorten_value(field, call_id, head, tail).then_some(())).count() > 0
        }
        _ => false,
    }
}

fn condense_value(value: &mut Value, call_id: &str, head: usize, tail: usize) -> bool {
    let mut changed = match value {
        Value::Object(fields) => {
            fields.values_mut().filter_map(|field| condense_value(field, call_id, head, tail).then_some(())).count() > 0
        }
        Value::String(_) => shorten_value(value, call_id, head, tail),
        _ => false,
    };
    let is_condensed = stand_in(value).is_some_and(is_placeholder);
    if matches!(value, Value::Array(_) | Value::Object(_)) && !is_condensed {
        let json = value.to_string();
        let shown = head_and_tail(&json, SHORTENED, call_id, head, tail).filter(|shown| shown.len() < json.len());
        // An object whose fields are small by now keeps them: they tell the calls apart.
        let shown = shown.filter(|_| value.is_array() || json.len() > FIELDS_ROOM * (head + tail).max(ALWAYS_WHOLE));
        if let Some(shown) = shown {
            *value = match value {
                Value::Array(_) => Value::Array(vec![shown.into()]),
                _ => json!({ WHOLE: shown }),
            };
            changed = true;
        }
    }
    changed
}

/// The one text that stands in a list or an object for all that was in it.
fn stand_in(value: &Value) -> Option<&str> {
    match value {
        Value::Array(list) if list.len() == 1 => list.first()?.as_str(),
        Value::Object(fields) if fields.len() == 1 => fields.get(WHOLE)?.as_str(),
        _ => None,
    }
}

/// Returns true if a list or an object is what [`condense`] shows of `whole`.
pub fn is_condensed_of(shown: &Value, whole: &Value) -> bool {
    let same_kind = shown.is_array() == whole.is_array() && shown.is_object() == whole.is_object();
    same_kind
        && stand_in(shown)
            .filter(|text| text.lines().any(is_shortened_line))
            .is_some_and(|text| is_shown_of(text, &whole.to_string()))
}

#[cfg(test)]
mod tests;
