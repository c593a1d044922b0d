use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn media() -> impl Strategy<Value = Media> {
    (any::<bool>(), "[a-z]{1,4}").prop_map(|(inline, word)| match inline {
        true => Media { media_type: Some("image/png".into()), data: Some(word), ..Media::default() },
        false => Media { url: Some(word.clone()), filename: Some(word), ..Media::default() },
    })
}

fn opaque_json() -> impl Strategy<Value = Opaque> {
    (0..Format::ALL.len(), any::<i64>())
        .prop_map(|(format, number)| Opaque { format: Format::ALL[format], value: json!({ "type": "x", "n": number }) })
}

fn part() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[a-z\"\\\\]{1,6}".prop_map(Block::text),
        media().prop_map(|source| Block::Image { source }),
        media().prop_map(|source| Block::Document { source }),
        opaque_json().prop_map(Block::Raw),
    ]
}

fn said() -> impl Strategy<Value = Block> {
    let call = ("[a-z]{1,3}", any::<i32>(), prop::option::of(opaque_json())).prop_map(|(id, number, opaque)| {
        Block::ToolCall(ToolCall {
            name: id.clone(),
            id,
            arguments: json!({ "n": number }),
            arguments_text: None,
            kind: if number > 0 { CallKind::Function } else { CallKind::Custom },
            opaque,
        })
    });
    let thinking =
        ("[a-z]{0,3}", prop::option::of(opaque_json())).prop_map(|(text, opaque)| Block::Thinking { text, opaque });
    prop_oneof![call, thinking, part()]
}

fn answered() -> impl Strategy<Value = Block> {
    let parts = prop::collection::vec(part(), 0..3);
    ("[a-z]{1,3}", parts, any::<bool>()).prop_map(|(id, content, is_error)| {
        let name = is_error.then(|| id.clone());
        Block::ToolResult(ToolResult {
            tool_call_id: id,
            name,
            content,
            is_error,
            kind: CallKind::Function,
            opaque: None,
        })
    })
}

fn message() -> impl Strategy<Value = Message> {
    let of = |role| move |content| Message { role, content, stop: None, opaque: None };
    prop_oneof![
        prop::collection::vec(said(), 1..4).prop_map(|content| Message {
            role: Role::Assistant,
            content,
            stop: Some(Stop::ToolUse),
            opaque: None,
        }),
        prop::collection::vec(answered(), 1..3).prop_map(of(Role::Tool)),
        prop::collection::vec(prop_oneof![part(), answered()], 1..4).prop_map(of(Role::User)),
        prop::collection::vec(part(), 1..3).prop_map(of(Role::BranchSummary)),
    ]
}

proptest! {
    #[test]
    fn a_message_survives_writing_and_reading(message in message()) {
        let item = read(&message_value(&message)).unwrap();
        prop_assert!(!item.needs_repair);
        prop_assert_eq!(item.message, Some(message));
    }
}

#[test]
fn unknown_blocks_come_back_as_they_were() {
    let item = json!({ "role": "user", "content": [{ "type": "poem", "lines": [1.50] }, { "type": "raw", "odd": 1 }] });
    let read = read(&item).unwrap();
    let piece = Piece::Message { entry: None, message: read.message.unwrap() };
    let out = write(&[piece], &mut Vec::new());
    assert_eq!(out, [item.to_string()]);
}

#[test]
fn an_empty_message_is_marked_and_left_out() {
    for content in [json!(null), json!(""), json!([]), json!([{ "type": "text", "text": "" }])] {
        let item = read(&json!({ "role": "user", "content": content })).unwrap();
        assert!(item.needs_repair);
        let mut notes = Vec::new();
        let piece = Piece::Message { entry: Some(3), message: item.message.unwrap() };
        assert!(write(&[piece], &mut notes).is_empty());
        assert_eq!((notes[0].code.into_str(), notes[0].entry), ("empty_message_dropped", Some(3)));
    }
}

#[test]
fn mistakes_are_named_by_their_place() {
    let call = json!({ "type": "tool_call", "id": "a", "name": "f" });
    let result = json!({ "type": "tool_result", "tool_call_id": "a", "content": [call] });
    let cases: [(Value, &str); 9] = [
        (json!([]), ""),
        (json!({ "role": "judge" }), "/role"),
        (json!({ "role": "user", "content": 1 }), "/content"),
        (json!({ "role": "user", "content": [call] }), "/content/0"),
        (json!({ "role": "tool", "content": [{ "type": "text", "text": "x" }] }), "/content/0"),
        (json!({ "role": "tool", "content": [result] }), "/content/0/content/0"),
        (json!({ "role": "user", "content": [{ "type": "image" }] }), "/content/0/source"),
        (json!({ "role": "assistant", "content": [{ "type": "tool_call", "id": "a" }] }), "/content/0/name"),
        (json!({ "role": "assistant", "content": "x", "stop": "tired" }), "/stop"),
    ];
    for (item, pointer) in cases {
        assert_eq!(read(&item).unwrap_err().pointer, pointer, "{item}");
    }
}
