//! What is asked of a session's metadata. They are JSON as it came, with escapes and numbers that `jsonb` refuses, so they
//! are read here and not by the database.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::json::mend_surrogates;

/// That a key at the top of the metadata has a value: a string that equals the text, or a number, a boolean or `null` whose
/// JSON is the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataValue {
    pub key: String,
    pub value: String,
}

impl MetadataValue {
    /// Texts that stand in the JSON of all metadata that have the value, unless it has `\u` escapes.
    pub fn probes(&self) -> impl Iterator<Item = &str> {
        [&self.key, &self.value].into_iter().filter_map(|text| unescaped(text))
    }
}

/// Whether metadata have all of these values. Of a key that is there twice the last one counts.
pub fn has_all(metadata: &str, values: &[MetadataValue]) -> bool {
    if values.is_empty() {
        return true;
    }
    let metadata = mend_surrogates(metadata);
    let Ok(found) = serde_json::from_str::<HashMap<String, &RawValue>>(&metadata) else { return false };
    values.iter().all(|wanted| found.get(&wanted.key).is_some_and(|found| is(found.get(), &wanted.value)))
}

fn is(raw: &str, value: &str) -> bool {
    match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(raw).is_ok_and(|text| text == value),
        Some(b'{' | b'[') | None => false,
        Some(_) => raw == value,
    }
}

/// The longest part of a text that JSON writes as it is, or as `\u` escapes.
fn unescaped(text: &str) -> Option<&str> {
    let parts = text.split(|c: char| matches!(c, '"' | '\\' | '/' | '\0'..='\u{1f}'));
    parts.max_by_key(|part| part.len()).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(metadata: &str, key: &str, value: &str) -> bool {
        has_all(metadata, &[MetadataValue { key: key.to_owned(), value: value.to_owned() }])
    }

    #[test]
    fn strings_are_compared_as_text_and_other_scalars_by_their_json() {
        let metadata =
            r#"{"user": "zoë", "n": 1.0, "big": 1e999, "on": true, "none": null, "t": "1.0", "o": {"a": 1}, "l": [1]}"#;
        for (key, value) in
            [("user", "zoë"), ("n", "1.0"), ("big", "1e999"), ("on", "true"), ("none", "null"), ("t", "1.0")]
        {
            assert!(has(metadata, key, value), "{key}={value}");
        }
        for (key, value) in
            [("user", "Zoë"), ("n", "1"), ("on", "\"true\""), ("o", "{\"a\": 1}"), ("l", "[1]"), ("a", "1"), ("x", "")]
        {
            assert!(!has(metadata, key, value), "{key}={value}");
        }
        assert!(has_all("{}", &[]));
        assert!(!has("not JSON", "a", "b"));
    }

    #[test]
    fn escapes_are_read() {
        let metadata = r#"{"\u0061": "x\u0000y", "path\/to": "a\tb\"c", "lone": "\ud800", "twice": 1, "twice": 2}"#;
        for (key, value) in [("a", "x\0y"), ("path/to", "a\tb\"c"), ("lone", "\u{fffd}"), ("twice", "2")] {
            assert!(has(metadata, key, value), "{key}={value:?}");
        }
        assert!(!has(metadata, "twice", "1"));
    }

    #[test]
    fn a_probe_stands_in_all_json_that_has_the_value() {
        let value = |key: &str, value: &str| MetadataValue { key: key.to_owned(), value: value.to_owned() };
        for (wanted, metadata) in [
            (value("user", "zoë"), r#"{"user":"zoë"}"#),
            (value("a/b", "x\"yz"), r#"{"a\/b":"x\"yz"}"#),
            (value("n", "-1.5e3"), r#"{ "n" : -1.5e3 }"#),
            (value("", ""), r#"{"":""}"#),
            (value("k", "\u{7f}\u{80}"), "{\"k\":\"\u{7f}\u{80}\"}"),
        ] {
            assert!(has_all(metadata, std::slice::from_ref(&wanted)), "{wanted:?}");
            assert!(wanted.probes().all(|probe| metadata.contains(probe)), "{wanted:?}");
        }
        assert_eq!(value("", "\"\\/\n").probes().count(), 0);
    }
}
