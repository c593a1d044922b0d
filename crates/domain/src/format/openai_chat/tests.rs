use serde_json::{Value, json};

use super::{read, write};
use crate::format::message_of;
use crate::format::write::{Note, Piece};
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Media, Message, Opaque, Role, Stop, ToolCall, ToolResult};

fn message(item: &Value) -> (Message, bool) {
    let item = read(item).unwrap();
    (item.message.unwrap(), item.needs_repair)
}

fn written(messages: &[Message]) -> (Vec<Value>, Vec<&'static str>) {
    let piece = |(at, message): (usize, &Message)| Piece::Message { entry: Some(at), message: message.clone() };
    let pieces: Vec<Piece<'_>> = messages.iter().enumerate().map(piece).collect();
    let mut notes: Vec<Note> = Vec::new();
    let out = write(&pieces, &mut notes).iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (out, notes.iter().map(|note| note.code.into_str()).collect())
}

fn of(role: Role, content: Vec<Block>) -> Message {
    Message { role, content, stop: None, opaque: None }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned(), opaque: None }
}

fn result(content: Vec<Block>) -> ToolResult {
    ToolResult {
        tool_call_id: "a".to_owned(),
        name: None,
        content,
        is_error: false,
        kind: CallKind::Function,
        opaque: None,
    }
}

#[test]
fn what_is_read_is_written_back() {
    let items = [
        json!({ "role": "system", "content": "s" }),
        json!({ "role": "developer", "content": "d" }),
        json!({ "role": "user", "content": [
            { "type": "text", "text": "see" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA", "detail": "low" } },
            { "type": "image_url", "image_url": { "url": "https://example.org/a.png" } },
            { "type": "input_audio", "input_audio": { "data": "BBBB", "format": "wav" } },
            { "type": "file", "file": { "file_id": "file-1" } },
            { "type": "hologram", "depth": 3 },
        ] }),
        json!({ "role": "assistant", "content": "t", "reasoning_content": "hm", "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{ \"x\": 1.0 }" } },
            { "id": "b", "type": "custom", "custom": { "name": "g", "input": "free" } },
            { "id": "c", "type": "later", "later": { "y": 2 } },
        ] }),
        json!({ "role": "assistant", "content": null, "audio": { "id": "audio-1" } }),
        json!({ "role": "assistant", "content": "", "reasoning_content": "only thought" }),
        json!({ "role": "tool", "tool_call_id": "a", "content": "" }),
    ];
    let (messages, repairs): (Vec<Message>, Vec<bool>) = items.iter().map(message).unzip();
    assert!(repairs.iter().all(|repair| !repair));
    assert_eq!(written(&messages), (items.to_vec(), Vec::new()));
}

#[test]
fn calls_keep_their_arguments_as_text_and_as_value() {
    let item = json!({ "role": "assistant", "function_call": { "name": "f", "arguments": "{\"n\": 1e400}" } });
    let (read, repair) = message(&item);
    let call = read.tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.arguments_text.as_deref()), ("", Some("{\"n\": 1e400}")));
    assert!(call.arguments.is_object() && !repair);
    let broken = json!({ "role": "assistant", "tool_calls": [
        { "id": "a", "function": { "name": "f", "arguments": "{oops" } },
        { "id": "b", "function": { "name": "f", "arguments": "" } },
        { "id": "c", "function": { "name": "f", "arguments": { "k": 1 } } },
    ] });
    let (read, repair) = message(&broken);
    assert_eq!(read.tool_calls().next().unwrap().arguments, json!("{oops"));
    assert!(repair);
    let (out, _) = written(&[read]);
    let arguments: Vec<&Value> =
        out[0]["tool_calls"].as_array().unwrap().iter().map(|call| &call["function"]["arguments"]).collect();
    assert_eq!(arguments, ["{\"input\":\"{oops\"}", "{}", "{\"k\":1}"]);
}

#[test]
fn what_a_provider_would_refuse_is_marked() {
    let refused = [
        json!({ "role": "observer", "content": "x" }),
        json!({ "role": "user", "content": "" }),
        json!({ "role": "user", "content": [{ "type": "text", "text": "" }, { "type": "text", "text": "x" }] }),
        json!({ "role": "assistant", "content": null }),
        json!({ "role": "assistant", "content": null, "reasoning_content": "x" }),
        json!({ "role": "assistant", "content": "x", "tool_calls": [] }),
        json!({ "role": "tool", "content": "x" }),
        json!({ "role": "tool", "content": "x", "tool_call_ids": ["a"] }),
        json!({ "role": "tool", "tool_call_id": "a" }),
    ];
    for item in refused {
        assert!(message(&item).1, "{item}");
    }
    let (read, _) = message(&json!({ "role": "tool", "content": "x", "tool_call_ids": ["a"] }));
    assert_eq!(read.tool_results().next().unwrap().tool_call_id, "a");
}

#[test]
fn wrong_types_are_named_by_their_place() {
    let cases = [
        (json!(3), ""),
        (json!({ "content": "x" }), "/role"),
        (json!({ "role": 1 }), "/role"),
        (json!({ "role": "user", "content": 5 }), "/content"),
        (json!({ "role": "user", "content": [{ "type": "text" }] }), "/content/0/text"),
        (json!({ "role": "user", "content": [{ "type": "text", "text": "x" }, 1] }), "/content/1"),
        (json!({ "role": "user", "content": [{ "type": "image_url" }] }), "/content/0/image_url"),
        (json!({ "role": "assistant", "tool_calls": {} }), "/tool_calls"),
        (json!({ "role": "assistant", "tool_calls": [{ "id": "a", "function": {} }] }), "/tool_calls/0/function/name"),
        (json!({ "role": "assistant", "tool_calls": [{ "id": "a" }] }), "/tool_calls/0/function"),
        (json!({ "role": "tool", "tool_call_id": 7 }), "/tool_call_id"),
    ];
    for (item, pointer) in cases {
        assert_eq!(read(&item).unwrap_err().pointer, pointer, "{item}");
    }
}

