use serde_json::{Value, json};

use super::*;
use crate::data::Source;
use crate::format::corpus::{paired, read_all, sessions, write_one};
use crate::format::note_code::NoteCode;
use crate::format::openai_responses;
use crate::format::write::{Note, Piece};
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, Stop, ToolCall, ToolResult};

mod checker;
mod reading;
mod systems;

pub(crate) use checker::violations;

fn message(value: Value) -> Message {
    read(&value).unwrap().message.unwrap()
}

fn piece(message: Message) -> Piece<'static> {
    Piece::Message { entry: Some(0), message }
}

fn written(pieces: &[Piece<'_>]) -> (Vec<Value>, Vec<&'static str>) {
    let mut notes = Vec::new();
    let texts = write(pieces, &mut notes);
    let values = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (values, notes.iter().map(|note: &Note| note.code.into_str()).collect())
}

fn call(id: &str, name: &str, arguments: Value) -> Block {
    Block::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        arguments_text: None,
        kind: CallKind::Function,
        opaque: None,
    })
}

fn result(id: &str, text: &str) -> Message {
    let result = ToolResult {
        tool_call_id: id.into(),
        name: None,
        content: vec![Block::text(text)],
        is_error: false,
        kind: CallKind::Function,
        opaque: None,
    };
    Message::new(Role::Tool, vec![Block::ToolResult(result)])
}

#[test]
fn joins_the_results_of_one_batch_in_one_user_message() {
    let calls = Message::new(Role::Assistant, vec![call("a", "ls", json!({})), call("b", "ls", json!({}))]);
    let pieces = [
        piece(Message::text(Role::User, "go")),
        piece(calls),
        piece(result("a", "1")),
        piece(result("b", "2")),
        piece(Message::text(Role::User, "more")),
    ];
    let (messages, notes) = written(&pieces);
    assert_eq!(messages.len(), 4);
    assert_eq!(
        messages[2],
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "2"}]})
    );
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(violations(&messages), Vec::<String>::new());
}

#[test]
fn renames_what_the_api_refuses_alike_on_call_and_result() {
    let pieces = [
        piece(Message::text(Role::User, "go")),
        piece(Message::new(Role::Assistant, vec![call("call|1", "fs.read", json!("free text"))])),
        piece(result("call|1", "x")),
    ];
    let (messages, notes) = written(&pieces);
    let id = messages[1]["content"][0]["id"].as_str().unwrap();
    assert!(crate::format::outgoing::is_word(id, MAX_ID), "{id}");
    assert_eq!(messages[2]["content"][0]["tool_use_id"], id);
    assert_eq!(messages[1]["content"][0]["input"], json!({"input": "free text"}));
    assert_eq!(notes, ["call_id_renamed", "tool_name_renamed", "arguments_wrapped"]);
    let other = piece(Message::new(Role::Assistant, vec![call("call/1", "x", json!({}))]));
    assert_ne!(written(&[other]).0[1]["content"][0]["id"], id);
}

#[test]
fn starts_with_the_user() {
    let assistant = r#"{"role":"assistant","content":"hi"}"#;
    let (messages, notes) = written(&[Piece::Verbatim { entry: 0, item: assistant.into() }]);
    assert_eq!(messages[0]["role"], "user");
    assert_eq!(messages[1], json!({"role": "assistant", "content": "hi"}));
    assert_eq!(notes, ["user_message_inserted"]);
    assert_eq!(written(&[]).0.len(), 0);
}

#[test]
fn passes_on_system_messages_of_other_formats() {
    let (messages, notes) = written(&[piece(Message::text(Role::Developer, "be brief"))]);
    assert_eq!(messages[0]["role"], "user");
    assert!(messages[0]["content"][0]["text"].as_str().unwrap().contains("be brief"));
    assert_eq!(notes, ["system_as_user"]);
    let own = json!({"role": "system", "content": [{"type": "tool_addition", "tool": {"name": "x"}}]});
    let (messages, notes) = written(&[piece(Message::text(Role::User, "go")), piece(message(own.clone()))]);
    assert_eq!((&messages[1], notes), (&own, vec![]));
    let (messages, notes) = written(&[piece(message(own.clone()))]);
    assert_eq!((&messages[0]["role"], &messages[1], notes), (&json!("user"), &own, vec!["user_message_inserted"]));
}

