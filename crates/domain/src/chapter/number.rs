//! Numbers in a context: `[N] ` before the first words of a task.

use serde_json::{Value, json};

use crate::model::format::Format;
use crate::model::json::parse_lenient;

/// Gives the text that stands before a task's first words: its number in brackets.
pub fn prefix(number: usize) -> String {
    format!("[{number}] ")
}

/// A text that begins with a number, or is nothing else: the number and the text behind it.
pub fn numbered(text: &str) -> Option<(usize, &str)> {
    let (digits, rest) = text.strip_prefix('[')?.split_once(']')?;
    let number = digits.parse().ok().filter(|number: &usize| number.to_string() == digits && *number > 0)?;
    match rest {
        "" => Some((number, "")),
        _ => rest.strip_prefix(' ').map(|rest| (number, rest)),
    }
}

/// A user's item with the number in front of its text; nothing else of it changes. `None` where there is no place for
/// one.
pub fn number(format: Format, item: &str, number: usize) -> Option<String> {
    let mut value = parse_lenient(item).ok()?;
    let content = content(format, &mut value)?;
    let prefix = prefix(number);
    match content {
        Value::String(text) => text.insert_str(0, &prefix),
        Value::Array(parts) => number_parts(parts, &prefix, format),
        _ => return None,
    }
    Some(value.to_string())
}

/// A numbered item without its number; `None` where it has none.
pub fn unnumber(format: Format, item: &str) -> Option<(usize, String)> {
    let mut value = parse_lenient(item).ok()?;
    let content = content(format, &mut value)?;
    let strip = |text: &mut String| {
        let (number, rest) = numbered(text).map(|(number, rest)| (number, rest.to_owned()))?;
        *text = rest;
        Some(number)
    };
    let number = match content {
        Value::String(text) => strip(text)?,
        Value::Array(parts) => {
            let place = parts.iter().position(|part| part.get("text").is_some_and(Value::is_string))?;
            let Some(Value::String(text)) = parts.get_mut(place).and_then(|part| part.get_mut("text")) else {
                return None;
            };
            let number = strip(text)?;
            if text.is_empty() && parts.len() > 1 {
                parts.remove(place);
            }
            number
        }
        _ => return None,
    };
    Some((number, value.to_string()))
}

fn content(format: Format, item: &mut Value) -> Option<&mut Value> {
    let in_message = format == Format::Pi && item.get("message").is_some_and(Value::is_object);
    match format {
        Format::Gemini => item.get_mut("parts"),
        _ if in_message => item.get_mut("message")?.get_mut("content"),
        _ => item.get_mut("content"),
    }
}

/// In the first part that is text, or in a part of its own where there is none.
fn number_parts(parts: &mut Vec<Value>, prefix: &str, format: Format) {
    let first = parts.iter_mut().find_map(|part| match part.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    });
    match first {
        Some(text) => text.insert_str(0, prefix),
        None => {
            let text = prefix.trim_end();
            parts.insert(
                0,
                match format {
                    Format::Gemini => json!({"text": text}),
                    Format::OpenaiResponses => json!({"type": "input_text", "text": text}),
                    _ => json!({"type": "text", "text": text}),
                },
            );
        }
    }
}
