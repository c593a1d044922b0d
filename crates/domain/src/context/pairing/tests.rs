use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::context::view::plan_view;
use crate::format;
use crate::format::note_code::NoteCode;
use crate::model::entry::Entry;
use crate::model::message::Block;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::Shape;

mod compactions;
mod corpus;
mod elided;
mod providers;

/// Entries as an append makes them.
pub fn appended(format: Format, items: &[Value]) -> Vec<Entry> {
    let mut open = OpenCalls::default();
    let entry = |(seq, item): (i64, &Value)| {
        let raw = item.to_string();
        let read = format::read(format, &raw).unwrap_or_else(|error| panic!("{error}: {raw}"));
        let shape = Shape::of(&read, seq, &open, &[]);
        open.apply(seq, &shape);
        let head = EntryMeta {
            id: Uuid::from_u64_pair(1, u64::try_from(seq).unwrap()),
            seq,
            depth: seq,
            kind: read.kind,
            role: read.message.as_ref().map(|message| message.role),
            tokens: 1,
            path_tokens: seq + 1,
            usage: None,
            shape,
        };
        Entry {
            head,
            parent_id: None,
            source_id: None,
            source_format: format,
            item: raw,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    };
    (0..).zip(items).map(entry).collect()
}

/// Rebuilds the context as it goes out, as JSON, with the notes.
pub fn rebuilt(entries: &[Entry], target: Format) -> (Vec<Value>, Vec<Note>) {
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let (pieces, mut notes) = planned(entries, &heads, target);
    let written = format::write(target, &pieces, &mut notes);
    (written.iter().map(|text| serde_json::from_str(text).unwrap()).collect(), notes)
}

fn planned<'a>(entries: &'a [Entry], heads: &[EntryMeta], target: Format) -> (Vec<Piece<'a>>, Vec<Note>) {
    let source = |index: usize| StoredSource {
        format: entries[index].source_format,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let mut notes = Vec::new();
    let pieces = pieces(&plan_view(heads, None), heads, source, |_| "summary".to_owned(), target, &mut notes);
    (pieces, notes)
}

fn codes(notes: &[Note]) -> Vec<(&str, Option<usize>)> {
    notes.iter().map(|note| (note.code.into_str(), note.entry)).collect()
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } }))
        .collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn answer(id: &str, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

fn chat(items: &[Value]) -> (Vec<Value>, Vec<Note>) {
    rebuilt(&appended(Format::OpenaiChat, items), Format::OpenaiChat)
}

#[test]
fn a_clean_transcript_goes_out_as_it_came() {
    let items = [
        user("go"),
        calls(&["a", "b"]),
        answer("b", "2"),
        answer("a", "1"),
        json!({ "role": "assistant", "content": "done", "odd": 1.50 }),
    ];
    assert_eq!(chat(&items), (items.to_vec(), Vec::new()));
}

#[test]
fn a_call_without_result_is_answered_by_us() {
    let (out, notes) = chat(&[calls(&["a", "b"]), answer("a", "1"), user("next")]);
    assert_eq!(out[..2], [calls(&["a", "b"]), answer("a", "1")]);
    assert_eq!(out[2], answer("b", SYNTHETIC_RESULT));
    assert_eq!(out[3], user("next"));
    assert_eq!(codes(&notes), [("synthetic_result", Some(0))]);
}

#[test]
fn results_without_a_waiting_call_are_left_out() {
    let (out, notes) = chat(&[answer("x", "?"), calls(&["a"]), answer("a", "1"), answer("a", "again")]);
    assert_eq!(out, [calls(&["a"]), answer("a", "1")]);
    assert_eq!(codes(&notes), [("orphan_result_dropped", Some(0)), ("duplicate_result_dropped", Some(3))]);
}

#[test]
fn a_result_that_came_before_its_call_finds_it() {
    let (out, notes) = chat(&[user("go"), answer("a", "1"), calls(&["a"]), user("next")]);
    assert_eq!(out, [user("go"), calls(&["a"]), answer("a", "1"), user("next")]);
    assert_eq!(codes(&notes), [("result_moved", Some(1))]);
}

#[test]
fn results_in_any_order_around_their_calls_stand_behind_them() {
    let items =
        [answer("b", "2"), user("go"), answer("d", "4"), calls(&["a", "b"]), answer("a", "1"), calls(&["c", "d"])];
    let (out, _) = chat(&[items.to_vec(), vec![answer("c", "3")]].concat());
    let pairs = check(&out, Format::OpenaiChat);
    let texts: Vec<&str> = pairs.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["1", "2", "3", "4"]);
}

