use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::format::corpus::paired;
use crate::format::write::Piece;
use crate::format::{anthropic, openai_chat};
use crate::model::item::Item;
use crate::model::message::{Block, CallKind, Message, Role, ToolCall, ToolResult};

fn item(value: Value) -> Item {
    read(&value).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn message(value: Value) -> Message {
    item(value).message.unwrap()
}

fn written(messages: Vec<Message>) -> (Vec<Value>, Vec<&'static str>) {
    let pieces: Vec<Piece<'_>> =
        messages.into_iter().enumerate().map(|(n, message)| Piece::Message { entry: Some(n), message }).collect();
    let mut notes = Vec::new();
    let texts = write(&pieces, &mut notes);
    let values = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    (values, notes.iter().map(|note| note.code.into_str()).collect())
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

#[test]
fn every_part_is_told_by_its_data() {
    let said = message(json!({"role": "model", "parts": [
        {"text": "hm", "thought": true, "thoughtSignature": "a"},
        {"text": "so", "thoughtSignature": "b"},
        {"functionCall": {"id": "c", "name": "read", "args": {"path": "x"}}, "thoughtSignature": "c"},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"thoughtSignature": "d"},
        {"hologram": {}},
    ]}));
    assert_eq!(said.role, Role::Assistant);
    assert!(matches!(&said.content[0], Block::Thinking { text, opaque: Some(_) } if text == "hm"));
    assert!(matches!(&said.content[1], Block::Text { text, opaque: Some(_) } if text == "so"));
    let calls: Vec<(&str, &str, CallKind)> =
        said.tool_calls().map(|call| (call.id.as_str(), call.name.as_str(), call.kind)).collect();
    assert_eq!(calls, [("c", "read", CallKind::Function), ("", "code_execution", CallKind::Server)]);
    assert!(said.tool_results().next().unwrap().is_error);
    assert!(matches!(&said.content[5], Block::Image { source } if source.data.as_deref() == Some("AAAA")));
    assert!(matches!(&said.content[6], Block::Thinking { text, .. } if text.is_empty()));
    assert!(matches!(&said.content[7], Block::Raw(_)));
}

#[test]
fn a_response_says_its_words_or_its_json() {
    let result = |response: Value| {
        let said =
            message(json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]}));
        assert_eq!(said.role, Role::Tool);
        let result = said.tool_results().next().unwrap().clone();
        (result.plain_text(), result.is_error)
    };
    assert_eq!(result(json!({"output": "x"})), ("x".to_owned(), false));
    assert_eq!(result(json!({"error": "x"})), ("x".to_owned(), true));
    assert_eq!(result(json!({"a": [1.5], "b": 2})), (r#"{"a":[1.5],"b":2}"#.to_owned(), false));
    assert_eq!(result(json!({})), (String::new(), false));
}

#[test]
fn what_is_no_content_is_refused_with_its_place() {
    let place = |value: Value| read(&value).unwrap_err().pointer;
    assert_eq!(place(json!([])), "");
    assert_eq!(place(json!({"role": "assistant", "parts": []})), "/role");
    assert_eq!(place(json!({"role": "user", "content": "hi"})), "/parts");
    assert_eq!(place(json!({"parts": "hi"})), "/parts");
    assert_eq!(place(json!({"parts": ["hi"]})), "/parts/0");
    assert_eq!(place(json!({"parts": [{"text": 7}]})), "/parts/0/text");
    assert_eq!(place(json!({"parts": [{"text": "a", "inlineData": {}}]})), "/parts/0");
    assert_eq!(place(json!({"parts": [{"functionCall": {"name": "f"}}]})), "/parts/0");
    assert_eq!(place(json!({"role": "model", "parts": [{"functionCall": {}}]})), "/parts/0/functionCall/name");
    assert_eq!(place(json!({"role": "model", "parts": [{"functionResponse": {"name": "f"}}]})), "/parts/0");
    let response = json!({"parts": [{"functionResponse": {"name": "f", "response": 7}}]});
    assert_eq!(place(response), "/parts/0/functionResponse/response");
    assert_eq!(place(json!({"parts": [{"fileData": {"mimeType": "a/b"}}]})), "/parts/0/fileData");
    assert!(item(json!({"role": "model"})).needs_repair, "an answer that was cut off before it began");
    assert!(item(json!({"role": "user", "parts": [{"text": ""}]})).needs_repair);
    assert!(!item(json!({"role": "model", "parts": [{"text": "", "thoughtSignature": "s"}]})).needs_repair);
}

#[test]
fn names_may_be_pythons() {
    let call = json!({"role": "model", "parts": [
        {"text": null, "thought_signature": "s", "function_call": {"id": null, "name": "f", "args": {"a": 1}}}]});
    let result = json!({"role": "user", "parts": [
        {"function_response": {"id": null, "name": "f", "response": {"result": "x"}}, "text": null}]});
    let items = vec![user("go"), call, result];
    let (back, notes) = written(items.iter().cloned().map(message).collect());
    assert_eq!((back, notes), (items, vec![]));
}

#[test]
fn nothing_is_made_up_where_calls_have_no_ids() {
    // As a context has them: with the ids that pairing gave.
    let items = [
        user("go"),
        json!({"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": {}}}]}),
    ];
    let mut messages: Vec<Message> = items.iter().cloned().map(message).collect();
    for (n, block) in messages[1].content.iter_mut().enumerate() {
        let Block::ToolCall(call) = block else { panic!() };
        call.id = format!("call_1_{n}");
    }
    let result = |n: usize, text: &str| {
        Block::ToolResult(ToolResult {
            tool_call_id: format!("call_1_{n}"),
            name: None,
            content: vec![Block::text(text)],
            is_error: n == 1,
            kind: CallKind::Function,
            opaque: None,
        })
    };
    messages.push(Message::new(Role::Tool, vec![result(0, "a"), result(1, "b")]));
    let (back, notes) = written(messages);
    assert_eq!((&back[..2], notes), (&items[..], vec![]));
    let results = json!({"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {"output": "a"}}},
        {"functionResponse": {"name": "f", "response": {"error": "b"}}}]});
    assert_eq!(back[2], results);
}

