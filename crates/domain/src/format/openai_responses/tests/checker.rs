//! A small strict checker of what the API accepts.

use std::collections::HashMap;

use serde_json::Value;

/// Lists the faults for which the API would refuse these items.
pub fn violations(items: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: HashMap<&str, &str> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let mut report = |what: String| found.push(format!("{index}: {what}"));
        let kind = item["type"].as_str().unwrap_or("message");
        let id = item["call_id"].as_str().or(item["id"].as_str()).unwrap_or_default();
        let hosted = item["execution"] == "server" || item["call_id"].is_null();
        match kind {
            "message" => check_message(item, &mut report),
            "reasoning" if items.get(index + 1).is_none_or(|next| next["role"] == "user") => {
                report("reasoning leads nowhere".into());
            }
            "function_call" if !item["arguments"].is_string() => report("arguments are no string".into()),
            "local_shell_call_output" if open.remove(id) != Some("local_shell_call") => {
                report(format!("orphan {kind}"));
            }
            _ if hosted => {}
            _ if kind.ends_with("_output") => {
                let call = open.remove(id).unwrap_or_default();
                if kind.trim_end_matches("_output").trim_end_matches("_call") != call.trim_end_matches("_call") {
                    report(format!("{kind} for {call:?}"));
                }
            }
            _ if kind.ends_with("_call") => drop(open.insert(id, kind)),
            _ => {}
        }
    }
    found.extend(open.iter().map(|(id, kind)| format!("{kind} {id} is open")));
    found
}

fn check_message(item: &Value, report: &mut impl FnMut(String)) {
    let text_type = if item["role"] == "assistant" { "output_text" } else { "input_text" };
    match &item["content"] {
        Value::String(text) if !text.is_empty() => {}
        Value::Array(parts) if !parts.is_empty() => {
            for part in parts {
                let kind = part["type"].as_str().unwrap();
                if kind.ends_with("_text") && (kind != text_type || part["text"] == "") {
                    report(format!("{kind} in a message of {}", item["role"]));
                }
            }
        }
        _ => report("empty content".into()),
    }
}