#[test]
fn a_result_before_its_call_is_found_in_every_format() {
    let call = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "a", "output": "1" });
    let spoken = json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "a", "content": "1" }, { "type": "text", "text": "and more" },
    ] });
    let used = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "f", "input": {} }] });
    let response = json!({ "functionResponse": { "id": "a", "name": "f", "response": { "output": "1" } } });
    let (response, request) = (
        json!({ "role": "user", "parts": [response] }),
        json!({ "role": "model", "parts": [{ "functionCall": { "id": "a", "name": "f", "args": {} } }] }),
    );
    for (format, items) in [
        (Format::OpenaiResponses, [output, call]),
        (Format::Anthropic, [spoken, used]),
        (Format::Gemini, [response, request]),
    ] {
        let entries = appended(format, &items);
        for target in [format, Format::Native] {
            let (out, notes) = rebuilt(&entries, target);
            let answers: Vec<String> = check(&out, target).into_iter().map(|(_, text)| text).collect();
            assert_eq!(answers, ["1"], "{format:?} as {target:?}: {out:?}");
            assert!(codes(&notes).contains(&("result_moved", Some(0))), "{notes:?}");
        }
    }
}

/// An id that comes again keeps each call to the results behind it.
#[test]
fn a_second_result_of_an_answered_call_is_not_that_of_the_next() {
    let (out, notes) = chat(&[calls(&["a"]), answer("a", "1"), answer("a", "again"), user("u"), calls(&["a"])]);
    assert_eq!(out, [calls(&["a"]), answer("a", "1"), user("u"), calls(&["a"]), answer("a", SYNTHETIC_RESULT)]);
    assert!(codes(&notes).contains(&("duplicate_result_dropped", Some(2))));
}

#[test]
fn only_what_answers_a_call_counts_as_shown() {
    let result = |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    let items = [
        user("go"),
        json!({ "role": "assistant", "content": [call("a"), call("b")] }),
        json!({ "role": "user", "content": [result("a", "1"), result("a", "again"), result("b", "2"), result("x", "?")] }),
    ];
    let entries = appended(Format::Anthropic, &items);
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    assert_eq!(unanswered(&plan_view(&heads, None), &heads), HashSet::from([(2, 1), (2, 3)]));
    let (out, notes) = rebuilt(&entries, Format::Anthropic);
    assert_eq!(out[2]["content"], json!([result("a", "1"), result("b", "2")]));
    assert_eq!(codes(&notes), [("duplicate_result_dropped", Some(2)), ("orphan_result_dropped", Some(2))]);
}

#[test]
fn a_late_result_moves_to_its_call() {
    let (out, notes) = chat(&[calls(&["a"]), user("meanwhile"), answer("a", "1")]);
    assert_eq!(out, [calls(&["a"]), answer("a", "1"), user("meanwhile")]);
    assert_eq!(codes(&notes), [("result_moved", Some(2))]);
}

#[test]
fn an_id_used_again_is_another_call() {
    let items = [calls(&["a"]), answer("a", "1"), user("more"), calls(&["a"]), answer("a", "2")];
    assert_eq!(chat(&items), (items.to_vec(), Vec::new()));
    let (out, notes) = chat(&[calls(&["a"]), user("more"), calls(&["a"]), answer("a", "2")]);
    assert_eq!(out[1], answer("a", SYNTHETIC_RESULT));
    assert_eq!(out[4], answer("a", "2"));
    assert_eq!(notes.len(), 1);
}

#[test]
fn parallel_calls_in_several_messages_become_one() {
    let (out, notes) = chat(&[calls(&["a"]), calls(&["b"]), answer("a", "1"), answer("b", "2"), user("next")]);
    assert_eq!(out, [calls(&["a", "b"]), answer("a", "1"), answer("b", "2"), user("next")]);
    assert_eq!(codes(&notes), [("messages_merged", Some(0)), ("messages_merged", Some(1))]);
}

#[test]
fn an_abandoned_call_before_a_retry_is_not_merged() {
    let (out, notes) = chat(&[calls(&["a"]), calls(&["b"]), answer("b", "2")]);
    assert_eq!(out, [calls(&["a"]), answer("a", SYNTHETIC_RESULT), calls(&["b"]), answer("b", "2")]);
    assert_eq!(codes(&notes), [("synthetic_result", Some(0))]);
}