#[test]
fn a_call_of_another_model_goes_with_the_stated_word() {
    let call = ToolCall {
        id: "toolu_1".to_owned(),
        name: "run it".to_owned(),
        arguments: json!("free text"),
        arguments_text: None,
        kind: CallKind::Custom,
        opaque: None,
    };
    let content = vec![Block::Thinking { text: "hm".to_owned(), opaque: None }, Block::ToolCall(call)];
    let result = ToolResult {
        tool_call_id: "toolu_1".to_owned(),
        name: None,
        content: vec![Block::text("ok")],
        is_error: false,
        kind: CallKind::Custom,
        opaque: None,
    };
    let (back, notes) = written(vec![
        Message::new(Role::Assistant, content),
        Message::new(Role::Tool, vec![Block::ToolResult(result)]),
    ]);
    let codes = [
        "thinking_dropped",
        "tool_name_renamed",
        "arguments_wrapped",
        "signature_placeholder",
        "user_message_inserted",
    ];
    assert_eq!(notes, codes);
    let part = &back[1]["parts"][0];
    assert_eq!((&part["thoughtSignature"], &part["functionCall"]["id"]), (&json!(NO_SIGNATURE), &json!("toolu_1")));
    assert_eq!(part["functionCall"]["args"], json!({"input": "free text"}));
    assert_eq!(back[2]["parts"][0]["functionResponse"]["name"], part["functionCall"]["name"]);
}

