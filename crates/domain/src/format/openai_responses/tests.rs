use std::collections::HashSet;

use serde_json::{Value, json};

use super::*;
use crate::data::Source;
use crate::format::anthropic;
use crate::format::corpus::{paired, read_all, sessions, write_one};
use crate::format::write::{Note, Piece};
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Message, Role, ToolCall, ToolResult};

mod checker;
mod reading;

pub(crate) use checker::violations;

fn message(value: Value) -> Message {
    read(&value).unwrap().message.unwrap()
}

fn piece(message: Message) -> Piece<'static> {
    Piece::Message { entry: Some(0), message }
}

fn written(pieces: &[Piece<'_>]) -> (Vec<Value>, Vec<&'static str>) {
    written_with(pieces, ItemIds::Sendable)
}

fn written_with(pieces: &[Piece<'_>], ids: ItemIds) -> (Vec<Value>, Vec<&'static str>) {
    let mut notes = Vec::new();
    let texts = write_with(pieces, ids, &mut notes);
    let values = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (values, notes.iter().map(|note: &Note| note.code.into_str()).collect())
}

fn synthetic(id: &str) -> Message {
    let result = ToolResult {
        tool_call_id: id.into(),
        name: None,
        content: vec![Block::text("no result")],
        is_error: true,
        kind: CallKind::Function,
        opaque: None,
    };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}

#[test]
fn writes_messages_of_other_formats_as_items() {
    let number: Value = serde_json::from_str("{\"n\":1.50}").unwrap();
    let raw = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "let me look"}, {"type": "text", "text": "there"},
        {"type": "tool_use", "id": "a", "name": "ls", "input": number},
        {"type": "tool_use", "id": "b", "name": "ls", "input": {}}]});
    let results = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "1", "is_error": true},
        {"type": "tool_result", "tool_use_id": "b", "content": [
            {"type": "text", "text": "2"}, {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AA=="}}]},
        {"type": "text", "text": "go on"}]});
    let read = |raw: &Value| piece(anthropic::read(raw).unwrap().message.unwrap());
    let (items, notes) = written(&[read(&raw), read(&results)]);
    assert_eq!(
        items,
        [
            json!({"type": "message", "role": "assistant", "content": "let me look"}),
            json!({"type": "message", "role": "assistant", "content": "there"}),
            json!({"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{\"n\":1.50}"}),
            json!({"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": "a", "output": "1"}),
            json!({"type": "function_call_output", "call_id": "b", "output": [
                {"type": "input_text", "text": "2"}, {"type": "input_image", "image_url": "data:image/gif;base64,AA=="}]}),
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}),
        ]
    );
    assert_eq!(notes, ["thinking_dropped", "error_flag_dropped"]);
    assert_eq!(violations(&items), Vec::<String>::new());
}

#[test]
fn system_messages_keep_their_role() {
    let (items, _) =
        written(&[piece(Message::text(Role::Developer, "a")), piece(Message::text(Role::CompactionSummary, "b"))]);
    assert_eq!((&items[0]["role"], &items[1]["role"]), (&json!("developer"), &json!("user")));
}

#[test]
fn reasoning_goes_with_what_it_led_to() {
    let reasoning =
        |n: usize| json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "encrypted_content": "e"});
    let texts = [1, 2, 3].map(|n| reasoning(n).to_string());
    let verbatim = |n: usize| Piece::Verbatim { entry: 7, item: texts[n - 1].as_str().into() };
    let answer = || piece(Message::text(Role::Assistant, "a"));
    let question = || piece(Message::text(Role::User, "q"));
    assert_eq!(written(&[question(), verbatim(1), answer()]).0.len(), 3);
    assert_eq!(written(&[question(), verbatim(1), piece(message(reasoning(2))), answer()]).0.len(), 4);
    let mut notes = Vec::new();
    assert_eq!(write(&[verbatim(1), verbatim(2), question(), answer(), verbatim(3)], &mut notes).len(), 2);
    let told: Vec<_> = notes.iter().map(|note| (note.code.into_str(), note.entry)).collect();
    assert_eq!(told, [("reasoning_unpaired", Some(7)); 3]);
}