#[test]
fn one_message_with_an_id_twice_gets_a_second_id() {
    let (out, notes) = chat(&[calls(&["a", "a"]), answer("a", "1"), answer("a", "2")]);
    assert_eq!(out, [calls(&["a", "a_2"]), answer("a", "1"), answer("a_2", "2")]);
    assert_eq!(codes(&notes), [("call_id_renamed", Some(0)), ("call_id_renamed", Some(2))]);
}

#[test]
fn legacy_calls_stay_as_they_are_or_change_together() {
    let call = json!({ "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": "{}" } });
    let result = json!({ "role": "function", "name": "f", "content": "1" });
    let items = [user("go"), call.clone(), result.clone(), user("next"), call.clone(), result.clone()];
    assert_eq!(chat(&items), (items.to_vec(), Vec::new()));
    let (out, notes) = chat(&[call.clone(), user("meanwhile"), result.clone()]);
    assert_eq!(out, [calls(&["call_0"]), answer("call_0", "1"), user("meanwhile")]);
    assert_eq!(codes(&notes), [("item_repaired", Some(0)), ("result_moved", Some(2))]);
    let (out, _) = chat(&[call.clone(), call.clone(), result.clone(), result.clone()]);
    assert_eq!(out, [calls(&["call_0", "call_1"]), answer("call_1", "1"), answer("call_0", "1")]);
    let (out, _) = chat(&[call, user("next")]);
    assert_eq!(out, [calls(&["call_0"]), answer("call_0", SYNTHETIC_RESULT), user("next")]);
}

#[test]
fn the_rest_of_a_mixed_message_follows_all_results() {
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "f", "arguments": {} });
    let result = |id: &str, text: &str| json!({ "type": "tool_result", "tool_call_id": id, "content": text });
    let mixed = json!({ "role": "user", "content": [result("a", "1"), { "type": "text", "text": "and" }] });
    let both = json!({ "role": "assistant", "content": [call("a"), call("b")] });
    let entries =
        appended(Format::Native, &[both.clone(), mixed, json!({"role": "tool", "content": [result("b", "2")]})]);
    let (out, notes) = rebuilt(&entries, Format::Native);
    assert_eq!(check(&out, Format::Native), [("a".into(), "1".into()), ("b".into(), "2".into())]);
    assert_eq!(out[0], both);
    assert_eq!(out.last().unwrap(), &json!({ "role": "user", "content": [{ "type": "text", "text": "and" }] }));
    assert_eq!(codes(&notes), [("result_moved", Some(1))]);
}

#[test]
fn a_summary_stands_where_the_view_has_it() {
    let entries = appended(Format::OpenaiChat, &[user("old"), user("new")]);
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let view = [ViewItem::Summary { compaction: 0 }, ViewItem::Entry { index: 1, elisions: Vec::new() }];
    let source = |index: usize| StoredSource {
        format: Format::OpenaiChat,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let pieces = pieces(&view, &heads, source, |at| format!("summary {at}"), Format::OpenaiChat, &mut Vec::new());
    let out = format::write(Format::OpenaiChat, &pieces, &mut Vec::new());
    assert_eq!(out, [user("summary 0").to_string(), user("new").to_string()]);
}

#[test]
fn an_item_that_no_longer_reads_leaves_valid_pairs() {
    let mut entries = appended(Format::OpenaiChat, &[calls(&["a"]), answer("a", "1")]);
    for entry in &mut entries {
        entry.item = "{".to_owned();
        entry.head.shape.needs_repair = true;
    }
    let (out, notes) = rebuilt(&entries, Format::OpenaiChat);
    assert_eq!(out, [calls(&["a"]), answer("a", SYNTHETIC_RESULT)]);
    assert!(codes(&notes).contains(&("item_unreadable", Some(0))));
}

#[test]
fn twenty_thousand_entries_go_out_as_they_came() {
    let items: Vec<Value> = (0..5_000)
        .flat_map(|turn| {
            let id = format!("c{turn}");
            [user("go"), calls(&[&id]), answer(&id, "1"), json!({ "role": "assistant", "content": "ok" })]
        })
        .collect();
    let entries = appended(Format::OpenaiChat, &items);
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let (pieces, notes) = planned(&entries, &heads, Format::OpenaiChat);
    assert!(notes.is_empty() && pieces.iter().all(|piece| matches!(piece, Piece::Verbatim { .. })));
}

/// Panics unless every call is answered right behind its message and no result stands alone.
/// Gives each call's id with the text of its result, in the order of the calls.
pub fn check(messages: &[Value], format: Format) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut waiting: Vec<(String, Option<String>)> = Vec::new();
    for message in messages {
        let raw = message.to_string();
        let read = format::read(format, &raw).unwrap().message.unwrap();
        for result in read.tool_results() {
            let slot = waiting.iter_mut().find(|(id, text)| *id == result.tool_call_id && text.is_none());
            slot.unwrap_or_else(|| panic!("orphan result: {message}")).1 = Some(result.plain_text());
        }
        let only_results = read.content.iter().all(|block| matches!(block, Block::ToolResult(_)));
        if !only_results || read.content.is_empty() {
            settle(&mut waiting, &mut pairs, message);
        }
        waiting.extend(read.tool_calls().map(|call| (call.id.clone(), None)));
    }
    settle(&mut waiting, &mut pairs, &Value::Null);
    pairs
}