#[test]
fn refusals_are_speech() {
    let (read, _) = message(&json!({ "role": "assistant", "content": null, "refusal": "no" }));
    assert_eq!((read.plain_text().as_str(), read.stop), ("no", Some(Stop::Refusal)));
}

#[test]
fn media_of_results_follow_the_batch() {
    let image = Media { media_type: Some("image/gif".into()), data: Some("CCCC".into()), ..Media::default() };
    let with_image = result(vec![text("seen"), Block::Image { source: image }]);
    let plain = result(vec![text("one"), text("two")]);
    let messages = [
        of(Role::Tool, vec![Block::ToolResult(with_image)]),
        of(Role::Tool, vec![Block::ToolResult(plain)]),
        Message::text(Role::User, "next"),
    ];
    let (out, notes) = written(&messages);
    let roles: Vec<&Value> = out.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["tool", "tool", "user", "user"]);
    assert_eq!(out[0]["content"], "seen\n(the attachment follows in a user message)");
    assert_eq!(out[1]["content"], "one\ntwo");
    assert_eq!(out[2]["content"][1]["image_url"]["url"], "data:image/gif;base64,CCCC");
    assert_eq!(notes, ["result_media_moved"]);
}

#[test]
fn media_go_out_before_a_stored_message_that_is_no_result() {
    let image = Media { url: Some("https://example.org/a.png".into()), ..Media::default() };
    let message = of(Role::Tool, vec![Block::ToolResult(result(vec![Block::Image { source: image }]))]);
    let pieces = [
        Piece::Message { entry: Some(0), message },
        Piece::Verbatim { entry: 1, item: r#"{"role":"tool","tool_call_id":"b","content":"x"}"#.into() },
        Piece::Verbatim { entry: 2, item: r#"{"role":"user","content":"y"}"#.into() },
    ];
    let out = write(&pieces, &mut Vec::new());
    assert_eq!(out.len(), 4);
    assert!(out[2].contains("example.org") && out[3].contains("\"y\""));
}

#[test]
fn what_chat_can_not_say_is_noted() {
    let server = ToolCall {
        id: "s".to_owned(),
        name: "web_search".to_owned(),
        arguments: json!({ "query": "q" }),
        arguments_text: None,
        kind: CallKind::Server,
        opaque: None,
    };
    let found = ToolResult { kind: CallKind::Server, ..result(vec![text("hits")]) };
    let thought = || Block::Thinking { text: "hm".to_owned(), opaque: None };
    let foreign = Block::Raw(Opaque { format: Format::Anthropic, value: json!({ "type": "x" }) });
    let messages = [
        of(Role::Assistant, vec![thought(), thought(), Block::ToolCall(server), Block::ToolResult(found), foreign]),
        of(Role::Assistant, vec![thought()]),
        of(Role::Tool, vec![Block::ToolResult(ToolResult { is_error: true, ..result(vec![text("bad")]) })]),
        of(Role::User, vec![Block::Document { source: Media { file_id: Some("f".into()), ..Media::default() } }]),
    ];
    let (out, notes) = written(&messages);
    assert_eq!(out.len(), 3);
    assert_eq!(out[2]["content"], "[document not shown]", "a text stands in for what is out of reach");
    let said = out[0]["content"].to_string();
    assert!(said.contains("web_search") && said.contains("hits"));
    let expected = [
        "thinking_dropped",
        "server_tool_as_text",
        "raw_block_dropped",
        "thinking_dropped",
        "empty_message_dropped",
        "error_flag_dropped",
        "media_dropped",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn thinking_does_not_go_without_the_answer_that_could_not_be_written() {
    let item = json!({
        "role": "assistant", "reasoning_content": "hm", "content": [{"type": "image_url", "image_url": {"url": ""}}],
    });
    let shown = message_of(Format::OpenaiChat, &item).unwrap().unwrap();
    assert_eq!(written(&[shown]), (vec![], vec!["media_dropped", "empty_message_dropped"]));
}

#[test]
fn names_that_the_api_refuses_are_replaced() {
    let call = |name: &str| {
        Block::ToolCall(ToolCall {
            id: "a".to_owned(),
            name: name.to_owned(),
            arguments: json!({}),
            arguments_text: None,
            kind: CallKind::Function,
            opaque: None,
        })
    };
    let long = "n".repeat(65);
    let (out, notes) = written(&[of(Role::Assistant, vec![call("a.b"), call(""), call(&long), call("fine-1_")])]);
    let names: Vec<&str> = out[0]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["function"]["name"].as_str().unwrap())
        .collect();
    assert!(names.iter().all(|name| crate::format::outgoing::is_word(name, 64)), "{names:?}");
    assert_eq!(names[3], "fine-1_");
    assert_eq!(notes, ["tool_name_renamed"]);
}

#[test]
fn a_legacy_result_without_a_name_is_repaired() {
    assert!(message(&json!({ "role": "function", "content": "x" })).1);
    assert!(!message(&json!({ "role": "function", "name": "f", "content": "x" })).1);
}
