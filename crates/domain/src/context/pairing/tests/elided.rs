//! Contexts with shortened arguments: valid in every format, and back to the original without the elisions.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use crate::compaction::prune::{PruneCall, Pruner};
use crate::context::{elision, placeholder};
use crate::data::Source;
use crate::format::{anthropic, corpus, openai_responses};
use crate::model::compaction::{ElidedPart, Elision};
use crate::model::entry::Entry;
use crate::model::message::{Message, ToolCall};
use crate::model::shape::apply_shape;
use crate::settings::{Estimator, Settings};
use crate::summary::testing::settings;

fn messages(entries: &[Entry]) -> Vec<Option<Message>> {
    let read = |entry: &Entry| {
        let mut message = format::read(entry.source_format, &entry.item).unwrap().message?;
        apply_shape(&mut message, &entry.head.shape);
        Some(message)
    };
    entries.iter().map(read).collect()
}

fn argument_elisions(entries: &[Entry]) -> Vec<Elision> {
    let mut pruner = Pruner::new(&Settings { estimator: Estimator::O200k, ..settings() });
    for (entry, message) in entries.iter().zip(messages(entries)) {
        let calls: Vec<ToolCall> = message.iter().flat_map(Message::tool_calls).cloned().collect();
        let ids = elision::occurrences(calls.iter().map(|call| call.id.as_str()));
        for call in &calls {
            let ambiguous = ids[call.id.as_str()] > 1;
            let entry_id = entry.head.id;
            pruner.add_call(&PruneCall { entry_id, call, already_elided: false, in_tail: false, ambiguous });
        }
    }
    pruner.plan()
}

fn shown(entries: &[Entry], elisions: &[Elision], target: Format) -> Vec<String> {
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let mut by_entry: HashMap<Uuid, Vec<Elision>> = HashMap::new();
    elisions.iter().for_each(|one| by_entry.entry(one.entry_id).or_default().push(one.clone()));
    let mut view = plan_view(&heads, None);
    for item in &mut view {
        if let ViewItem::Entry { index, elisions } = item {
            *elisions = by_entry.get(&heads[*index].id).cloned().unwrap_or_default();
        }
    }
    let source = |index: usize| StoredSource {
        format: entries[index].source_format,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let mut notes = Vec::new();
    let pieces = pieces(&view, &heads, source, |_| String::new(), target, &mut notes);
    format::write(target, &pieces, &mut notes)
}

fn calls_of(target: Format, written: &[String]) -> Vec<ToolCall> {
    let read = |text: &String| format::read(target, text).unwrap().message;
    written.iter().filter_map(read).flat_map(|message| message.tool_calls().cloned().collect::<Vec<_>>()).collect()
}

/// A session that writes a long file, in each format.
fn sessions(text: &str) -> Vec<(Format, Vec<Value>)> {
    let arguments = json!({"path": "src/main.rs", "content": text, "mode": 0o644});
    let chat = |function: Value| {
        json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": function}]})
    };
    let function = json!({"name": "write", "arguments": arguments.to_string()});
    let legacy = json!({"role": "assistant", "content": null, "function_call": function});
    vec![
        (Format::OpenaiChat, vec![user("go"), chat(function), answer("c1", "ok")]),
        (Format::OpenaiChat, vec![user("go"), legacy, json!({"role": "function", "name": "write", "content": "ok"})]),
        (
            Format::OpenaiResponses,
            vec![
                user("go"),
                json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "write",
                    "arguments": arguments.to_string(), "status": "completed"}),
                json!({"type": "function_call_output", "call_id": "c1", "output": "ok"}),
            ],
        ),
        (
            Format::Anthropic,
            vec![
                user("go"),
                json!({"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "t", "signature": "s"},
                    {"type": "tool_use", "id": "c1", "name": "write", "input": arguments}]}),
                json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}),
            ],
        ),
        (
            Format::Native,
            vec![
                user("go"),
                json!({"role": "assistant", "content": [
                    {"type": "tool_call", "id": "c1", "name": "write", "arguments": arguments}]}),
                json!({"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "ok"}]}),
            ],
        ),
        (
            Format::Pi,
            vec![
                json!({"type": "message", "id": "00000001", "parentId": null,
                    "message": {"role": "user", "content": "go"}}),
                json!({"type": "message", "id": "00000002", "parentId": "00000001",
                    "message": {"role": "assistant", "stopReason": "toolUse", "content": [
                        {"type": "toolCall", "id": "c1", "name": "write", "arguments": arguments}]}}),
                json!({"type": "message", "id": "00000003", "parentId": "00000002",
                    "message": {"role": "toolResult", "toolCallId": "c1", "toolName": "write",
                        "content": [{"type": "text", "text": "ok"}], "isError": false}}),
            ],
        ),
    ]
}