fn settle(waiting: &mut Vec<(String, Option<String>)>, pairs: &mut Vec<(String, String)>, before: &Value) {
    for (id, text) in waiting.drain(..) {
        pairs.push((id.clone(), text.unwrap_or_else(|| panic!("call {id} unanswered before {before}"))));
    }
}

#[derive(Debug, Clone)]
enum Turn {
    User,
    Speech,
    Calls(Vec<usize>),
    Result(usize),
    Mixed(Vec<usize>),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        1 => Just(Turn::User),
        1 => Just(Turn::Speech),
        4 => prop::collection::vec(0..5usize, 1..4).prop_map(Turn::Calls),
        6 => (0..6usize).prop_map(Turn::Result),
        1 => prop::collection::vec(0..6usize, 1..4).prop_map(Turn::Mixed),
    ];
    prop::collection::vec(turn, 0..24)
}

/// The turns as native messages; every result's text tells its place.
fn native(turns: &[Turn]) -> Vec<Value> {
    let result = |at: usize, slot: usize, id: usize| json!({ "type": "tool_result", "tool_call_id": format!("c{id}"), "content": format!("{at}.{slot}") });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let message = |(at, turn): (usize, &Turn)| {
        let (role, content) = match turn {
            Turn::User => ("user", vec![text("u")]),
            Turn::Speech => ("assistant", vec![text("a")]),
            Turn::Calls(ids) => {
                let call = |id| json!({ "type": "tool_call", "id": format!("c{id}"), "name": "f", "arguments": {} });
                ("assistant", ids.iter().map(call).collect())
            }
            Turn::Result(id) => ("tool", vec![result(at, 0, *id)]),
            Turn::Mixed(ids) => {
                let results = ids.iter().enumerate().map(|(slot, id)| result(at, slot, *id));
                ("user", results.chain([text("m")]).collect())
            }
        };
        json!({ "role": role, "content": content })
    };
    turns.iter().enumerate().map(message).collect()
}

/// The same as chat messages, where a mixed turn is one result and then a user message.
fn as_chat(turns: &[Turn]) -> Vec<Value> {
    let message = |(at, turn): (usize, &Turn)| match turn {
        Turn::User => user("u"),
        Turn::Speech => json!({ "role": "assistant", "content": "a" }),
        Turn::Calls(ids) => calls(&ids.iter().map(|id| ["c0", "c1", "c2", "c3", "c4"][*id]).collect::<Vec<_>>()),
        Turn::Result(id) => answer(&format!("c{id}"), &format!("{at}.0")),
        Turn::Mixed(ids) => answer(&format!("c{}", ids[0]), &format!("{at}.0")),
    };
    turns.iter().enumerate().map(message).collect()
}