#[test]
fn calls_join_the_answer_before_them_and_the_running_turn_is_signed() {
    let signed = json!({"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "s"});
    let plain = json!({"functionCall": {"id": "b", "name": "f", "args": {}}});
    let model = |part: &Value| json!({"role": "model", "parts": [part]});
    let result = |id: &str| {
        let response = json!({"id": id, "name": "f", "response": {"output": "x"}});
        json!({"role": "user", "parts": [{"functionResponse": response}]})
    };
    let texts: Vec<String> = [
        user("go"),
        json!({"role": "model", "parts": [{"text": "I look"}]}),
        model(&signed),
        result("a"),
        model(&plain),
        result("b"),
    ]
    .iter()
    .map(Value::to_string)
    .collect();
    let pieces: Vec<Piece<'_>> =
        texts.iter().enumerate().map(|(entry, item)| Piece::Verbatim { entry, item: item.as_str().into() }).collect();
    let mut notes = Vec::new();
    let back = write(&pieces, &mut notes);
    assert_eq!(
        notes.iter().map(|note| note.code.into_str()).collect::<Vec<_>>(),
        ["messages_merged", "signature_placeholder"]
    );
    assert_eq!(serde_json::from_str::<Value>(&back[1]).unwrap()["parts"], json!([{"text": "I look"}, signed]));
    assert_eq!(back[2], texts[3]);
    assert_eq!(serde_json::from_str::<Value>(&back[3]).unwrap()["parts"][0]["thoughtSignature"], NO_SIGNATURE);
    // Where no call is signed, the model asks for none.
    let pieces = [pieces[0].clone(), pieces[4].clone(), pieces[5].clone()];
    assert_eq!(write(&pieces, &mut Vec::new()), [&texts[0], &texts[4], &texts[5]].map(String::clone));
}

#[test]
fn media_go_out_as_they_came_or_as_they_can() {
    let own = json!({"role": "user", "parts": [
        {"inlineData": {"mimeType": "audio/wav", "data": "AAAA", "displayName": "a"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/c"}, "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": "https://a.example/x.pdf"}}]});
    assert_eq!(written(vec![message(own.clone())]), (vec![own.clone()], vec![]));
    let chat = json!({"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://a.example/x.webp"}}]});
    let (back, notes) = written(vec![openai_chat::read(&chat).unwrap().message.unwrap()]);
    let parts = json!([{"inlineData": {"mimeType": "image/jpeg", "data": "AAAA"}},
        {"fileData": {"mimeType": "image/webp", "fileUri": "https://a.example/x.webp"}}]);
    assert_eq!((&back[0]["parts"], notes), (&parts, vec![]));
    // A file that only Gemini keeps.
    let mut notes = Vec::new();
    let pieces = [Piece::Message { entry: Some(0), message: message(own) }];
    anthropic::write(&pieces, &mut notes);
    assert!(notes.iter().any(|note| note.code.into_str() == "media_dropped"));
}

fn text() -> impl Strategy<Value = String> {
    "[a-z ]{1,9}"
}

fn model_part() -> impl Strategy<Value = Value> {
    let signature = prop::option::of(Just("c2ln"));
    let id = prop::option::of("[a-z]{6}");
    prop_oneof![
        text().prop_map(|text| json!({"text": text})),
        text().prop_map(|text| json!({"text": text, "thought": true})),
        text().prop_map(|text| json!({"text": text, "thoughtSignature": "s", "partMetadata": {"k": [1.0]}})),
        Just(json!({"text": "", "thoughtSignature": "s"})),
        Just(json!({"thoughtSignature": "s"})),
        Just(json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}})),
        Just(json!({"executableCode": {"language": "PYTHON", "code": "1"}})),
        Just(json!({"codeExecutionResult": {"outcome": "OUTCOME_OK"}})),
        Just(json!({"toolCall": {"toolType": "GOOGLE_SEARCH", "args": {"q": 1}, "id": "t"}})),
        Just(json!({"future": {"x": 1}, "y": null})),
        (id, "[a-z_][a-z_.:]{0,8}", prop::option::of(Just(json!({"k": [1, "x"], "n": null}))), signature).prop_map(
            |(id, name, args, signature)| {
                let mut part = json!({"functionCall": {"name": name, "willContinue": false}});
                for (key, value) in [("id", id.map(Value::from)), ("args", args)] {
                    if let Some(value) = value {
                        part["functionCall"][key] = value;
                    }
                }
                if let Some(signature) = signature {
                    part["thoughtSignature"] = signature.into();
                }
                part
            }
        ),
    ]
}

/// The parts, each half of what the provider ran with the other half.
fn whole(parts: Vec<Value>) -> Vec<Value> {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    let response = json!({"toolResponse": {"toolType": "GOOGLE_SEARCH", "response": {}, "id": "t"}});
    let with_other = |part: Value| match (part.get("codeExecutionResult"), part.get("toolCall")) {
        (Some(_), _) => vec![code.clone(), part],
        (_, Some(_)) => vec![part, response.clone()],
        _ => vec![part],
    };
    parts.into_iter().flat_map(with_other).collect()
}

fn response() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"output": ""})),
        Just(json!({"content": {"a": 1.50}})),
        Just(json!({"error": "no", "code": 7})),
        text().prop_map(|text| json!({"result": text})),
        text().prop_map(|text| json!({"error": text})),
    ]
}

