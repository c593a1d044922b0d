//! Messages API: alternating sides, results first in the very next message, ids used once, nothing empty.

use std::collections::HashSet;

use serde_json::Value;

use super::{Faults, blank, is_name, list, same_set, word};

pub fn check(messages: &[Value], own: bool, faults: &mut Faults) {
    if messages.first().is_some_and(|first| first["role"] == "assistant") {
        faults.add(0, "starts with the assistant");
    }
    let mut ids = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let role = word(&message["role"]);
        let known = matches!(role, "user" | "assistant") || (own && role == "system");
        faults.unless(known, index, format!("role {role:?}"));
        let fields: Vec<&String> = message.as_object().unwrap().keys().collect();
        let mut known = vec!["role", "content"];
        if role == "system" {
            known.extend(["output_config", "clear_at"]);
        }
        faults.unless(fields.iter().all(|key| known.contains(&key.as_str())), index, format!("{fields:?}"));
        match &message["content"] {
            Value::String(_) => faults.unless(!blank(&message["content"]), index, "blank content"),
            Value::Array(blocks) if !blocks.is_empty() => {
                for block in blocks {
                    check_block(block, role, own, index, faults);
                    if block["type"] == "tool_use" {
                        let id = word(&block["id"]);
                        faults.unless(ids.insert(id), index, format!("call id {id:?} used twice"));
                    }
                }
            }
            Value::Array(_) if role == "system" && message["output_config"].is_object() => {}
            other => faults.add(index, format!("content {other}")),
        }
    }
    check_systems(messages, faults);
    check_marks(messages, faults);
    check_turns(messages, faults);
}

/// A system message follows the user, or an answer that ends with a result of the provider's own tool, and precedes an
/// answer or ends the context; one without words that sets `output_config` may stand anywhere.
fn check_systems(messages: &[Value], faults: &mut Faults) {
    let speaks = |message: &&Value| !message["output_config"].is_object() || !list(&message["content"]).is_empty();
    let spoken: Vec<(usize, &Value)> = messages.iter().enumerate().filter(|(_, message)| speaks(message)).collect();
    for (place, (index, message)) in spoken.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| spoken[before].1);
        let next = spoken.get(place + 1).map(|(_, next)| *next);
        if message["role"] == "system" {
            let served = |before: &Value| {
                let last = list(&before["content"]).last().map_or("", |block| word(&block["type"]));
                before["role"] == "assistant" && last.ends_with("_tool_result")
            };
            let follows = before.is_some_and(|before| before["role"] == "user" || served(before));
            faults.unless(follows, *index, "a system message where none may follow");
            faults.unless(
                next.is_none_or(|next| next["role"] == "assistant"),
                *index,
                "a system message before the user",
            );
        }
    }
}

/// Four cache marks at most, none on thinking, none for an hour behind one for five minutes.
fn check_marks(messages: &[Value], faults: &mut Faults) {
    let (mut marks, mut short) = (0, false);
    for (index, message) in messages.iter().enumerate() {
        for block in list(&message["content"]) {
            for marked in std::iter::once(block).chain(list(&block["content"])) {
                if marked["cache_control"].is_null() {
                    continue;
                }
                marks += 1;
                faults.unless(!word(&marked["type"]).contains("thinking"), index, "a cache mark on thinking");
                let long = marked["cache_control"]["ttl"] == "1h";
                faults.unless(!(long && short), index, "a cache mark for an hour behind one for five minutes");
                short |= !long;
            }
        }
    }
    faults.unless(marks <= 4, messages.len(), format!("{marks} cache marks"));
}

/// The provider joins neighbours of one role; pairs are looked for between the joined turns.
fn check_turns(messages: &[Value], faults: &mut Faults) {
    let mut turns: Vec<(usize, &str, Vec<&Value>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = word(&message["role"]);
        let blocks = list(&message["content"]).iter();
        match turns.last_mut() {
            Some((_, last, joined)) if *last == role => joined.extend(blocks),
            _ => turns.push((index, role, blocks.collect())),
        }
    }
    let mut open: Vec<&str> = Vec::new();
    let mut running: HashSet<&str> = HashSet::new();
    for (index, role, blocks) in &turns {
        let of_type = |kind: &str, key: &str| -> Vec<&str> {
            blocks.iter().filter(|block| block["type"] == kind).map(|block| word(&block[key])).collect()
        };
        let results = of_type("tool_result", "tool_use_id");
        faults.unless(same_set(&open, &results), *index, format!("open calls {open:?}, results {results:?}"));
        faults.unless(blocks.is_sorted_by_key(|block| block["type"] != "tool_result"), *index, "results are not first");
        if *role == "assistant" {
            let last = blocks.last().map_or("text", |block| word(&block["type"]));
            faults.unless(!last.contains("thinking"), *index, "ends with thinking");
            check_server_pairs(*index, blocks, &mut running, faults);
        } else if blocks.iter().any(|block| block["type"] != "tool_result") {
            // With nothing but results of calls that it made, code of the provider's goes on.
            running.clear();
        }
        open = of_type("tool_use", "id");
    }
    faults.unless(open.is_empty(), messages.len(), format!("ends with open calls {open:?}"));
}

fn check_server_pairs<'m>(index: usize, blocks: &[&'m Value], called: &mut HashSet<&'m str>, faults: &mut Faults) {
    for block in blocks {
        let kind = word(&block["type"]);
        if matches!(kind, "server_tool_use" | "mcp_tool_use") {
            called.insert(word(&block["id"]));
        } else if kind.ends_with("_tool_result") {
            let id = word(&block["tool_use_id"]);
            faults.unless(called.contains(id), index, format!("{kind} {id:?} without its call"));
        }
    }
}

fn check_block(block: &Value, role: &str, own: bool, index: usize, faults: &mut Faults) {
    let assistant = role == "assistant";
    let kind = word(&block["type"]);
    match kind {
        "text" => faults.unless(!blank(&block["text"]), index, "blank text"),
        "thinking" => faults.unless(assistant && !word(&block["signature"]).is_empty(), index, "unsigned thinking"),
        "redacted_thinking" => faults.unless(assistant && !word(&block["data"]).is_empty(), index, "empty thinking"),
        "tool_use" => {
            let fine = assistant && block["input"].is_object() && is_name(word(&block["id"]), 256);
            faults.unless(fine && is_name(word(&block["name"]), 128), index, format!("bad call {block}"));
        }
        "tool_result" => {
            faults.unless(role == "user", index, "a result of the assistant");
            let says = !blank(&block["content"]) || !list(&block["content"]).is_empty();
            faults.unless(block["is_error"] != true || says, index, "an error that says nothing");
            for part in list(&block["content"]) {
                faults.unless(
                    block["is_error"] != true || part["type"] == "text",
                    index,
                    "an error that shows something",
                );
                faults.unless(part["type"] != "text" || !blank(&part["text"]), index, "blank text in a result");
            }
        }
        "image" | "document" => faults.unless(role == "user" && block["source"].is_object(), index, "bad media"),
        _ => faults.unless(own, index, format!("block {kind:?}")),
    }
}
