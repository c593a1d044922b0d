//! What an agent says in a message: without the thinking that some models write into it, and JSON by its values.

use std::borrow::Cow;

use serde_json::{Deserializer, Value};

use super::values;

/// How models that think in the open end their thinking.
const THOUGHT: [&str; 3] = ["</think>", "</thinking>", "</reasoning>"];
/// So many places of a text are tried for an object of JSON, and so much of the text is looked at.
const MOST_OBJECTS: usize = 8;
const MOST_BYTES: usize = 400_000;

/// The words of a message that are meant for somebody else.
pub(super) fn spoken(text: &str) -> Cow<'_, str> {
    let behind = THOUGHT.iter().filter_map(|end| text.rfind(end).map(|at| at + end.len())).max();
    by_values(behind.map_or(text, |behind| text[behind..].trim_start()))
}

/// A text with the objects of JSON in it told by their values. One that holds a single text is that text.
fn by_values(text: &str) -> Cow<'_, str> {
    if text.len() > MOST_BYTES || !text.contains("{\"") && !text.contains("{\n") && !text.contains("{ \"") {
        return Cow::Borrowed(text);
    }
    let (mut told, mut rest, mut found) = (String::new(), text, false);
    for _ in 0..MOST_OBJECTS {
        let Some(at) = opening(rest) else { break };
        let mut values = Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        let (end, value) = match values.next() {
            Some(Ok(value @ Value::Object(_))) => (at + values.byte_offset(), Some(value)),
            _ => (at + 1, None),
        };
        match value {
            Some(value) => {
                told.push_str(&rest[..at]);
                told.push_str(&only_text(&value).map_or_else(|| values::told(&value), str::to_owned));
                found = true;
            }
            None => told.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    if !found {
        return Cow::Borrowed(text);
    }
    told.push_str(rest);
    Cow::Owned(told)
}

/// Where an object may begin: a brace at the beginning of a line, or behind a label.
fn opening(text: &str) -> Option<usize> {
    text.match_indices('{').map(|(at, _)| at).find(|at| {
        let before = text[..*at].trim_end_matches([' ', '\t']);
        let behind = text[*at + 1..].trim_start();
        (before.is_empty() || before.ends_with(['\n', ':'])) && behind.starts_with('"')
    })
}

/// The text of an object that holds nothing else.
fn only_text(value: &Value) -> Option<&str> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    fields.values().next()?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_is_not_told_and_json_is_told_by_its_values() {
        for (text, told) in [
            ("<think>\nWhat now?\n</think>\n\nThe lock is held too long.", "The lock is held too long."),
            ("What now?\n</think>", ""),
            (r#"{ "message": "Thanks, Ana.\nYour order is W12." }"#, "Thanks, Ana.\nYour order is W12."),
            (
                "Ledger:\n{\"done\": false, \"next\": {\"who\": \"Surfer\"}}\n\nNext: Surfer",
                "Ledger:\ndone false, next (who Surfer)\n\nNext: Surfer",
            ),
            ("Set it to `{\"a\": 1}` there.", "Set it to `{\"a\": 1}` there."),
            ("fn main() {\n    \"broken", "fn main() {\n    \"broken"),
            ("你好：{\"结果\": \"已取消\"}", "你好：{\"结果\": \"已取消\"}"),
        ] {
            assert_eq!(spoken(text), told, "{text}");
        }
    }
}
