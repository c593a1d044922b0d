//! Calls that an agent writes at the end of its text as JSON, and the label before what a program answers.

use serde_json::{Map, Value};

/// Lines at which JSON may begin that are tried.
const MOST_STARTS: usize = 16;
/// Bytes of a line that announces what is behind it.
const LONGEST_LABEL: usize = 40;
/// Other objects have names too.
const ARGUMENTS: &str = "\"arguments\"";

/// A call in JSON, `{"name": …, "arguments": {…}}`, that ends a text.
pub struct JsonCall<'t> {
    /// What stands before it, without the label or the fence that announces it.
    pub words: &'t str,
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// The call that ends a text, in a fence or without.
pub fn json_at_end(text: &str) -> Option<JsonCall<'_>> {
    let end = text.trim_end();
    let end = end.strip_suffix("```").unwrap_or(end).trim_end();
    if !end.ends_with('}') {
        return None;
    }
    let starts = std::iter::once(0).chain(end.match_indices('\n').map(|(at, _)| at + 1));
    let starts = starts.filter(|at| end[*at..].starts_with('{')).take(MOST_STARTS);
    let call_at = |at: usize| json_of(&end[at..]).filter(|_| end[at..].contains(ARGUMENTS));
    let (start, (name, arguments)) = starts.filter_map(|at| Some((at, call_at(at)?))).next()?;
    Some(JsonCall { words: without_label(&end[..start]), name, arguments })
}

/// The name and the arguments of a call in JSON.
pub fn json_of(text: &str) -> Option<(String, Map<String, Value>)> {
    let Value::Object(mut call) = serde_json::from_str(text).ok()? else { return None };
    let name = call.get("name")?.as_str()?.to_owned();
    let arguments = match call.remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
        _ => Map::new(),
    };
    Some((name, arguments))
}

fn without_label(words: &str) -> &str {
    let mut words = words.trim();
    while let Some(last) = words.lines().next_back().map(str::trim) {
        let is_label = last.len() <= LONGEST_LABEL && last.ends_with(':') || last.starts_with("```");
        if !is_label {
            break;
        }
        words = words[..words.len() - last.len()].trim_end();
    }
    words
}

/// A short label that a text begins with, and what stands behind its colon.
pub fn behind_label(text: &str) -> Option<(&str, &str)> {
    let (label, behind) = text.trim().split_once(':')?;
    let is_label =
        !label.is_empty() && label.len() <= LONGEST_LABEL && label.chars().all(|c| c.is_alphanumeric() || c == ' ');
    is_label.then(|| (label, behind.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_json_ends_the_text() {
        for (text, found) in [
            ("Thought: x\nAction:\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}", Some(("Thought: x", "f"))),
            ("Action:\n```json\n{\"name\": \"f\",\n\"arguments\": {}}\n```\n", Some(("", "f"))),
            ("{\"name\": \"f\", \"arguments\": {}} is what I would call.", None),
            ("{\"name\": \"Mia\", \"age\": 7}", None),
        ] {
            let call = json_at_end(text);
            assert_eq!(call.as_ref().map(|call| (call.words, call.name.as_str())), found, "{text}");
        }
        assert_eq!(behind_label("API output: 7"), Some(("API output", "7")));
        assert_eq!(behind_label("API output: "), Some(("API output", "")));
        assert_eq!(behind_label("Sure, my name is: Mia"), None);
    }
}