proptest! {
    #[test]
    fn contents_survive_reading_and_writing(
        parts in prop::collection::vec(model_part(), 1..6),
        extra in prop::option::of(Just(json!({"deep": [1]}))),
    ) {
        let mut content = json!({"role": "model", "parts": whole(parts)});
        if let Some(extra) = extra {
            content["futureField"] = extra;
        }
        // Behind it the user speaks: in a running turn each step wants its first call signed.
        let (back, notes) = written(vec![message(user("go")), message(content.clone()), message(user("and"))]);
        prop_assert_eq!(back, vec![user("go"), content, user("and")]);
        prop_assert!(notes.is_empty());
    }

    #[test]
    fn results_survive_reading_and_writing(responses in prop::collection::vec(response(), 1..4), named in any::<bool>()) {
        let part = |(n, response): (usize, &Value)| {
            let mut part = json!({"functionResponse": {"id": format!("c{n}"), "name": "f", "response": response,
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}});
            if !named {
                part["functionResponse"].as_object_mut().unwrap().shift_remove("parts");
            }
            part
        };
        let parts: Vec<Value> = responses.iter().enumerate().map(part).collect();
        let content = json!({"role": "user", "parts": parts});
        let (back, notes) = written(vec![message(content.clone())]);
        prop_assert_eq!(back, vec![content]);
        prop_assert!(notes.is_empty());
    }

    #[test]
    fn every_other_format_keeps_calls_and_results_paired(parts in prop::collection::vec(model_part(), 1..6)) {
        let messages = vec![message(user("go")), message(json!({"role": "model", "parts": parts}))];
        let pieces = paired(messages);
        for format in Format::OF_CONTEXTS.iter().copied() {
            let texts = crate::format::write(format, &pieces, &mut Vec::new());
            let read = texts.iter().map(|text| crate::format::read(format, text).unwrap());
            let messages: Vec<Message> = read.filter_map(|item| item.message).collect();
            let calls = messages.iter().flat_map(Message::tool_calls).filter(|call| call.kind != CallKind::Server).count();
            let results = messages.iter().flat_map(Message::tool_results).filter(|one| one.kind != CallKind::Server).count();
            prop_assert_eq!(calls, results, "{:?}", format);
        }
    }

    #[test]
    fn reading_never_panics(text in any::<String>(), other in prop::sample::select(vec!["functionCall", "functionResponse", "inlineData", "text"])) {
        let values = [json!(text), json!(null), json!({}), json!([]), json!(1), json!({"name": text, "args": [], "id": 1})];
        for value in values {
            for role in ["user", "model", "function", "x"] {
                let content = json!({"role": role, "parts": [{other: value.clone(), "thoughtSignature": value}]});
                let _ = read(&content).map(|item| written(item.message.into_iter().collect()));
            }
        }
    }
}
