//! Long strings inside a call's arguments, shown by head and tail. The arguments stay what they are: the same JSON
//! with the same keys, or free text where the tool takes free text.

use serde_json::{Map, Value, json};

use crate::context::placeholder::{SHORTENED, head_and_tail, is_placeholder, is_shortened_line, parts};
use crate::model::compaction::{Elision, ElisionKind};
use crate::model::links::is_made_by_code;
use crate::model::message::{Block, CallKind, Message, Role, ToolCall};
use crate::settings::Estimator;
use crate::tokens::count_message;

/// Strings of at most this many characters stay whole, however little is wanted: paths, names and commands tell
/// the calls apart.
pub const ALWAYS_WHOLE: usize = 200;

/// An object is condensed as a whole only where it is so many times as long as each of its fields may be.
const FIELDS_ROOM: usize = 4;

/// Bytes of a marker, about, with a call's id.
const MARKER: usize = 400;

/// The field that held its ends in contexts of earlier versions.
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

/// The same where the strings are short and many: a list of more than `head + tail` characters keeps its first and last items,
/// an object of many fields its first ones. A marker stands where the others were, in the form of what is around it: an agent
/// that reads its own call must find the form that the tool takes.
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
    let whole = match value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        _ => return shorten_value(value, call_id, head, tail),
    };
    let most = FIELDS_ROOM * (head + tail).max(ALWAYS_WHOLE);
    // What is larger was not condensed: an agent may have written such a marker itself.
    if whole.len() <= 2 * most + MARKER && gap_in(value).is_some() {
        return false;
    }
    let mut changed = match &mut *value {
        Value::Object(fields) => {
            fields.values_mut().filter_map(|field| condense_value(field, call_id, head, tail).then_some(())).count() > 0
        }
        _ => shorten_value(value, call_id, head, tail),
    };
    let marker = format!("{SHORTENED}{call_id}; original_characters={}]", whole.chars().count());
    let length = value.to_string().len();
    let shown = match value {
        Value::Array(items) if length > head + tail => leave_out_items(items, marker, (head, tail), most),
        // An object whose fields are small by now keeps them: they tell the calls apart.
        Value::Object(fields) if length > most => leave_out_fields(fields, marker, head + tail),
        _ => return changed,
    };
    if shown.to_string().len() < whole.len() {
        (*value, changed) = (shown, true);
    }
    changed
}

/// A list with its first and last items, and one in the middle that says what is left out in the form of those around it. The
/// first stays where it is no larger than `most`.
fn leave_out_items(items: &[Value], marker: String, (head, tail): (usize, usize), most: usize) -> Value {
    let fits = |room: usize| {
        move |used: &mut usize, item: &Value| {
            *used += item.to_string().len();
            (*used <= room).then_some(())
        }
    };
    let first = items.first().is_some_and(|item| item.to_string().len() <= most);
    let front = items.iter().scan(0, fits(head)).count().max(usize::from(first));
    let rest = items.get(front..).unwrap_or_default();
    // One item at least gives way.
    let back = rest.iter().skip(1).rev().scan(0, fits(tail)).count();
    let Some(left_out) = rest.first() else { return Value::Array(items.to_vec()) };
    let gap = match left_out {
        Value::Object(fields) => {
            let key = fields.iter().find(|(_, field)| field.is_string()).or(fields.iter().next());
            key.map_or(Value::from(marker.as_str()), |(key, _)| json!({ key.as_str(): marker }))
        }
        Value::Array(_) => json!([marker]),
        _ => marker.into(),
    };
    let shown = items.iter().take(front).chain(std::iter::once(&gap)).chain(&rest[rest.len() - back..]);
    Value::Array(shown.cloned().collect())
}

/// An object with its first fields; the next one says that more are left out.
fn leave_out_fields(fields: &Map<String, Value>, marker: String, room: usize) -> Value {
    let mut used = 0;
    let mut shown = Map::new();
    for (key, field) in fields {
        used += key.len() + field.to_string().len();
        if used > room {
            shown.insert(key.clone(), marker.into());
            break;
        }
        shown.insert(key.clone(), field.clone());
    }
    Value::Object(shown)
}

/// The item or field that says what is left out of a list or an object: its place and its text, a marker alone.
fn gap_in(value: &Value) -> Option<(usize, &str)> {
    fn said(item: &Value) -> Option<&str> {
        let text = match item {
            Value::String(text) => text,
            Value::Object(fields) if fields.len() == 1 => fields.values().next()?.as_str()?,
            Value::Array(list) if list.len() == 1 => list.first()?.as_str()?,
            _ => return None,
        };
        (is_shortened_line(text) && !text.contains('\n')).then_some(text)
    }
    match value {
        Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| Some((place, said(item)?))),
        Value::Object(fields) => fields.values().enumerate().find_map(|(place, field)| {
            let text = field.as_str()?;
            Some((place, said(field).filter(|said| *said == text)?))
        }),
        _ => None,
    }
}

/// The one text that stood in a list or an object for all that was in it, as contexts of earlier versions show it.
fn stand_in(value: &Value) -> Option<&str> {
    match value {
        Value::Array(list) if list.len() == 1 => list.first()?.as_str(),
        Value::Object(fields) if fields.len() == 1 => fields.get(WHOLE)?.as_str(),
        _ => None,
    }
}

/// Returns true if a list or an object is what [`condense`] shows of `whole`. `same`: whether a part of it is that part of
/// `whole`, or shows it.
pub fn is_condensed_of(shown: &Value, whole: &Value, same: impl Fn(&Value, &Value) -> bool) -> bool {
    let of_whole = |marker: &str| {
        let number = parts(marker, SHORTENED, "; original_characters=").map(|(_, number)| number);
        number.is_some_and(|number| number.parse() == Ok(whole.to_string().chars().count()))
    };
    match (shown, whole, gap_in(shown)) {
        (Value::Array(shown), Value::Array(whole), Some((gap, marker))) if shown.len() <= whole.len() => {
            let back = shown.len() - gap - 1;
            let (front, tail) = (whole.iter().take(gap), whole.iter().skip(whole.len() - back));
            let shown = shown.iter().take(gap).chain(shown.iter().skip(gap + 1));
            of_whole(marker) && shown.zip(front.chain(tail)).all(|(shown, whole)| same(shown, whole))
        }
        (Value::Object(shown), Value::Object(fields), Some((gap, marker))) => {
            let mut others = shown.iter().enumerate().filter(|(place, _)| *place != gap);
            let is_shown = |(key, shown): (&String, &Value)| fields.get(key).is_some_and(|whole| same(shown, whole));
            of_whole(marker) && others.all(|(_, field)| is_shown(field))
        }
        _ => {
            let same_kind = shown.is_array() == whole.is_array() && shown.is_object() == whole.is_object();
            same_kind
                && stand_in(shown)
                    .filter(|text| text.lines().any(is_shortened_line))
                    .is_some_and(|text| is_shown_of(text, &whole.to_string()))
        }
    }
}

#[cfg(test)]
mod tests;
