//! Changes of a JSON text that leave every other byte as it is.

use std::ops::Range;

use serde_json::value::RawValue;

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The place of a value in the text that it was borrowed from.
pub fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + value.get().len()
}

/// The text with something else at each of these places, which do not overlap.
pub fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(place, _)| place.start);
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (place, instead) in edits {
        result.push_str(text.get(done..place.start).unwrap_or_default());
        result.push_str(&instead);
        done = place.end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// The place of the whole member of an object whose value stands at `value`, with the comma that it takes along.
pub fn member(text: &str, value: &Range<usize>) -> Range<usize> {
    let before = |end: usize| text.get(..end).unwrap_or_default().trim_end_matches(BLANKS);
    let name = before(value.start).strip_suffix(':').unwrap_or_default().trim_end_matches(BLANKS);
    let name_start = name.strip_suffix('"').and_then(|open| open.rfind('"')).unwrap_or(value.start);
    if let Some(rest) = before(name_start).strip_suffix(',') {
        return rest.len()..value.end;
    }
    let after = text.get(value.end..).unwrap_or_default().trim_start_matches(BLANKS);
    let end = after.strip_prefix(',').map_or(value.end, |rest| text.len() - rest.len());
    name_start..end
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn without(text: &str, name: &str) -> String {
        let members: HashMap<&str, &RawValue> = serde_json::from_str(text).unwrap();
        replaced(text, vec![(member(text, &place(text, members[name])), String::new())])
    }

    #[test]
    fn a_member_goes_with_its_comma() {
        assert_eq!(without(r#"{"a": 1, "thread" : {"b": [2]}, "c":3}"#, "thread"), r#"{"a": 1, "c":3}"#);
        assert_eq!(without(r#"{ "thread":{} , "c":3}"#, "thread"), r#"{  "c":3}"#);
        assert_eq!(without(r#"{"a":"}","thread":"x"}"#, "thread"), r#"{"a":"}"}"#);
        assert_eq!(without(r#"{"thread":0}"#, "thread"), "{}");
    }

    #[test]
    fn places_are_said_otherwise() {
        let text = r#"{"a": [1, 2], "b": "ü", "c": null}"#;
        let members: HashMap<&str, &RawValue> = serde_json::from_str(text).unwrap();
        let edit = |name: &str, instead: &str| (place(text, members[name]), instead.to_owned());
        let edits = vec![edit("b", "true"), edit("a", "[]")];
        assert_eq!(replaced(text, edits), r#"{"a": [], "b": true, "c": null}"#);
    }
}