#[test]
fn drops_what_says_nothing() {
    let blank = message(json!({"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": " \n"}]}));
    let half =
        message(json!({"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]}));
    let (messages, notes) = written(&[piece(half), piece(blank)]);
    assert_eq!(messages, [json!({"role": "user", "content": [{"type": "text", "text": "a"}]})]);
    assert_eq!(notes, ["empty_text_dropped", "response_fields_removed", "empty_message_dropped"]);
}

#[test]
fn replays_thinking_of_its_own_only() {
    let own = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let mut mixed = message(json!({"role": "assistant", "content": [own, {"type": "text", "text": "a"}]}));
    let foreign = Opaque { format: Format::OpenaiResponses, value: json!({"type": "reasoning"}) };
    mixed.content.push(Block::Thinking { text: "hm".into(), opaque: Some(foreign.clone()) });
    mixed.content.push(Block::Raw(foreign));
    let (messages, notes) = written(&[piece(Message::text(Role::User, "q")), piece(mixed)]);
    assert_eq!(messages[1]["content"], json!([own, {"type": "text", "text": "a"}]));
    assert_eq!(notes, ["thinking_dropped", "raw_dropped"]);
}

fn server_call(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}})
}

fn server_result(id: &str) -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": id,
        "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}]})
}

#[test]
fn keeps_server_tools_that_are_whole() {
    let question = || piece(Message::text(Role::User, "q"));
    let assistant = |content: Value| piece(message(json!({"role": "assistant", "content": content})));
    let whole = assistant(json!([server_call("s1"), server_result("s1")]));
    assert_eq!(written(&[question(), whole]).1, [""; 0]);

    let halves = [question(), assistant(json!([server_call("s1")])), assistant(json!([server_result("s1")]))];
    let (messages, notes) = written(&halves);
    assert_eq!((messages.len(), notes.len()), (3, 0));

    let around_client_tool = [
        question(),
        assistant(json!([server_call("s1"), {"type": "tool_use", "id": "c", "name": "n", "input": {}}])),
        piece(result("c", "1")),
        assistant(json!([server_result("s1")])),
    ];
    assert_eq!(written(&around_client_tool).1, [""; 0]);

    let paused_at_the_end = [question(), assistant(json!([server_call("s1")]))];
    assert_eq!(written(&paused_at_the_end).1, [""; 0]);

    let text = || json!({"type": "text", "text": "a"});
    let interrupted = [
        question(),
        assistant(json!([text(), server_call("s1")])),
        question(),
        assistant(json!([text(), server_result("s1")])),
    ];
    let (messages, notes) = written(&interrupted);
    assert_eq!(notes, ["server_tool_unpaired", "server_tool_unpaired"]);
    assert_eq!(messages[1]["content"], json!([text()]));
    assert_eq!(messages[3]["content"], json!([text()]));
}

#[test]
fn a_verbatim_user_message_ends_a_paused_turn_and_verbatim_results_do_not() {
    let call = message(json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, server_call("s1")]}));
    let speech = r#"{"role":"user","content":"stop"}"#;
    let results = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"1"}]}"#;
    let opening = || piece(Message::text(Role::User, "q"));
    let notes = |item: &'static str| {
        written(&[opening(), piece(call.clone()), Piece::Verbatim { entry: 2, item: item.into() }]).1
    };
    assert_eq!(notes(speech), ["server_tool_unpaired"]);
    assert_eq!(notes(results), [""; 0]);
}

