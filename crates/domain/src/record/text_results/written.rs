//! Calls in an agent's text: an element with the tool's name, `<function=…>`, or JSON in `<tool_call>`.

use serde_json::{Map, Value};

use crate::model::written_call::{JsonCall, json_at_end, json_of};

const FUNCTION: [&str; 2] = ["<function=", "</function>"];
const PARAMETER: [&str; 2] = ["<parameter=", "</parameter>"];
const TOOL_CALL: [&str; 2] = ["<tool_call>", "</tool_call>"];
/// Most arguments of a call, and how deep its elements are looked into.
const MOST_ARGUMENTS: usize = 64;
const DEEPEST: usize = 3;
/// Bytes of an element that may hold others: what is longer is a text, be it in a language of elements.
const MOST_NESTED: usize = 1_000;

/// A call that an agent wrote as text, and the words around it.
pub(super) struct WrittenCall {
    pub words: String,
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// The last element of this name that begins a line.
pub(super) fn element_call(text: &str, name: &str) -> Option<WrittenCall> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let begins_line = |at: &usize| text[..*at].trim_end_matches([' ', '\t']).is_empty() || text[..*at].ends_with('\n');
    let start = text.rmatch_indices(&open).map(|(at, _)| at).find(begins_line)?;
    let inside = text.get(start + open.len()..)?;
    // What is never closed was cut off.
    let length = inside.rfind(&close).unwrap_or(inside.len());
    let behind = inside.get(length + close.len()..).unwrap_or_default();
    let mut arguments = Map::new();
    leaves(inside.get(..length)?, 0, &mut arguments);
    Some(WrittenCall { words: around(&text[..start], behind), name: name.to_owned(), arguments })
}

/// The last call in a form that marks it as one.
pub(super) fn marked_call(text: &str) -> Option<WrittenCall> {
    function_call(text).or_else(|| json_call(text))
}

/// The call that ends a text as JSON.
pub(super) fn call_at_end(text: &str) -> Option<WrittenCall> {
    let JsonCall { words, name, arguments } = json_at_end(text)?;
    Some(WrittenCall { words: words.to_owned(), name, arguments })
}

fn function_call(text: &str) -> Option<WrittenCall> {
    let start = text.rfind(FUNCTION[0])?;
    let (name, inside) = text.get(start + FUNCTION[0].len()..)?.split_once('>')?;
    let (inside, behind) = inside.split_once(FUNCTION[1]).unwrap_or((inside, ""));
    let mut arguments = Map::new();
    for part in inside.split(PARAMETER[0]).skip(1).take(MOST_ARGUMENTS) {
        let (key, value) = part.split_once('>')?;
        let value = value.rsplit_once(PARAMETER[1]).map_or(value, |(value, _)| value);
        arguments.insert(key.trim().to_owned(), Value::String(value.trim().to_owned()));
    }
    let name = name.trim();
    (!name.is_empty()).then(|| WrittenCall { words: around(&text[..start], behind), name: name.to_owned(), arguments })
}

fn json_call(text: &str) -> Option<WrittenCall> {
    let start = text.rfind(TOOL_CALL[0])?;
    let inside = text.get(start + TOOL_CALL[0].len()..)?;
    let (inside, behind) = inside.split_once(TOOL_CALL[1]).unwrap_or((inside, ""));
    let (name, arguments) = json_of(inside.trim())?;
    Some(WrittenCall { words: around(&text[..start], behind), name, arguments })
}

fn around(before: &str, behind: &str) -> String {
    let parts = [before.trim(), behind.trim()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Adds the elements of a text that hold no others. What stands there twice is a list.
fn leaves(text: &str, depth: usize, arguments: &mut Map<String, Value>) {
    let mut rest = text;
    while let Some((name, inside, behind)) = next_element(rest) {
        rest = behind;
        if arguments.len() >= MOST_ARGUMENTS {
            return;
        }
        let is_nested = inside.trim_start().starts_with('<') && inside.len() <= MOST_NESTED;
        if is_nested && depth < DEEPEST && next_element(inside).is_some() {
            leaves(inside, depth + 1, arguments);
            continue;
        }
        let value = inside.trim_matches('\n').trim_end().to_owned();
        let value = Value::String(value);
        match arguments.get_mut(name) {
            Some(Value::Array(known)) => known.push(value),
            Some(known) => *known = Value::Array(vec![known.take(), value]),
            None => {
                arguments.insert(name.to_owned(), value);
            }
        }
    }
}

/// The next element of a text: its name, what it holds, and what is behind it.
fn next_element(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find('<')? + 1;
        let rest = text.get(start..)?;
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(rest.len());
        let name = rest.get(..length)?;
        from = start;
        if name.is_empty() || !rest.get(length..)?.starts_with('>') {
            continue;
        }
        let inside = rest.get(length + 1..)?;
        let close = format!("</{name}>");
        if let Some((inside, behind)) = inside.split_once(&close) {
            return Some((name, inside, behind));
        }
    }
}
