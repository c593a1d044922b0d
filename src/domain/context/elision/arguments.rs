//! Long strings inside a call's arguments, shown by head and tail. The arguments stay what they are: the same JSON
//! with the same keys, or free text where the tool takes free text.

use serde_json::Value;

use crate::domain::context::placeholder::{SHORTENED, head_and_tail, is_placeholder, is_shortened_line, parts};
use crate::domain::model::links::is_made_by_code;
use crate::domain::model::message::{Block, CallKind, Message, Opaque, Role, ToolCall};
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_message;

/// Strings of at most this many characters stay whole, however little is wanted: paths, names and commands tell
/// the calls apart.
pub const ALWAYS_WHOLE: usize = 200;

/// Returns true if the arguments of a call may be shown shorter. Not those of calls that the provider ran or that code
/// of its made, those of calls that are sent back as a whole, and function arguments that are no JSON.
pub fn may_shorten(call: &ToolCall) -> bool {
    let apart = |opaque: &Opaque| {
        matches!(opaque.value["type"].as_str(), Some("tool_use" | "function_call" | "custom_tool_call"))
    };
    let readable = match call.kind {
        CallKind::Server => false,
        CallKind::Custom => true,
        CallKind::Function => !matches!(call.arguments, Value::String(_)),
    };
    readable && !is_made_by_code(call) && call.opaque.as_ref().is_none_or(apart)
}

/// Shows every string of more than `head + tail` characters by its ends, where that is shorter. Returns whether there
/// was one. Doing it twice changes nothing more.
pub fn shorten(call: &mut ToolCall, head: usize, tail: usize) -> bool {
    if !may_shorten(call) || !shorten_value(&mut call.arguments, &call.id, head, tail) {
        return false;
    }
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

#[cfg(test)]
mod tests;