/// For each call in order its result by the rules, found the slow and obvious way.
fn expected(turns: &[Turn], chat: bool) -> Vec<String> {
    let mut run = 0;
    let mut calls: Vec<(usize, usize, usize)> = Vec::new();
    let mut results: Vec<(usize, usize, String)> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        run += usize::from(!matches!(turn, Turn::Speech | Turn::Calls(_)));
        match turn {
            Turn::Calls(ids) => calls.extend(ids.iter().map(|id| (at, run, *id))),
            Turn::Result(id) => results.push((at, *id, format!("{at}.0"))),
            Turn::Mixed(ids) => {
                let kept = if chat { &ids[..1] } else { &ids[..] };
                results.extend(kept.iter().enumerate().map(|(slot, id)| (at, *id, format!("{at}.{slot}"))));
            }
            _ => {}
        }
    }
    let mut used = vec![false; results.len()];
    let reused = |at: usize, run: usize, id: usize| {
        calls.iter().find(|call| call.0 > at && call.1 != run && call.2 == id).map_or(usize::MAX, |call| call.0)
    };
    let answer = |&(at, run, id): &(usize, usize, usize)| {
        let until = reused(at, run, id);
        let fits = |(place, result): &(usize, &(usize, usize, String))| {
            !used[*place] && result.1 == id && result.0 > at && result.0 < until
        };
        let found = results.iter().enumerate().find(fits).map(|(place, _)| place);
        found.inspect(|place| used[*place] = true)
    };
    let mut answers: Vec<Option<usize>> = calls.iter().map(answer).collect();
    // What came before any call of its id belongs to the calls of it in their order, as far as they have none.
    for (nth, &(at, _, id)) in calls.iter().enumerate() {
        let first = calls.iter().find(|call| call.2 == id).map_or(at, |call| call.0);
        let before = calls[..nth].iter().filter(|call| call.2 == id).count();
        let early = results.iter().enumerate().filter(|(_, result)| result.1 == id && result.0 < first).nth(before);
        answers[nth] = answers[nth].or(early.map(|(place, _)| place));
    }
    let text = |answer: Option<usize>| answer.map_or(SYNTHETIC_RESULT.to_owned(), |place| results[place].2.clone());
    answers.into_iter().map(text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn whatever_comes_in_what_goes_out_is_paired(turns in turns()) {
        for (format, items) in [(Format::Native, native(&turns)), (Format::OpenaiChat, as_chat(&turns))] {
            let entries = appended(format, &items);
            for target in [Format::Native, Format::OpenaiChat] {
                let (out, _) = rebuilt(&entries, target);
                let texts: Vec<String> = check(&out, target).into_iter().map(|(_, text)| text).collect();
                prop_assert_eq!(texts, expected(&turns, format == Format::OpenaiChat));
            }
        }
    }

    #[test]
    fn what_was_repaired_needs_no_second_repair(turns in turns()) {
        let (once, _) = rebuilt(&appended(Format::OpenaiChat, &as_chat(&turns)), Format::OpenaiChat);
        let (twice, notes) = rebuilt(&appended(Format::OpenaiChat, &once), Format::OpenaiChat);
        prop_assert_eq!(codes(&notes), []);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn everything_that_differs_is_named(turns in turns()) {
        let items = as_chat(&turns);
        let (out, notes) = rebuilt(&appended(Format::OpenaiChat, &items), Format::OpenaiChat);
        let mut left: HashMap<String, usize> = HashMap::new();
        out.iter().for_each(|message| *left.entry(message.to_string()).or_default() += 1);
        for (at, item) in items.iter().enumerate() {
            if notes.iter().any(|note| note.entry == Some(at)) {
                continue;
            }
            let found = left.get_mut(&item.to_string()).filter(|count| **count > 0);
            let merged = notes.iter().any(|note| note.code == NoteCode::MessagesMerged);
            prop_assert!(found.is_some() || merged, "{} is gone without a note", item);
            if let Some(count) = found { *count -= 1 }
        }
    }

    #[test]
    fn for_anthropic_ids_are_unique_and_results_stand_in_one_message(turns in turns()) {
        let entries = appended(Format::Native, &native(&turns));
        let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
        let (pieces, _) = planned(&entries, &heads, Format::Anthropic);
        let messages: Vec<Value> = pieces.iter().map(|piece| match piece {
            Piece::Message { message, .. } => format::native::message_value(message),
            Piece::Verbatim { .. } => Value::Null,
        }).collect();
        let pairs = check(&messages, Format::Native);
        let ids: std::collections::HashSet<&String> = pairs.iter().map(|(id, _)| id).collect();
        prop_assert_eq!(ids.len(), pairs.len());
        prop_assert_eq!(pairs.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>(), expected(&turns, false));
        let batches = messages.windows(2).filter(|two| two[0]["role"] == "tool" && two[1]["role"] == "tool");
        prop_assert_eq!(batches.count(), 0);
    }
}
