use proptest::prelude::*;

use super::*;
use crate::model::message::{Message, Role};

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload})
}

#[test]
fn every_line_has_its_kind() {
    let kind = |value: Value| {
        let item = read(&value).unwrap();
        (item.kind, item.message.map(|message| message.role))
    };
    let said = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]});
    assert_eq!(kind(line("response_item", said)), (EntryType::Message, Some(Role::User)));
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    assert_eq!(kind(line("response_item", output)), (EntryType::Message, Some(Role::Tool)));
    assert_eq!(kind(line("response_item", json!({"type": "ghost_snapshot"}))), (EntryType::Custom, None));
    assert_eq!(kind(line("session_meta", json!({"id": "s"}))), (EntryType::SessionInfo, None));
    assert_eq!(kind(line("event_msg", json!({"type": "token_count"}))), (EntryType::Custom, None));
    assert_eq!(kind(line("compacted", json!({"message": "so far"}))), (EntryType::Compaction, None));
    let sealed = line("compacted", json!({"message": "", "replacement_history": []}));
    assert_eq!((kind(sealed.clone()), compaction_record(&sealed)), ((EntryType::Custom, None), None));
}

#[test]
fn what_is_no_line_is_refused_with_its_place() {
    let place = |value: Value| read(&value).unwrap_err().pointer;
    assert_eq!(place(json!([])), "");
    assert_eq!(place(json!({"payload": {}})), "/type");
    assert_eq!(place(line("response_item", json!("x"))), "/payload");
    assert_eq!(place(line("response_item", json!({"type": "function_call"}))), "/payload/call_id");
}

#[test]
fn messages_become_items() {
    let pieces = [Piece::Message { entry: None, message: Message::text(Role::User, "hi") }];
    let lines = write(&pieces, &mut Vec::new());
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&line["type"], &line["payload"]["role"]), (&json!("response_item"), &json!("user")));
    assert_eq!(read(&line).unwrap().message.unwrap().plain_text(), "hi");
}

proptest! {
    #[test]
    fn reading_never_panics(text in any::<String>(), kind in prop::sample::select(vec!["response_item", "compacted", "session_meta", "x"])) {
        for value in [json!(text), json!(null), json!({"type": text}), json!([1]), json!({"message": text})] {
            let line = line(kind, value);
            let _ = (read(&line), compaction_record(&line));
        }
    }
}