#[test]
fn tells_server_tools_of_others_as_text() {
    let item = json!({"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{\"q\":1}", "output": "forty-two"});
    let foreign = openai_responses::read(&item).unwrap().message.unwrap();
    let (messages, notes) = written(&[piece(Message::text(Role::User, "q")), piece(foreign)]);
    let text = messages[1]["content"].to_string();
    assert!(text.contains("ask") && text.contains("forty-two"), "{text}");
    assert_eq!(notes, ["server_tool_as_text"]);
}

#[test]
fn writes_images_and_documents_of_others() {
    let media = |media: Media| Block::Image { source: media };
    let content = vec![
        media(Media { url: Some("https://x/y.png".into()), ..Media::default() }),
        media(Media { url: Some("data:image/gif;base64,AAAA".into()), ..Media::default() }),
        Block::Document {
            source: Media { text: Some("plain".into()), filename: Some("a.txt".into()), ..Media::default() },
        },
        media(Media {
            file_id: Some("file-1".into()),
            opaque: Some(Opaque { format: Format::OpenaiResponses, value: json!({"type": "input_image"}) }),
            ..Media::default()
        }),
    ];
    let (messages, notes) = written(&[piece(Message::new(Role::User, content))]);
    assert_eq!(
        messages[0]["content"],
        json!([
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AAAA"}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}, "title": "a.txt"},
            {"type": "text", "text": "[image not shown]"}])
    );
    assert_eq!(notes, ["media_dropped"]);
}

/// The item as the API takes it: what only answers have is gone, empty text and thinking at the end too, results
/// stand first.
fn repaired(item: &Value) -> Option<Value> {
    let mut content = item["content"].clone();
    if let Value::Array(blocks) = &mut content {
        let blank = |block: &Value| block["type"] == "text" && block["text"].as_str().unwrap().trim().is_empty();
        let unsigned =
            |block: &Value| block["type"] == "thinking" && block["signature"].as_str().is_none_or(str::is_empty);
        blocks.retain(|block| !blank(block) && !unsigned(block));
        blocks.sort_by_key(|block| item["role"] == "user" && block["type"] != "tool_result");
        while blocks.last().is_some_and(|block| block["type"] == "thinking" || block["type"] == "redacted_thinking") {
            blocks.pop();
        }
    }
    let empty = content.as_array().is_some_and(Vec::is_empty) || content.is_null() || content == "";
    (!empty).then(|| json!({"role": item["role"], "content": content}))
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
    assert_eq!((count > 4000, refused), (true, 2), "{count}, hand-made fixtures");
}

/// How many items there are, and how many of them are refused.
fn come_back(source: Source) -> (usize, usize) {
    let (mut count, mut refusals, mut renamed) = (0, Vec::new(), 0);
    for session in &sessions(source, Format::Anthropic) {
        let (items, refused) = read_all(session, read);
        refusals.extend(refused.into_iter().map(|(name, error)| format!("{name}: {error}")));
        for (raw, item) in items {
            count += 1;
            // Somebody of the other side speaks before and behind it: what begins and what ends a context has rules of
            // its own, and so have neighbours of one side.
            let mut notes = Vec::new();
            let message = item.message.unwrap();
            let (before, behind) = match message.role {
                Role::Assistant => (Some(Role::User), Role::User),
                Role::System => (Some(Role::User), Role::Assistant),
                _ => (None, Role::Assistant),
            };
            let said = |role: Role| Piece::Message { entry: None, message: Message::text(role, "around") };
            let pieces: Vec<Piece<'_>> = before
                .map(said)
                .into_iter()
                .chain([Piece::Message { entry: Some(0), message }, said(behind)])
                .collect();
            let mut back: Vec<Value> =
                write(&pieces, &mut notes).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            let around = |block: &Value| block["text"] == "around";
            back.retain(|message| !message["content"].as_array().is_some_and(|blocks| blocks.iter().all(around)));
            notes.retain(|note| note.entry.is_some());
            if notes
                .iter()
                .any(|note| note.code == NoteCode::CallIdRenamed || note.code == NoteCode::ServerToolUnpaired)
            {
                renamed += 1;
                continue;
            }
            let expected: Vec<Value> = repaired(raw).into_iter().map(with_ids).collect();
            assert_eq!(back, expected, "{}", session.name);
            assert!(item.needs_repair || (notes.is_empty() && back == [raw.clone()]), "{} {notes:?}", session.name);
        }
    }
    refusals.iter().for_each(|refusal| println!("refused {refusal}"));
    println!("{count} items, {renamed} with renamed ids");
    (count, refusals.len())
}

