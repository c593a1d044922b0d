//! Edits of Anthropic messages, as its API would make them before the model sees them.

use std::collections::HashMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::ClearToolUses;
use crate::domain::context::placeholder::marker;
use crate::domain::model::json;
use crate::domain::settings::Estimator;
use crate::domain::tokens::count_text;

/// Messages as they came, but for those that are edited.
pub type Messages = Vec<Box<RawValue>>;

/// What was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    pub tool_uses: u64,
    pub input_tokens: u64,
}

/// Returns true if a message may hold a block `compaction`.
pub fn holds_compaction(message: &RawValue) -> bool {
    message.get().contains("\"compaction\"")
}

/// The messages with the newest compaction as a text of the user's in place of all before it, as a provider without
/// compactions reads it. One that failed is left out.
pub fn flattened(messages: Messages) -> Messages {
    let Some((place, summary, rest)) = messages.iter().enumerate().rev().find_map(|(place, raw)| {
        let (summary, rest) = parted(raw)?;
        Some((place, summary, rest))
    }) else {
        return messages.into_iter().map(without_failed).collect();
    };
    let answer = (!rest.is_empty()).then(|| json!({"role": "assistant", "content": rest}));
    let told = [Some(user(&summary)), answer].into_iter().flatten().filter_map(|message| to_raw_value(&message).ok());
    told.chain(messages.into_iter().skip(place + 1).map(without_failed)).collect()
}

/// A summary in place of all messages but those that are to be answered.
pub fn continued(summary: &str, messages: &[Box<RawValue>]) -> Messages {
    let told = to_raw_value(&user(summary)).ok();
    told.into_iter().chain(messages.iter().skip(unanswered(messages)).cloned()).collect()
}

/// Calls of tools in the messages.
pub fn tool_uses(messages: &[Box<RawValue>]) -> u64 {
    let uses = |raw: &RawValue| blocks(raw, "tool_use").iter().filter(|block| is(block, "tool_use")).count() as u64;
    messages.iter().map(|raw| uses(raw)).sum()
}

/// Puts markers in the place of old tool results, the oldest first; `None` where that is too little.
pub fn cleared(messages: &mut Messages, clear: &ClearToolUses) -> Option<Cleared> {
    let parsed: Vec<Vec<Value>> = messages.iter().map(|raw| blocks(raw, "tool_")).collect();
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut results = Vec::new();
    for block in parsed.iter().flatten() {
        if is(block, "tool_use") {
            tools.extend(Some((text(block, "id")?, text(block, "name")?)));
        } else if is(block, "tool_result") {
            results.push((text(block, "tool_use_id")?, block));
        }
    }
    let old = results.len().saturating_sub(clear.keep());
    let mut markers: HashMap<&str, String> = HashMap::new();
    let mut input_tokens = 0;
    for (id, block) in results.into_iter().take(old) {
        let tool = tools.get(id).copied().unwrap_or_default();
        let tokens = count_text(Estimator::O200k, &said(block.get("content")));
        let marker = marker(id, tokens);
        let freed = tokens.saturating_sub(count_text(Estimator::O200k, &marker));
        if freed > 0 && !clear.excludes(tool) {
            input_tokens += u64::from(freed);
            markers.insert(id, marker);
        }
    }
    if markers.is_empty() || input_tokens < clear.least() {
        return None;
    }
    let edited: Vec<Option<Box<RawValue>>> = (messages.iter().zip(&parsed))
        .map(|(raw, blocks)| edited(raw, blocks, &markers, |tool| clear.clears_inputs_of(tool)))
        .collect();
    let tool_uses = markers.len() as u64;
    for (message, edited) in messages.iter_mut().zip(edited) {
        *message = edited.unwrap_or_else(|| message.clone());
    }
    Some(Cleared { tool_uses, input_tokens })
}

