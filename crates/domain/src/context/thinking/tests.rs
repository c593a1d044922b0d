use serde_json::{Value, json};

use super::*;
use crate::context::pairing::tests::appended;
use crate::context::pairing::{StoredSource, pieces};
use crate::context::view::plan_view;
use crate::format;
use crate::model::entry::Entry;

fn rebuilt(entries: &[Entry], policy: Thinking, target: Format) -> (Vec<Value>, Vec<&'static str>) {
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let source = |index: usize| StoredSource {
        format: entries[index].source_format,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let mut notes = Vec::new();
    let mut pieces = pieces(&plan_view(&heads, None), &heads, source, |_| String::new(), target, &mut notes);
    settle(&mut pieces, &heads, policy, target, &Changes::default(), &mut notes);
    let written = finish(format::write(target, &pieces, &mut notes), policy, target, &mut notes);
    let values = written.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (values, notes.iter().map(|note| note.code.into_str()).collect())
}

fn thought() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "sig"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn answer(blocks: &[Value]) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn tool_use(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": {}})
}

fn tool_result(id: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]})
}

/// A finished turn with thinking, and one that runs.
fn anthropic() -> Vec<Value> {
    vec![
        user("one"),
        answer(&[thought(), tool_use("a")]),
        tool_result("a"),
        answer(&[thought(), text("done")]),
        user("two"),
        answer(&[thought(), tool_use("b")]),
        tool_result("b"),
    ]
}

/// The context of these items under what was changed since.
fn under(entries: &[Entry], policy: Thinking, changes: &Changes) -> (Vec<Value>, Vec<(&'static str, Option<usize>)>) {
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let source = |index: usize| StoredSource {
        format: entries[index].source_format,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let (target, mut notes) = (Format::Anthropic, Vec::new());
    let mut pieces = pieces(&plan_view(&heads, None), &heads, source, |_| String::new(), target, &mut notes);
    settle(&mut pieces, &heads, policy, target, changes, &mut notes);
    let written = format::write(target, &pieces, &mut notes);
    let values = written.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (values, notes.iter().map(|note| (note.code.into_str(), note.entry)).collect())
}

#[test]
fn what_was_signed_before_the_model_changed_is_another_models() {
    let entries = appended(Format::Anthropic, &anthropic());
    let changes = Changes { model_since: entries[4].head.seq, ..Changes::default() };
    let (sent, notes) = under(&entries, Thinking::Auto, &changes);
    assert_eq!(notes, [("thinking_dropped", Some(1)), ("thinking_dropped", Some(3))]);
    assert_eq!((&sent[1], &sent[3]), (&answer(&[tool_use("a")]), &answer(&[text("done")])));
    assert_eq!(sent[5], answer(&[thought(), tool_use("b")]));
    let (sent, notes) = under(&entries, Thinking::Keep, &changes);
    assert_eq!(sent, anthropic());
    assert_eq!(notes, [("thinking_of_other_model", Some(1)), ("thinking_of_other_model", Some(3))]);
    let all = Changes { model_since: 100, ..Changes::default() };
    let (_, notes) = under(&entries, Thinking::Auto, &all);
    assert!(notes.contains(&("thinking_missing", Some(5))), "{notes:?}");
}

#[test]
fn thinking_behind_what_was_shortened_is_named() {
    let entries = appended(Format::Anthropic, &anthropic());
    let heads: Vec<EntryMeta> = entries.iter().map(|entry| entry.head.clone()).collect();
    let source = |index: usize| StoredSource {
        format: entries[index].source_format,
        item: &entries[index].item,
        is_examined: false,
        keeps_ids: false,
    };
    let mut notes = Vec::new();
    let mut pieces = pieces(&plan_view(&heads, None), &heads, source, |_| String::new(), Format::Anthropic, &mut notes);
    // As a masked result goes out.
    super::open(&mut pieces[2]);
    let changes = Changes { shortened: HashSet::from([2]), ..Changes::default() };
    settle(&mut pieces, &heads, Thinking::Auto, Format::Anthropic, &changes, &mut notes);
    assert_eq!(
        notes.iter().map(|note| (note.code.into_str(), note.entry)).collect::<Vec<_>>(),
        [("thinking_after_compaction", Some(3))]
    );
    assert!(notes[0].detail.starts_with("2 answers"));
}

#[test]
fn auto_and_keep_change_nothing_that_is_valid() {
    let items = anthropic();
    let entries = appended(Format::Anthropic, &items);
    for policy in [Thinking::Auto, Thinking::Keep] {
        assert_eq!(rebuilt(&entries, policy, Format::Anthropic), (items.clone(), vec![]));
    }
}

#[test]
fn strip_leaves_the_running_turn_alone() {
    let items = anthropic();
    let entries = appended(Format::Anthropic, &items);
    let (out, notes) = rebuilt(&entries, Thinking::Strip, Format::Anthropic);
    assert_eq!(out[1], answer(&[tool_use("a")]));
    assert_eq!(out[3], answer(&[text("done")]));
    assert_eq!(out[4..], items[4..]);
    assert_eq!(notes, ["thinking_stripped"; 2]);
    let (out, _) = rebuilt(&entries[..4], Thinking::Strip, Format::Anthropic);
    assert_eq!(out[3], answer(&[text("done")]), "no turn is running");
    let paused = [
        user("go"),
        answer(&[thought(), json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "w", "input": {}})]),
    ];
    let (out, _) = rebuilt(&appended(Format::Anthropic, &paused), Thinking::Strip, Format::Anthropic);
    assert_eq!(out, paused, "a paused turn is running");
}