/// Results without an id get the word that stands for none.
fn with_ids(mut message: Value) -> Value {
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if block["type"] == "tool_result" {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            block["tool_use_id"] = crate::format::outgoing::word(id, MAX_ID).into();
        }
    }
    message
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
    let formats = [(Format::Anthropic, read as fn(&Value) -> _), (Format::OpenaiResponses, openai_responses::read)];
    for (format, read) in formats {
        for session in sessions(source, format) {
            let (items, _) = read_all(&session, read);
            let messages: Vec<Message> = items.into_iter().filter_map(|(_, item)| item.message).collect();
            let expected: Vec<(String, Value)> = messages
                .iter()
                .flat_map(Message::tool_calls)
                .filter(|call| call.kind == CallKind::Function)
                .map(|call| (crate::format::outgoing::word(&call.id, MAX_ID).into_owned(), call.arguments.clone()))
                .collect();
            let (written, notes) = written(&paired(messages));
            assert_eq!(violations(&written), Vec::<String>::new(), "{} {notes:?}", session.name);
            let calls: Vec<(String, Value)> = written
                .iter()
                .flat_map(|message| message["content"].as_array().into_iter().flatten())
                .filter(|block| {
                    block["type"] == "tool_use" && !block["input"].get("input").is_some_and(Value::is_string)
                })
                .map(|block| (block["id"].as_str().unwrap().to_owned(), block["input"].clone()))
                .collect();
            assert_eq!(calls, expected, "{}", session.name);
        }
    }
}

#[test]
fn no_turn_ends_with_thinking() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let say = |role: &str, blocks: Value| json!({"role": role, "content": blocks}).to_string();
    let text = |text: &str| json!({"type": "text", "text": text});
    let items = [
        say("user", json!([text("a")])),
        say("assistant", json!([thought])),
        say("assistant", json!([text("b"), thought, thought])),
        say("user", json!([text("thinking")])),
        say("assistant", json!([thought])),
        say("assistant", json!([thought])),
    ];
    let pieces: Vec<Piece<'_>> =
        items.iter().enumerate().map(|(entry, item)| Piece::Verbatim { entry, item: item.as_str().into() }).collect();
    let mut notes = Vec::new();
    let written = write(&pieces, &mut notes);
    let kept = [&items[0], &items[1], &say("assistant", json!([text("b")])), &items[3]];
    let parse = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(written.iter().map(parse).collect::<Vec<_>>(), kept.map(parse));
    let noted: Vec<_> = notes.iter().map(|note| (note.code.into_str(), note.entry)).collect();
    assert_eq!(noted, [5, 4, 2].map(|entry| ("thinking_dropped", Some(entry))));
}

/// What some languages make of an empty object.
#[test]
fn an_empty_list_of_arguments_is_an_empty_object() {
    for (arguments, input) in [
        (json!([]), json!({})),
        (json!([1]), json!({"input": [1]})),
        (json!(null), json!({})),
        (json!({"a": []}), json!({"a": []})),
    ] {
        let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": arguments});
        let message = message(json!({"role": "assistant", "content": [call]}));
        let (out, notes) = written(&[piece(message.clone())]);
        assert_eq!(out[1]["content"][0]["input"], input, "{out:?}");
        assert_eq!(notes.contains(&"arguments_wrapped"), arguments.is_array());
        let gemini = crate::format::write_alone(Format::Gemini, message, &mut Vec::new()).concat();
        let gemini: Value = serde_json::from_str(&gemini).unwrap();
        assert_eq!(gemini["parts"][0]["functionCall"]["args"], input);
    }
}
