//! JSON as real transcripts hold it: what strict parsers refuse is read here, and the raw text stays the truth.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Text that is not JSON, in the parser's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(pub String);

/// The deepest nesting of arrays and objects in `raw`: 0 for a scalar. Linear, without recursion; on text that is
/// not JSON it is an upper estimate at worst.
pub fn depth(raw: &[u8]) -> usize {
    let (mut deepest, mut open) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in raw {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Parses `raw`, nested up to 127 deep. Lone surrogate escapes become U+FFFD; numbers keep their digits
/// (`1e400` too).
pub fn parse_lenient(raw: &str) -> Result<Value, JsonError> {
    serde_json::from_str(&mend_surrogates(raw)).map_err(|error| JsonError(error.to_string()))
}

/// The text with every surrogate escape that has no partner replaced by `\\ufffd`, of the same length.
pub fn mend_surrogates(raw: &str) -> Cow<'_, str> {
    without_lone_surrogates(raw, "\\ufffd")
}

/// How many surrogate escapes of a JSON text have no partner.
pub fn lone_surrogates(raw: &str) -> usize {
    without_lone_surrogates(raw, "").len().abs_diff(raw.len()) / 6
}

/// Stands for a lone surrogate where it has to be told from U+FFFD: no text has this character to say anything.
const MARK: char = '\u{fdd0}';

/// As [`parse_lenient`], with `MARK` for each lone surrogate. `None`: there are none.
pub fn parse_marked(raw: &str) -> Option<Value> {
    match without_lone_surrogates(raw, "\\ufdd0") {
        Cow::Borrowed(_) => None,
        Cow::Owned(marked) => serde_json::from_str(&marked).ok(),
    }
}

/// How many lone surrogates a value has that [`parse_marked`] read.
pub fn marks(value: &Value) -> usize {
    let in_text = |text: &str| text.chars().filter(|character| *character == MARK).count();
    match value {
        Value::String(text) => in_text(text),
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| in_text(key) + marks(value)).sum(),
        _ => 0,
    }
}

fn without_lone_surrogates<'r>(raw: &'r str, instead: &str) -> Cow<'r, str> {
    let bytes = raw.as_bytes();
    let mut fixed = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == b'\\')) {
        at += found;
        match escape_unit(bytes, at) {
            Some(0xD800..=0xDBFF) if matches!(escape_unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                fixed.push_str(&raw[copied..at]);
                fixed.push_str(instead);
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(raw);
    }
    fixed.push_str(&raw[copied..]);
    Cow::Owned(fixed)
}

/// The UTF-16 unit of the `\uXXXX` escape at `at`; `None` where there is no such escape.
fn escape_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0u16, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

/// Returns true if a field need not be stored: it has its default value, which reading gives back.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An object as the service stored it; anything else reads as an empty one.
pub fn parse_object(text: &str) -> serde_json::Map<String, Value> {
    match parse_lenient(text) {
        Ok(Value::Object(object)) => object,
        _ => serde_json::Map::new(),
    }
}

/// Length in UTF-16 units of what JavaScript's `JSON.stringify` makes of the value: no spaces, numbers as the
/// nearest double, those out of range as `null`. A lone surrogate was read as U+FFFD and counts as that; JavaScript writes
/// it as an escape, which is [`LONE_SURROGATE`] longer.
pub fn js_stringify_len(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(flag) => 5 - usize::from(*flag),
        Value::Number(number) => js_number_len(number),
        Value::String(text) => js_string_len(text),
        Value::Array(items) => enclosed(items.len()) + items.iter().map(js_stringify_len).sum::<usize>(),
        Value::Object(fields) => {
            let each = fields.iter().map(|(key, value)| js_string_len(key) + 1 + js_stringify_len(value));
            enclosed(fields.len()) + each.sum::<usize>()
        }
    }
}

/// UTF-16 units that the escape of a lone surrogate (six) has more than the character that it is read as (one).
pub const LONE_SURROGATE: usize = 5;

/// Brackets and commas around `members` members.
fn enclosed(members: usize) -> usize {
    2 + members.saturating_sub(1)
}

fn js_number_len(number: &Number) -> usize {
    match number.as_str().parse::<f64>() {
        Ok(0.0) => 1,
        Ok(double) if double.is_finite() => ryu_js::Buffer::new().format_finite(double).len(),
        _ => 4,
    }
}

fn js_string_len(text: &str) -> usize {
    let units = text.chars().map(|character| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf16(),
    });
    2 + units.sum::<usize>()
}

#[cfg(test)]
mod tests;
