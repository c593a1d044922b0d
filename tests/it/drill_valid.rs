//! Strict checks of what each provider takes, written against the providers' own rules and not against our code.

mod anthropic;
mod openai_chat;
mod openai_responses;

use std::collections::HashSet;

use serde_json::Value;

/// The formats that contexts are checked in.
pub const FORMATS: [&str; 3] = ["anthropic", "openai_chat", "openai_responses"];

/// What the provider would refuse in these messages. `own`: the transcript came in this format, so kinds of blocks
/// and roles that only its provider knows may come back to it.
pub fn violations(format: &str, messages: &[Value], own: bool) -> Vec<String> {
    let mut found = Faults::default();
    match format {
        "anthropic" => anthropic::check(messages, own, &mut found),
        "openai_chat" => openai_chat::check(messages, own, &mut found),
        "openai_responses" => openai_responses::check(messages, own, &mut found),
        other => panic!("no checker for {other}"),
    }
    found.0
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, index: usize, what: impl std::fmt::Display) {
        self.0.push(format!("message {index}: {what}"));
    }

    fn unless(&mut self, fine: bool, index: usize, what: impl std::fmt::Display) {
        if !fine {
            self.add(index, what);
        }
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn blank(value: &Value) -> bool {
    word(value).trim().is_empty()
}

/// What names of tools may be made of.
fn is_name(name: &str, most: usize) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= most && name.chars().all(fine)
}

/// Whether the same things are in both, each once.
fn same_set(one: &[&str], other: &[&str]) -> bool {
    let (a, b): (HashSet<&&str>, HashSet<&&str>) = (one.iter().collect(), other.iter().collect());
    a == b && one.len() == other.len()
}

#[test]
fn the_checks_can_see() {
    use serde_json::json;
    let user = json!({"role": "user", "content": "hi"});
    let bad: Vec<(&str, Value)> = vec![
        ("anthropic", json!([{"role": "assistant", "content": "hi"}])),
        (
            "anthropic",
            json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]),
        ),
        (
            "anthropic",
            json!([user, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]}]),
        ),
        ("anthropic", json!([user, {"role": "assistant", "content": []}])),
        ("openai_chat", json!([user, {"role": "assistant", "content": null}])),
        ("openai_chat", json!([user, {"role": "tool", "tool_call_id": "a", "content": "x"}])),
        (
            "openai_chat",
            json!([user, {"role": "assistant", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "b", "arguments": "{}"}}]}, user]),
        ),
        ("openai_responses", json!([{"type": "function_call_output", "call_id": "a", "output": "x"}])),
        ("openai_responses", json!([{"type": "function_call", "call_id": "a", "name": "b", "arguments": "{}"}])),
    ];
    for (format, messages) in bad {
        assert!(!violations(format, list(&messages), false).is_empty(), "{format}: {messages}");
    }
    for format in FORMATS {
        assert_eq!(violations(format, std::slice::from_ref(&user), false), Vec::<String>::new());
    }
}
