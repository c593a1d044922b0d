//! Numbers in a context: `[N] ` before the first words of a task.

use serde_json::{Value, json};

use crate::domain::format::Format;
use crate::domain::json::parse_lenient;

/// What stands before a task's first words.
pub fn prefix(number: usize) -> String {
    format!("[{number}] ")
}

/// A user's item with the number in front of its text; nothing else of it changes. `None` where there is no place for
/// one.
pub fn number(format: Format, item: &str, number: usize) -> Option<String> {
    let mut value = parse_lenient(item).ok()?;
    let holder = match format {
        Format::Pi => value.get_mut("message").filter(|message| message.is_object()),
        _ => None,
    };
    let content = match holder {
        Some(message) => message.get_mut("content")?,
        None => value.get_mut("content")?,
    };
    let prefix = prefix(number);
    match content {
        Value::String(text) => text.insert_str(0, &prefix),
        Value::Array(parts) => number_parts(parts, &prefix, format),
        _ => return None,
    }
    Some(value.to_string())
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
            let kind = if format == Format::OpenaiResponses { "input_text" } else { "text" };
            parts.insert(0, json!({"type": kind, "text": prefix.trim_end()}));
        }
    }
}
