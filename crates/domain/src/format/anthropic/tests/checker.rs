//! A small strict checker of what the API accepts.

use std::collections::HashSet;

use serde_json::Value;

use crate::format::outgoing::is_word;

/// Lists the faults for which the API would refuse these messages.
pub fn violations(messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    if messages.first().is_some_and(|first| first["role"] == "assistant") {
        found.push("starts with the assistant".to_owned());
    }
    let mut open: HashSet<&str> = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let mut report = |what: &str| found.push(format!("{index}: {what}"));
        let fields: HashSet<&str> = message.as_object().unwrap().keys().map(String::as_str).collect();
        if fields != HashSet::from(["role", "content"]) {
            report(&format!("fields {fields:?}"));
        }
        let blocks: &[Value] = match &message["content"] {
            Value::String(text) if !text.trim().is_empty() => &[],
            Value::Array(blocks) if !blocks.is_empty() => blocks,
            _ => {
                report("empty content");
                &[]
            }
        };
        let results: HashSet<&str> = blocks.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
        if !open.is_empty() && !open.iter().all(|id| results.contains(id)) {
            report("a call without its result");
        }
        check_blocks(message, blocks, &open, &mut report);
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        open = calls.map(|block| block["id"].as_str().unwrap()).collect();
    }
    if !open.is_empty() {
        found.push("ends with open calls".to_owned());
    }
    found
}

fn check_blocks(message: &Value, blocks: &[Value], open: &HashSet<&str>, report: &mut impl FnMut(&str)) {
    let assistant = message["role"] == "assistant";
    let is_result = |block: &Value| block["type"] == "tool_result";
    if !blocks.is_sorted_by_key(|block| !is_result(block)) {
        report("results are not first");
    }
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "text" if block["text"].as_str().unwrap().trim().is_empty() => report("blank text"),
            "thinking" if block["signature"].as_str().is_none_or(str::is_empty) => report("unsigned thinking"),
            "image" | "document" if assistant => report("media in an assistant message"),
            "tool_use" if !assistant => report("a call of the user"),
            "tool_use" if !block["input"].is_object() => report("input is no object"),
            "tool_use" if !is_word(block["id"].as_str().unwrap(), 256) => report("bad id"),
            "tool_use" if !is_word(block["name"].as_str().unwrap(), 128) => report("bad name"),
            "tool_result" if !open.contains(block["tool_use_id"].as_str().unwrap()) => report("orphan result"),
            _ => {}
        }
    }
}