#[test]
fn made_up_results_fit_their_calls() {
    let custom = r#"{"type":"custom_tool_call","call_id":"a","name":"patch","input":"x"}"#;
    let calls = [
        json!({"type": "local_shell_call", "call_id": "b", "id": "x", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}),
        json!({"type": "apply_patch_call", "call_id": "d", "operation": {"type": "delete_file", "path": "p"}}),
        json!({"type": "computer_call", "call_id": "e", "action": {"type": "screenshot"}}),
        json!({"type": "tool_search_call", "call_id": "f", "execution": "client", "arguments": {}}),
    ];
    let mut pieces = vec![Piece::Verbatim { entry: 0, item: custom.into() }];
    pieces.extend(calls.iter().map(|call| piece(message(call.clone()))));
    pieces.extend(["a", "b", "c", "d", "e", "f"].map(|id| piece(synthetic(id))));
    let (items, _) = written(&pieces);
    assert_eq!(items[1..6], calls);
    assert_eq!(violations(&items), Vec::<String>::new());
    assert_eq!(items[6], json!({"type": "custom_tool_call_output", "call_id": "a", "output": "no result"}));
    assert_eq!(items[7], json!({"type": "local_shell_call_output", "id": "b", "output": "no result"}));
    assert_eq!(items[8]["output"][0]["stdout"], "no result");
    assert_eq!((&items[9]["status"], &items[9]["output"]), (&json!("failed"), &json!("no result")));
    assert_eq!(items[10]["output"]["type"], "computer_screenshot");
    assert_eq!(items[11]["tools"], json!([]));
}

#[test]
fn a_shortened_result_keeps_the_shape_of_its_item() {
    let shorten = |raw: Value| {
        let mut message = message(raw);
        let Some(Block::ToolResult(result)) = message.content.first_mut() else { panic!("no result") };
        result.content = vec![Block::text("short")];
        written(&[piece(message)]).0.remove(0)
    };
    let shell = shorten(json!({"type": "shell_call_output", "call_id": "a", "id": "x", "max_output_length": 5,
        "output": [{"stdout": "long", "stderr": "", "outcome": {"type": "timeout"}}]}));
    assert_eq!((&shell["output"][0]["stdout"], &shell["id"]), (&json!("short"), &json!("x")));
    let function = shorten(json!({"type": "function_call_output", "call_id": "a", "id": "x", "output": "long"}));
    assert_eq!(function, json!({"type": "function_call_output", "id": "x", "call_id": "a", "output": "short"}));
}

#[test]
fn an_id_given_by_pairing_replaces_the_items_own() {
    let mut call = message(json!({"type": "shell_call", "call_id": "c", "action": {}}));
    let Some(Block::ToolCall(inner)) = call.content.first_mut() else { panic!("no call") };
    inner.id = "call_9".into();
    assert_eq!(written(&[piece(call)]).0[0]["call_id"], "call_9");
    let long = "x".repeat(100);
    let function = message(json!({"type": "function_call", "call_id": long, "name": "a.b", "arguments": "{}"}));
    let (items, notes) = written(&[piece(function), piece(synthetic(&long))]);
    assert_eq!(items[0]["call_id"], items[1]["call_id"]);
    assert_eq!(items[0]["call_id"].as_str().unwrap().len(), 64);
    assert_eq!(notes, ["call_id_renamed", "tool_name_renamed", "error_flag_dropped"]);
}

#[test]
fn tells_server_tools_of_others_as_text() {
    let raw = json!({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "t", "encrypted_content": "e"}]},
        {"type": "compaction", "content": "c"}]});
    let foreign = anthropic::read(&raw).unwrap().message.unwrap();
    let (items, notes) = written(&[piece(foreign)]);
    assert_eq!(items.len(), 3);
    assert!(items[0].to_string().contains("web_search"));
    assert_eq!(notes, ["server_tool_as_text", "provider_compaction_as_text"]);
}

#[test]
fn media_of_others() {
    let content = vec![
        Block::Document { source: Media { text: Some("plain".into()), ..Media::default() } },
        Block::Document { source: Media { url: Some("https://x/a.pdf".into()), ..Media::default() } },
        Block::Document {
            source: Media { media_type: Some("application/pdf".into()), data: Some("AA".into()), ..Media::default() },
        },
    ];
    let (items, notes) = written(&[piece(Message::new(Role::User, content))]);
    assert_eq!(
        items[0]["content"],
        json!([{"type": "input_text", "text": "plain"}, {"type": "input_file", "file_url": "https://x/a.pdf"},
            {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "document.pdf"}])
    );
    assert_eq!(notes, ["document_as_text"]);
}

