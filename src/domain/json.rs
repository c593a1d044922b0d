//! JSON as JavaScript writes it.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// JSON text without unpaired surrogates: JavaScript writes them (`"\ud83d"` of an emoji cut in half) and no Rust
/// string can hold them. Each becomes `\ufffd`, of the same length, so that every position stays.
pub fn mend_surrogates(json: &str) -> Cow<'_, str> {
    let mut mended: Option<String> = None;
    let mut at = 0;
    while let Some(backslash) = json.get(at..).and_then(|rest| rest.find('\\')).map(|found| at + found) {
        let paired = matches!(surrogate(json, backslash), Some(0xd800..=0xdbff))
            && matches!(surrogate(json, backslash + ESCAPE_LEN), Some(0xdc00..=0xdfff));
        at = match surrogate(json, backslash) {
            Some(_) if paired => backslash + 2 * ESCAPE_LEN,
            Some(_) => {
                let text = mended.get_or_insert_with(|| json.to_owned());
                text.replace_range(backslash..backslash + ESCAPE_LEN, "\\ufffd");
                backslash + ESCAPE_LEN
            }
            // What follows a backslash is escaped by it, a second backslash too.
            None => backslash + 2,
        };
    }
    mended.map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The length of `\uXXXX`.
const ESCAPE_LEN: usize = 6;

fn surrogate(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_LEN)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdfff).contains(unit))
}

/// The length, in UTF-16 code units, of what `JSON.stringify` makes of the value: no spaces, numbers as
/// JavaScript prints them, only the escapes that it needs.
pub fn js_stringify_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_len(number),
        Value::String(text) => string_len(text),
        Value::Array(items) => 2 + items.len().saturating_sub(1) + items.iter().map(js_stringify_len).sum::<usize>(),
        Value::Object(fields) => {
            let members: usize = fields.iter().map(|(key, value)| string_len(key) + 1 + js_stringify_len(value)).sum();
            2 + fields.len().saturating_sub(1) + members
        }
    }
}

/// JavaScript knows doubles only, and writes an infinite one as `null`.
fn number_len(number: &Number) -> usize {
    match number.as_f64() {
        Some(double) if double.is_finite() => ryu_js::Buffer::new().format_finite(double).len(),
        _ => 4,
    }
}

fn string_len(text: &str) -> usize {
    2 + text.chars().map(escaped_len).sum::<usize>()
}

fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf16(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len(json: &str) -> usize {
        js_stringify_len(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn unpaired_surrogates_are_replaced_and_nothing_else() {
        let paired = r#"["\ud83d\ude42", "\\ud83d", "é\n", "\u00e9"]"#;
        assert!(matches!(mend_surrogates(paired), Cow::Borrowed(same) if same == paired));
        assert_eq!(mend_surrogates(r#""\ud83d x \ude42\ud83d\ud83d\ude42""#), r#""\ufffd x \ufffd\ufffd\ud83d\ude42""#);
        assert_eq!(mend_surrogates(r#""\ud83"#), r#""\ud83"#);
        assert_eq!(mend_surrogates("\\é\\ud83d"), "\\é\\ud83d");
    }

    #[test]
    fn a_megabyte_of_unpaired_surrogates_is_mended() {
        let halves = r"\ud83d".repeat(170_000);
        assert_eq!(mend_surrogates(&halves), r"\ufffd".repeat(170_000));
    }

    #[test]
    fn lengths_are_those_of_json_stringify() {
        assert_eq!(len(r#"{ "a" : [1, 2.50, null, true, false] }"#), r#"{"a":[1,2.5,null,true,false]}"#.len());
        assert_eq!(len("[1.0, -0.0, 1e21, 1e20, 1e400]"), "[1,0,1e+21,100000000000000000000,null]".len());
        assert_eq!(len(r#""\u0001\n\u007f\/""#), r#""\u0001\n?/""#.len());
        assert_eq!(len(r#""é🙂""#), 5);
        assert_eq!((len("{}"), len("[]")), (2, 2));
    }
}