/// A message with the markers in it; `None`: none belongs there.
fn edited(
    raw: &RawValue,
    blocks: &[Value],
    markers: &HashMap<&str, String>,
    clears_inputs_of: impl Fn(&str) -> bool,
) -> Option<Box<RawValue>> {
    let mut is_edited = false;
    let mut edit = |block: &Value| {
        let mut block = block.clone();
        let marker = |key: &str| block.get(key).and_then(Value::as_str).and_then(|id| markers.get(id)).cloned();
        if let Some(marker) = marker("tool_use_id").filter(|_| is(&block, "tool_result")) {
            (block["content"], is_edited) = (marker.into(), true);
        } else if is(&block, "tool_use") && marker("id").is_some() && clears_inputs_of(text(&block, "name")?) {
            (block["input"], is_edited) = (json!({}), true);
        }
        Some(block)
    };
    let content: Option<Vec<Value>> = blocks.iter().map(&mut edit).collect();
    let mut message = json::parse_lenient(raw.get()).ok().filter(|_| is_edited)?;
    message["content"] = content?.into();
    to_raw_value(&message).ok()
}

/// The summary of the last compaction in a message, and the blocks behind it.
fn parted(raw: &RawValue) -> Option<(String, Vec<Value>)> {
    let mut blocks = blocks(raw, "\"compaction\"");
    let summary = |block: &Value| text(block, "content").filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let place = blocks.iter().rposition(|block| is(block, "compaction") && summary(block).is_some())?;
    let rest = blocks.split_off(place + 1);
    Some((summary(blocks.last()?)?, rest))
}

fn without_failed(raw: Box<RawValue>) -> Box<RawValue> {
    let mut blocks = blocks(&raw, "\"compaction\"");
    let all = blocks.len();
    blocks.retain(|block| !is(block, "compaction"));
    let whole = || {
        let mut message = json::parse_lenient(raw.get()).ok().filter(|_| blocks.len() < all && !blocks.is_empty())?;
        message["content"] = blocks.into();
        to_raw_value(&message).ok()
    };
    whole().unwrap_or(raw)
}

/// Where the part begins that has no answer yet: the last message of the user's, with the calls that it has the results
/// of.
fn unanswered(messages: &[Box<RawValue>]) -> usize {
    let role =
        |raw: &RawValue| json::parse_lenient(raw.get()).ok().and_then(|value| Some(text(&value, "role")?.to_owned()));
    let Some(last) = messages.iter().rposition(|raw| role(raw).as_deref() == Some("user")) else { return 0 };
    let has_results = blocks(&messages[last], "tool_result").iter().any(|block| is(block, "tool_result"));
    last.saturating_sub(usize::from(has_results))
}

fn user(summary: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": summary}]})
}

/// The blocks of a message whose text has this word in it.
fn blocks(raw: &RawValue, word: &str) -> Vec<Value> {
    if !raw.get().contains(word) {
        return Vec::new();
    }
    let content =
        json::parse_lenient(raw.get()).ok().and_then(|mut message| message.get_mut("content").map(Value::take));
    match content {
        Some(Value::Array(blocks)) => blocks,
        _ => Vec::new(),
    }
}

fn is(block: &Value, kind: &str) -> bool {
    text(block, "type") == Some(kind)
}

fn text<'b>(block: &'b Value, key: &str) -> Option<&'b str> {
    block.get(key).and_then(Value::as_str)
}