#[test]
fn every_made_up_item_comes_back() {
    let (count, refused) = come_back(Source::Own);
    assert_eq!((count > 300, refused), (true, 0), "{count}");
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn every_item_of_the_corpus_comes_back() {
    let (count, refused) = come_back(Source::Shared);
    assert_eq!((count > 300, refused), (true, 1), "{count}, hand-made fixtures");
}

/// How many items there are, and how many of them are refused.
fn come_back(source: Source) -> (usize, usize) {
    let (mut count, mut refusals) = (0, Vec::new());
    for session in &sessions(source, Format::OpenaiResponses) {
        let (items, refused) = read_all(session, |value| crate::format::read_value(Format::OpenaiResponses, value));
        refusals.extend(refused.into_iter().map(|(name, error)| format!("{name}: {error}")));
        for (raw, item) in items {
            count += 1;
            let message = item.message.unwrap();
            let pieces = [piece(message), piece(Message::text(Role::Assistant, "end"))];
            // Recorded from other providers too, whose ids are not this one's.
            let (mut back, notes) = written_with(&pieces, ItemIds::Given);
            back.pop();
            if item.needs_repair {
                println!("repaired {}: {} -> {notes:?}", session.name, raw["type"]);
                assert!(violations(&back).is_empty() || raw["type"] != "message");
            } else {
                assert_eq!((back, notes), (vec![raw.clone()], vec![]), "{}", session.name);
            }
        }
    }
    refusals.iter().for_each(|refusal| println!("refused {refusal}"));
    println!("{count} items");
    (count, refusals.len())
}

#[test]
fn made_up_sessions_of_both_formats_are_written_valid_and_keep_their_calls() {
    keep_their_calls(Source::Own);
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn sessions_of_both_formats_are_written_valid_and_keep_their_calls() {
    keep_their_calls(Source::Shared);
}

fn keep_their_calls(source: Source) {
    for (format, read) in [(Format::OpenaiResponses, read as fn(&Value) -> _), (Format::Anthropic, anthropic::read)] {
        for session in sessions(source, format) {
            let (items, _) = read_all(&session, read);
            let messages: Vec<Message> = items.into_iter().filter_map(|(_, item)| item.message).collect();
            let calls = |messages: &[Message]| -> Vec<(String, Value)> {
                let calls = messages.iter().flat_map(Message::tool_calls).filter(|call| call.kind != CallKind::Server);
                let id = |call: &ToolCall| match call.id.is_empty() {
                    true => crate::format::outgoing::word("", MAX_ID).into_owned(),
                    false => call.id.clone(),
                };
                calls.map(|call| (id(call), call.arguments.clone())).collect()
            };
            let expected = calls(&messages);
            let ids: HashSet<&String> = expected.iter().map(|(id, _)| id).collect();
            if ids.len() < expected.len() {
                println!("left out, ids are used twice: {}", session.name);
                continue;
            }
            let (written, notes) = written(&paired(messages));
            assert_eq!(violations(&written), Vec::<String>::new(), "{} {notes:?}", session.name);
            let back: Vec<Message> = written.iter().map(|item| message(item.clone())).collect();
            assert_eq!(calls(&back), expected, "{}", session.name);
        }
    }
}

/// A framework's own id, which it repeats for every item.
#[test]
fn ids_of_a_framework_are_left_out_and_come_back_to_who_sent_them() {
    let fake = "__fake_id__";
    let part = json!({"type": "output_text", "text": "hello", "annotations": []});
    let items = [
        json!({"role": "user", "content": "go"}),
        json!({"id": fake, "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        json!({"id": fake, "type": "message", "role": "assistant", "status": "completed", "content": [part]}),
        json!({"id": fake, "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "1"}),
        json!({"id": fake, "type": "message", "role": "assistant", "status": "completed", "content": [part]}),
        json!({"id": fake, "type": "reasoning", "summary": [], "encrypted_content": "x"}),
        json!({"id": "lc_1", "type": "web_search_call", "status": "completed", "action": {}}),
        json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}),
    ];
    let texts: Vec<String> = items.iter().map(Value::to_string).collect();
    let pieces: Vec<Piece<'_>> =
        texts.iter().enumerate().map(|(entry, item)| Piece::Verbatim { entry, item: item.as_str().into() }).collect();
    assert_eq!(write_with(&pieces, ItemIds::Given, &mut Vec::new()), texts);

    let sent: Vec<Value> =
        write(&pieces, &mut Vec::new()).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let said = json!({"type": "message", "role": "assistant", "content": "hello"});
    assert_eq!(sent[0], items[0]);
    assert_eq!(sent[1], said, "reasoning that no provider knows is left out");
    assert_eq!(sent[2], json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}));
    assert_eq!([&sent[3], &sent[4]], [&items[4], &said]);
    assert_eq!(sent[5], json!({"type": "reasoning", "summary": [], "encrypted_content": "x"}));
    assert!(sent[6]["id"].as_str().unwrap().starts_with("ws_"), "{}", sent[6]);
    assert_eq!(sent[7], items[8]);
    assert_eq!(sent.len(), 8);
}

#[test]
fn what_another_agent_says_is_told_in_every_format() {
    let item = json!({"type": "agent_message", "author": "/root/worker", "recipient": "/root", "id": "am_1",
        "content": [{"type": "input_text", "text": "The build is green."}, {"type": "encrypted_content", "encrypted_content": "x"}]});
    let text = item.to_string();
    let message = super::read(&item).unwrap().message.unwrap();
    for format in [Format::OpenaiChat, Format::Anthropic, Format::Gemini, Format::Native, Format::Pi] {
        let written = crate::format::write_alone(format, message.clone(), &mut Vec::new()).concat();
        assert!(written.contains("The build is green.") && written.contains("/root/worker"), "{format:?}: {written}");
    }
    assert_eq!(crate::format::write_alone(Format::OpenaiResponses, message, &mut Vec::new()), [text]);
}