#[test]
fn shortened_arguments_are_valid_in_every_format_and_come_back_whole() {
    let text = "let x = \"1\";\n".repeat(300);
    for (source, items) in sessions(&text) {
        let entries = appended(source, &items);
        let elisions = argument_elisions(&entries);
        assert_eq!(elisions.len(), 1, "{source:?}");
        assert_eq!(elisions[0].part, ElidedPart::Arguments);
        for target in Format::ALL.iter().copied() {
            let out = shown(&entries, &elisions, target);
            let [call] = &calls_of(target, &out)[..] else { panic!("{source:?} as {target:?}: {out:?}") };
            let keys: Vec<&String> = call.arguments.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["path", "content", "mode"], "{source:?} as {target:?}");
            assert_eq!((&call.arguments["path"], &call.arguments["mode"]), (&json!("src/main.rs"), &json!(0o644)));
            let content = call.arguments["content"].as_str().unwrap();
            assert!(content.len() < 700 && placeholder::is_placeholder(content), "{content}");
            let read = out.iter().filter_map(|text| format::read(target, text).unwrap().message);
            assert_eq!(read.map(|message| message.tool_results().count()).sum::<usize>(), 1);
            let whole = calls_of(target, &shown(&entries, &[], target));
            assert_eq!(whole[0].arguments["content"], text.as_str(), "{source:?} as {target:?}");
        }
    }
}

#[test]
fn made_up_sessions_stay_valid_with_their_long_arguments_shortened() {
    assert!(stay_valid(Source::Own) > 0);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn real_sessions_stay_valid_with_their_long_arguments_shortened() {
    assert!(stay_valid(Source::Shared) > 0);
}

/// How many calls were shortened.
fn stay_valid(recorded: Source) -> usize {
    type Check = fn(&[Value]) -> Vec<String>;
    let valid: Check = |_| Vec::new();
    let kinds: [(Format, Check); 4] = [
        (Format::Anthropic, anthropic::tests::violations),
        (Format::OpenaiResponses, openai_responses::tests::violations),
        (Format::OpenaiChat, valid),
        (Format::Pi, valid),
    ];
    let (mut shortened, mut freed) = (0, 0);
    for (source, violations) in kinds {
        for session in corpus::sessions(recorded, source) {
            let reads = |item: &&Value| format::read(source, &item.to_string()).is_ok();
            let items: Vec<Value> = session.items.iter().filter(reads).cloned().collect();
            let entries = appended(source, &items);
            let elisions = argument_elisions(&entries);
            let out = shown(&entries, &elisions, source);
            let values: Vec<Value> = out.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            assert_eq!(violations(&values), Vec::<String>::new(), "{}", session.name);
            let (before, after) = (calls_of(source, &shown(&entries, &[], source)), calls_of(source, &out));
            assert_eq!(before.len(), after.len(), "{}", session.name);
            for (before, after) in before.iter().zip(&after) {
                assert_eq!((&before.id, &before.name), (&after.id, &after.name));
                let keys = |call: &ToolCall| call.arguments.as_object().map(|o| o.keys().cloned().collect::<Vec<_>>());
                assert_eq!(keys(before), keys(after), "{}", session.name);
            }
            shortened += elisions.len();
            freed += elisions.iter().map(Elision::freed).sum::<i64>();
        }
    }
    println!("{shortened} calls shortened, {freed} tokens freed");
    shortened
}