#[test]
fn auto_keeps_every_context_a_prefix_of_the_next() {
    let entries = appended(Format::Anthropic, &anthropic());
    for end in 1..=entries.len() {
        let (out, _) = rebuilt(&entries[..end], Thinking::Auto, Format::Anthropic);
        let (whole, _) = rebuilt(&entries, Thinking::Auto, Format::Anthropic);
        let shared = out.iter().zip(&whole).take_while(|(one, other)| one == other).count();
        // An open call is answered by us until its result is there.
        assert!(shared == out.len() || (shared + 1 == out.len() && [2, 6].contains(&end)), "{end}");
    }
}

#[test]
fn thinking_of_another_model_goes_unless_kept() {
    let by = |model: &str, blocks: &[Value]| json!({"role": "assistant", "model": model, "content": blocks});
    let items = [
        user("one"),
        by("opus", &[thought(), text("first")]),
        user("two"),
        by("sonnet", &[thought(), text("second")]),
        user("three"),
        by("haiku", &[text("without thinking")]),
    ];
    let entries = appended(Format::Anthropic, &items);
    let (out, notes) = rebuilt(&entries, Thinking::Auto, Format::Anthropic);
    assert_eq!((&out[1], &out[3]), (&answer(&[text("first")]), &answer(&[thought(), text("second")])));
    assert!(notes.contains(&"thinking_dropped"));
    let (out, notes) = rebuilt(&entries, Thinking::Keep, Format::Anthropic);
    assert_eq!(out[1], answer(&[thought(), text("first")]));
    assert!(notes.contains(&"thinking_of_other_model"));
}

#[test]
fn a_running_turn_that_lost_its_thinking_is_named() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let chat = [
        user("go"),
        json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "a", "content": "ok"}),
    ];
    let entries = appended(Format::OpenaiChat, &chat);
    let (_, notes) = rebuilt(&entries, Thinking::Auto, Format::Anthropic);
    assert!(notes.contains(&"thinking_missing") && notes.contains(&"thinking_dropped"), "{notes:?}");
    let done: Vec<Value> = chat.into_iter().chain([json!({"role": "assistant", "content": "done"})]).collect();
    let (_, notes) = rebuilt(&appended(Format::OpenaiChat, &done), Thinking::Auto, Format::Anthropic);
    assert!(!notes.contains(&"thinking_missing"), "{notes:?}");
    let switched = [
        json!({"role": "assistant", "model": "opus", "content": [thought(), tool_use("a")]}),
        tool_result("a"),
        json!({"role": "assistant", "model": "sonnet", "content": [thought(), tool_use("b")]}),
        tool_result("b"),
    ];
    let (_, notes) = rebuilt(&appended(Format::Anthropic, &switched), Thinking::Auto, Format::Anthropic);
    assert!(notes.contains(&"thinking_missing"), "{notes:?}");
}

#[test]
fn chat_fields_go_with_strip_alone() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let items = [
        user("one"),
        json!({"role": "assistant", "content": "first", "reasoning_content": "hm", "odd": 1.50}),
        user("two"),
        json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "a", "content": "ok"}),
    ];
    let entries = appended(Format::OpenaiChat, &items);
    assert_eq!(rebuilt(&entries, Thinking::Auto, Format::OpenaiChat), (items.to_vec(), vec![]));
    let (out, notes) = rebuilt(&entries, Thinking::Strip, Format::OpenaiChat);
    assert_eq!(out[1], json!({"role": "assistant", "content": "first", "odd": 1.50}));
    assert_eq!(out[2..], items[2..]);
    assert_eq!(notes, ["thinking_stripped"]);
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "abc"})
}

fn said(id: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]})
}

#[test]
fn items_lose_their_ids_with_their_reasoning() {
    let items = [
        user("one"),
        reasoning("rs_1"),
        json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "xyz"}),
        said("msg_1"),
        user("two"),
        reasoning("rs_2"),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        said("msg_2"),
        user("three"),
        said("msg_3"),
    ];
    let entries = appended(Format::OpenaiResponses, &items);
    assert_eq!(rebuilt(&entries, Thinking::Auto, Format::OpenaiResponses), (items.to_vec(), vec![]));
    let (out, notes) = rebuilt(&entries, Thinking::Strip, Format::OpenaiResponses);
    let mut bare = said("msg_1");
    bare.as_object_mut().unwrap().shift_remove("id");
    bare["content"] = json!("yes");
    assert_eq!(out[..3], [items[0].clone(), items[2].clone(), bare]);
    assert_eq!(out[3..], items[4..], "an answer with a provider's tool stays whole");
    assert_eq!(notes, ["thinking_stripped"]);
}

#[test]
fn reasoning_known_by_id_alone_is_named() {
    let items = [user("one"), json!({"type": "reasoning", "id": "rs_1", "summary": []}), said("msg_1")];
    let entries = appended(Format::OpenaiResponses, &items);
    let named = (items.to_vec(), vec!["reasoning_by_reference"]);
    assert_eq!(rebuilt(&entries, Thinking::Auto, Format::OpenaiResponses), named);
}

#[test]
fn native_and_pi_answers_are_stripped_too() {
    let native = [user("one"), answer(&[json!({"type": "thinking", "text": "hm"}), text("yes")]), user("two")];
    let (out, _) = rebuilt(&appended(Format::Native, &native), Thinking::Strip, Format::Native);
    assert_eq!(out[1], answer(&[text("yes")]));
    let entry = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "message": message});
    let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"});
    let pi = [
        entry("a", json!(null), user("one")),
        entry("b", json!("a"), answer(std::slice::from_ref(&thinking))),
        entry("c", json!("b"), answer(&[thinking, text("yes")])),
    ];
    let (out, _) = rebuilt(&appended(Format::Pi, &pi), Thinking::Strip, Format::Pi);
    assert_eq!(out, [pi[0].clone(), pi[1].clone(), entry("c", json!("b"), answer(&[text("yes")]))]);
}
