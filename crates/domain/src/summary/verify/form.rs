//! Faults that an answer shows by its form alone.

use serde_json::Value;

use crate::summary::thinking_tags::without_thinking;

/// The summary alone: without a model's thinking, and without a fence or an element around the whole.
pub fn clean(text: &str) -> &str {
    let mut text = without_thinking(text);
    for tag in ["summary", "context-summary", "notes"] {
        let inside = text.strip_prefix(&format!("<{tag}>")).and_then(|rest| rest.strip_suffix(&format!("</{tag}>")));
        text = inside.map_or(text, str::trim);
    }
    unfenced(text).unwrap_or(text)
}

/// Returns the text inside a fence that opens with the first line, closes with the last, and holds no other fence.
fn unfenced(text: &str) -> Option<&str> {
    let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let inside = rest.strip_suffix("```")?;
    let one_word = language.chars().all(char::is_alphanumeric);
    (one_word && !inside.contains("```")).then(|| inside.trim())
}

/// A call written as text: nothing but a call's JSON, or one of the notations that models are trained on.
pub(super) fn reads_as_tool_call(text: &str) -> bool {
    const NOTATIONS: [&str; 6] =
        ["<tool_call>", "<function_calls>", "<function=", "<invoke name=", "[TOOL_CALLS]", "<|tool_call"];
    let text = unfenced(text.trim()).unwrap_or(text.trim());
    if NOTATIONS.iter().any(|notation| text.starts_with(notation)) {
        return true;
    }
    let value: Option<Value> = text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
    let call = |value: &Value| {
        value.get("name").is_some_and(Value::is_string)
            && ["arguments", "input", "parameters"].iter().any(|key| value.get(key).is_some())
    };
    value.is_some_and(|value| call(&value) || value.as_array().and_then(|calls| calls.first()).is_some_and(call))
}

/// A text that stops where none can end: at a heading with nothing under it, at a bullet without words, or inside
/// a code fence.
pub(super) fn breaks_off(text: &str) -> bool {
    let text = text.trim_end();
    let last = text.lines().next_back().unwrap_or_default().trim();
    let heading = last.starts_with('#') && last.trim_start_matches('#').starts_with(' ');
    let bullet = ["-", "*", "- [ ]", "- [x]", "1."].contains(&last);
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    (heading || bullet || fences % 2 == 1) && text.lines().count() > 1
}
