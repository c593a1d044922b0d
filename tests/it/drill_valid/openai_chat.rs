//! Chat completions: a batch of calls is followed at once by one tool message for each of them.

use serde_json::Value;

use super::{Faults, is_name, list, same_set, word};

/// The longest name that the API takes.
const MAX_NAME: usize = 64;

pub fn check(messages: &[Value], own: bool, faults: &mut Faults) {
    let mut at = 0;
    while at < messages.len() {
        let message = &messages[at];
        match word(&message["role"]) {
            "system" | "developer" => check_content(message, &["text"], own, at, faults),
            "user" => check_content(message, &["text", "image_url", "input_audio", "file"], own, at, faults),
            "assistant" => {
                check_assistant(message, own, at, faults);
                at = check_batch(messages, own, at, faults);
                continue;
            }
            role => faults.add(at, format!("{role:?} out of place")),
        }
        at += 1;
    }
}

/// The calls of the assistant message at `at`, and the messages that answer them. Gives the place after those.
fn check_batch(messages: &[Value], own: bool, at: usize, faults: &mut Faults) -> usize {
    let message = &messages[at];
    let mut calls: Vec<&str> = list(&message["tool_calls"]).iter().map(|call| word(&call["id"])).collect();
    let (role, key) = if message["function_call"].is_object() {
        calls.push(word(&message["function_call"]["name"]));
        ("function", "name")
    } else {
        ("tool", "tool_call_id")
    };
    let answers = messages[at + 1..].iter().take_while(|message| message["role"] == role);
    let answered: Vec<&str> = answers.map(|message| word(&message[key])).collect();
    faults.unless(same_set(&calls, &answered), at, format!("calls {calls:?}, answers {answered:?}"));
    for (offset, answer) in messages[at + 1..=at + answered.len()].iter().enumerate() {
        let index = at + 1 + offset;
        match &answer["content"] {
            Value::String(_) => {}
            Value::Array(_) => check_content(answer, &["text"], own, index, faults),
            other => faults.add(index, format!("result {other}")),
        }
    }
    at + 1 + answered.len()
}

fn check_assistant(message: &Value, own: bool, index: usize, faults: &mut Faults) {
    let calls = list(&message["tool_calls"]);
    for call in calls {
        let (kind, id) = (word(&call["type"]), word(&call["id"]));
        let input = if kind == "custom" { "input" } else { "arguments" };
        let fine = call[kind][input].is_string() && is_name(word(&call[kind]["name"]), MAX_NAME);
        faults.unless(!id.is_empty(), index, "a call without an id");
        // Other kinds of calls come from this API alone.
        let foreign = own && kind != "function";
        faults.unless(fine || foreign, index, format!("bad call {call}"));
    }
    faults.unless(message["tool_calls"].is_null() || !calls.is_empty(), index, "an empty list of calls");
    let speaks = message["refusal"].is_string() || message["audio"].is_object();
    let acts = !calls.is_empty() || message["function_call"].is_object();
    if message["content"].is_null() || (acts && message["content"] == "") {
        faults.unless(acts || speaks, index, "an answer that says nothing");
    } else {
        check_content(message, &["text", "refusal"], own, index, faults);
    }
}

fn check_content(message: &Value, kinds: &[&str], own: bool, index: usize, faults: &mut Faults) {
    match &message["content"] {
        Value::String(text) => faults.unless(!text.is_empty(), index, "empty content"),
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = word(&part["type"]);
                faults.unless(own || kinds.contains(&kind), index, format!("part {kind:?} of {}", message["role"]));
                faults.unless(kind != "text" || part["text"] != "", index, "an empty part");
                faults.unless(kind != "image_url" || part["image_url"].is_object(), index, "image_url is no object");
            }
        }
        other => faults.add(index, format!("content {other}")),
    }
}
