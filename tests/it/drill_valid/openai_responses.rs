//! Responses: every call of the client's has its output behind it, no output stands alone, reasoning leads somewhere.

use std::collections::HashMap;

use serde_json::Value;

use super::{Faults, is_name, word};

/// The longest id and name that the API takes.
const MAX_ID: usize = 64;
const MAX_NAME: usize = 128;

/// Items that the client answers, with what it answers them with.
const ANSWERED: [(&str, &str); 4] = [
    ("function_call", "function_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("local_shell_call", "local_shell_call_output"),
    ("computer_call", "computer_call_output"),
];

pub fn check(items: &[Value], own: bool, faults: &mut Faults) {
    let mut open: HashMap<&str, (&str, usize)> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        let id = word(&item["call_id"]);
        if let Some((_, output)) = ANSWERED.iter().find(|(call, _)| *call == kind) {
            faults.unless(!id.is_empty() && id.len() <= MAX_ID, index, format!("a call with the id {id:?}"));
            faults.unless(open.insert(id, (output, index)).is_none(), index, format!("{id:?} is open already"));
        } else if ANSWERED.iter().any(|(_, output)| *output == kind) {
            let call = open.remove(id).map(|(output, _)| output);
            faults.unless(call == Some(kind), index, format!("{kind} {id:?} without its call"));
            faults.unless(item["output"].is_string() || item["output"].is_array(), index, "no output");
        }
        faults.unless(kind == "local_shell_call_output" || word(&item["id"]).len() <= MAX_ID, index, "a long id");
        match kind {
            "message" => check_message(item, index, faults),
            "function_call" => {
                let fine = item["arguments"].is_string() && is_name(word(&item["name"]), MAX_NAME);
                faults.unless(fine, index, format!("bad call {item}"));
            }
            "reasoning" => {
                faults.unless(item["summary"].is_array(), index, "reasoning without a summary");
                let next = items.get(index + 1);
                let leads = next.is_some_and(|next| next["role"].is_null() || next["role"] == "assistant");
                let output = next.is_some_and(|next| word(&next["type"]).ends_with("_output"));
                faults.unless(leads && !output, index, "reasoning leads nowhere");
            }
            _ if ANSWERED.iter().any(|(call, output)| *call == kind || *output == kind) => {}
            _ => faults.unless(own, index, format!("item {kind:?}")),
        }
    }
    for (id, (_, index)) in open {
        faults.add(index, format!("call {id:?} has no output"));
    }
}

fn check_message(item: &Value, index: usize, faults: &mut Faults) {
    let role = word(&item["role"]);
    faults.unless(matches!(role, "user" | "assistant" | "system" | "developer"), index, format!("role {role:?}"));
    let kinds: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" => &["input_text", "input_image", "input_file", "input_audio"],
        _ => &["input_text"],
    };
    match &item["content"] {
        Value::String(text) => faults.unless(!text.is_empty(), index, "empty content"),
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = word(&part["type"]);
                faults.unless(kinds.contains(&kind), index, format!("part {kind:?} of {role:?}"));
                faults.unless(!kind.ends_with("_text") || part["text"] != "", index, "an empty part");
            }
        }
        other => faults.add(index, format!("content {other}")),
    }
}