/// What a result says.
fn said(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks.iter().filter_map(|block| text(block, "text")).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::asked::{Asked, Edits};

    fn messages(all: &Value) -> Messages {
        serde_json::from_str(&all.to_string()).unwrap()
    }

    fn values(messages: &Messages) -> Value {
        messages.iter().map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap()).collect()
    }

    fn clear(rest: &Value) -> ClearToolUses {
        let mut edit = json!({"type": "clear_tool_uses_20250919"});
        edit.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let asked = to_raw_value(&json!({"edits": [edit]})).unwrap();
        let Some(Asked::Edits(Edits { clear: Some(clear), .. })) = Asked::of_message(Some(&asked), None, false) else {
            panic!("{rest}")
        };
        clear
    }

    fn calls() -> Messages {
        let turn = |n: usize, tool: &str| {
            let long = format!("line {n} of what the tool has found ").repeat(20);
            [
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": format!("t{n}"), "name": tool, "input": {"path": n}}]}),
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": format!("t{n}"), "content": long}]}),
            ]
        };
        let all = ["read", "find", "read", "read"].into_iter().enumerate().flat_map(|(n, tool)| turn(n, tool));
        messages(&all.collect())
    }

    #[test]
    fn old_results_are_cleared() {
        let before = calls();
        assert_eq!(tool_uses(&before), 4);
        let told = json!({"keep": {"type": "tool_uses", "value": 1}, "exclude_tools": ["find"]});
        let mut after = before.clone();
        let cleared_now = cleared(&mut after, &clear(&told)).unwrap();
        assert_eq!(cleared_now.tool_uses, 2);
        let shown = values(&after);
        for (place, is_cleared) in [(1, true), (3, false), (5, true), (7, false)] {
            let text = shown[place]["content"][0]["content"].as_str().unwrap();
            assert_eq!(text.starts_with("[tool_result elided"), is_cleared, "{place}: {text}");
        }
        assert_eq!(shown[0]["content"][0]["input"], json!({"path": 0}), "calls stay");
        for untouched in [0, 2, 3, 4, 6, 7] {
            assert_eq!(after[untouched].get(), before[untouched].get());
        }
        let inputs = json!({"keep": {"type": "tool_uses", "value": 1}, "clear_tool_inputs": true});
        let mut after = before.clone();
        assert_eq!(cleared(&mut after, &clear(&inputs)).unwrap().tool_uses, 3);
        assert_eq!(values(&after)[0]["content"][0]["input"], json!({}));
        let least = json!({"keep": {"type": "tool_uses", "value": 1},
            "clear_at_least": {"type": "input_tokens", "value": 1_000_000}});
        assert_eq!(cleared(&mut before.clone(), &clear(&least)), None);
        assert_eq!(cleared(&mut before.clone(), &clear(&json!({"keep": {"type": "tool_uses", "value": 4}}))), None);
    }

    #[test]
    fn the_newest_compaction_stands_for_all_before_it() {
        let all = json!([{"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "compaction", "content": "one"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "c"},
            {"role": "assistant", "content": [{"type": "compaction", "content": "two"}]},
            {"role": "user", "content": "d"},
            {"role": "assistant", "content": [{"type": "compaction", "content": null}, {"type": "text", "text": "e"}]}]);
        let due = json!([{"role": "user", "content": [{"type": "text", "text": "two"}]}, {"role": "user", "content": "d"},
            {"role": "assistant", "content": [{"type": "text", "text": "e"}]}]);
        assert_eq!(values(&flattened(messages(&all))), due);
        let first: Value = all.as_array().unwrap()[..3].iter().cloned().collect();
        let due = json!([{"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]}, {"role": "user", "content": "c"}]);
        assert_eq!(values(&flattened(messages(&first))), due);
        let plain = json!([{"role": "user", "content": "of \"compaction\""}]);
        assert_eq!(values(&flattened(messages(&plain))), plain);
    }

    #[test]
    fn what_has_no_answer_yet_stays() {
        let calls = calls();
        let continued = values(&continued("told", &calls));
        assert_eq!(continued.as_array().unwrap().len(), 3);
        assert_eq!(continued[0]["content"][0]["text"], "told");
        assert_eq!(continued[1]["content"][0]["id"], "t3");
        let spoken = messages(&json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"}]));
        assert_eq!(values(&super::continued("told", &spoken))[1], json!({"role": "user", "content": "c"}));
    }
}
