use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::format::link::Link;
use crate::format::write::Piece;
use crate::model::message::Role;

fn line(id: &str, parent: Value, kind: &str, content: Value) -> Value {
    json!({"type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
        "message": {"role": kind, "content": content}})
}

fn answer(id: &str, parent: &str, message: &str, call: &str) -> Value {
    let mut line =
        line(id, json!(parent), "assistant", json!([{"type": "tool_use", "id": call, "name": "Read", "input": {}}]));
    line["message"]["id"] = json!(message);
    line
}

fn result(id: &str, parent: &str, call: &str) -> Value {
    line(id, json!(parent), "user", json!([{"type": "tool_result", "tool_use_id": call, "content": "x"}]))
}

/// Whom each line hangs under, by place; `None` for roots.
fn tree(lines: &[Value]) -> Vec<Option<usize>> {
    let links = link(lines).unwrap();
    let mut last = None;
    let mut parents = Vec::new();
    for (place, link) in links.iter().enumerate() {
        parents.push(match &link.parent {
            None => last,
            Some(None) => None,
            Some(Some(id)) => links.iter().position(|other| other.source_id.as_ref() == Some(id)),
        });
        if !link.is_aside {
            last = Some(place);
        }
    }
    parents
}

#[test]
fn every_line_has_its_kind() {
    let kind = |value: Value| {
        let item = read(&value).unwrap();
        (item.kind, item.message.map(|message| message.role))
    };
    assert_eq!(kind(line("a", Value::Null, "user", json!("hi"))), (EntryType::Message, Some(Role::User)));
    assert_eq!(kind(result("a", "b", "c")), (EntryType::Message, Some(Role::Tool)));
    let mut summary = line("a", json!("b"), "user", json!("so far"));
    summary["isCompactSummary"] = json!(true);
    assert_eq!(kind(summary.clone()), (EntryType::Compaction, None));
    assert_eq!(compaction_record(&summary).unwrap().summary.as_deref(), Some("so far"));
    let mut failed = line("a", json!("b"), "assistant", json!([{"type": "text", "text": "API Error"}]));
    failed["isApiErrorMessage"] = json!(true);
    assert_eq!(kind(failed), (EntryType::Custom, None));
    assert_eq!(kind(json!({"type": "summary", "summary": "title", "leafUuid": "a"})), (EntryType::SessionInfo, None));
    assert_eq!(kind(json!({"type": "file-history-snapshot", "snapshot": {}})), (EntryType::Custom, None));
    assert_eq!(kind(json!({"type": "hologram"})), (EntryType::Custom, None));
}

#[test]
fn what_is_no_line_is_refused_with_its_place() {
    let place = |value: Value| read(&value).unwrap_err().pointer;
    assert_eq!(place(json!([])), "");
    assert_eq!(place(json!({"uuid": "a"})), "/type");
    assert_eq!(place(json!({"type": "user", "uuid": 7})), "/uuid");
    assert_eq!(place(json!({"type": "user"})), "/message");
    assert_eq!(place(json!({"type": "user", "message": {"role": "assistant", "content": "x"}})), "/message/role");
    assert_eq!(place(json!({"type": "user", "message": {"role": "user", "content": 7}})), "/message/content");
    let twice =
        link(&[line("a", Value::Null, "user", json!("x")), line("a", Value::Null, "user", json!("y"))]).unwrap_err();
    assert_eq!((twice.index, twice.error.pointer.as_str()), (1, "/uuid"));
}

#[test]
fn parallel_calls_and_their_results_are_one_path() {
    let lines = [
        line("u", Value::Null, "user", json!("go")),
        answer("a1", "u", "m1", "c1"),
        answer("a2", "a1", "m1", "c2"),
        result("r1", "a1", "c1"),
        json!({"type": "progress", "uuid": "p", "parentUuid": "a2", "data": {}}),
        result("r2", "a2", "c2"),
        answer("b1", "r2", "m2", "c3"),
    ];
    assert_eq!(tree(&lines), [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)]);
}

#[test]
fn a_question_asked_again_is_a_branch() {
    let lines = [
        line("u", Value::Null, "user", json!("go")),
        answer("a", "u", "m1", "c1"),
        result("r", "a", "c1"),
        line("b", json!("r"), "assistant", json!([{"type": "text", "text": "one"}])),
        json!({"type": "file-history-snapshot", "snapshot": {}}),
        line("v", json!("b"), "user", json!("more")),
        line("w", json!("b"), "user", json!("other")),
        line("x", json!("x"), "user", json!("itself")),
        line("y", json!("nowhere"), "user", json!("lost")),
    ];
    let links = link(&lines).unwrap();
    assert_eq!(tree(&lines)[..7], [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(3)]);
    assert_eq!(links[7].parent, Some(Some("x".to_owned())));
    assert_eq!(links[8].parent, Some(Some("nowhere".to_owned())));
    assert_eq!(link(&[json!({"type": "system", "uuid": "z"})]).unwrap()[0].parent, None, "names none: it follows");
}

#[test]
fn subagents_stand_aside() {
    let mut aside = line("s", Value::Null, "user", json!("look"));
    aside["isSidechain"] = json!(true);
    let lines =
        [line("u", Value::Null, "user", json!("go")), aside.clone(), line("v", json!("u"), "user", json!("more"))];
    let links = link(&lines).unwrap();
    assert_eq!(links.iter().map(|link| link.is_aside).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(tree(&lines), [None, None, Some(0)]);
    assert!(!link(&[aside]).unwrap()[0].is_aside, "a subagent's own file");
}

#[test]
fn a_compaction_hangs_under_what_was_before_it() {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "uuid": "k", "parentUuid": null,
        "logicalParentUuid": "v", "compactMetadata": {"preservedSegment": {"headUuid": "v"}}});
    let mut summary = line("s", json!("k"), "user", json!("so far"));
    summary["isCompactSummary"] = json!(true);
    let lines =
        [line("u", Value::Null, "user", json!("go")), line("v", json!("u"), "user", json!("more")), boundary, summary];
    let links = link(&lines).unwrap();
    assert_eq!(tree(&lines), [None, Some(0), Some(1), Some(2)]);
    assert_eq!(links[3].first_kept.as_deref(), Some("v"));
    assert_eq!(link(&[json!({"type": "mode"})]).unwrap(), [Link::default()]);
}

proptest! {
    #[test]
    fn messages_survive_writing_and_reading(text in ".{1,20}", role in prop::sample::select(vec![Role::User, Role::Assistant])) {
        prop_assume!(!text.trim().is_empty());
        let message = crate::model::message::Message::text(role, text);
        let lines = write(&[Piece::Message { entry: None, message: message.clone() }], &mut Vec::new());
        let back = read(&serde_json::from_str(&lines[0]).unwrap()).unwrap().message.unwrap();
        prop_assert_eq!((back.role, back.content), (message.role, message.content));
    }

    #[test]
    fn reading_and_linking_never_panics(text in any::<String>(), kind in prop::sample::select(vec!["user", "assistant", "system", "summary", "x"])) {
        for value in [json!(text), json!(null), json!({}), json!([1]), json!({"role": kind, "content": text})] {
            let line = json!({"type": kind, "uuid": value, "parentUuid": text, "message": value, "isCompactSummary": true});
            let _ = (read(&line), compaction_record(&line), link(&[line.clone(), line]));
        }
    }
}
