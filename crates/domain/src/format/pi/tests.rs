use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::format::write::Piece;
use crate::model::format::Format;
use crate::model::message::{Block, CallKind, Stop, ToolCall, ToolResult};

fn message_of(value: Value) -> Option<Message> {
    read(&json!({"type": "message", "id": "a", "parentId": null, "message": value})).unwrap().message
}

fn written(pieces: &[Piece<'_>]) -> (Vec<Value>, Vec<&'static str>) {
    let mut notes = Vec::new();
    let lines = write(pieces, &mut notes);
    let values = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    (values, notes.iter().map(|note| note.code.into_str()).collect())
}

fn piece(message: Message) -> Piece<'static> {
    Piece::Message { entry: None, message }
}

#[test]
fn every_type_of_entry_has_its_kind() {
    let kinds = [
        ("session", EntryType::SessionInfo),
        ("compaction", EntryType::Compaction),
        ("branch_summary", EntryType::BranchSummary),
        ("custom", EntryType::Custom),
        ("custom_message", EntryType::CustomMessage),
        ("label", EntryType::Label),
        ("session_info", EntryType::SessionInfo),
        ("model_change", EntryType::ModelChange),
        ("thinking_level_change", EntryType::ThinkingLevelChange),
        ("context_edit", EntryType::Custom),
    ];
    for (name, kind) in kinds {
        let item = read(&json!({"type": name, "id": "a1", "parentId": "a0"})).unwrap();
        assert_eq!((item.kind, item.source_id.as_deref()), (kind, Some("a1")), "{name}");
        let parent = (name != "session").then(|| Some("a0".to_owned()));
        assert_eq!(item.source_parent, parent, "{name}");
        assert_eq!(item.message.is_some(), name == "custom_message", "{name}");
    }
    let root = read(&json!({"type": "label", "id": "a1", "parentId": null})).unwrap();
    assert_eq!(root.source_parent, Some(None));
    assert_eq!(read(&json!({"type": "label"})).unwrap().source_parent, None);
}

#[test]
fn what_is_no_entry_is_refused_with_its_place() {
    let pointer = |value: Value| read(&value).unwrap_err().pointer;
    assert_eq!(pointer(json!([])), "");
    assert_eq!(pointer(json!({"id": "a"})), "/type");
    assert_eq!(pointer(json!({"type": "message"})), "/message");
    assert_eq!(pointer(json!({"type": "message", "message": {}})), "/message/role");
    assert_eq!(pointer(json!({"type": "message", "message": {"role": "user", "content": 7}})), "/message/content");
    assert_eq!(pointer(json!({"type": "message", "message": {"role": "toolResult"}})), "/message/toolCallId");
}

#[test]
fn an_answer_brings_usage_and_stop() {
    let item = read(&json!({"type": "message", "id": "a", "parentId": null, "message": {"role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, {"type": "text", "text": "so"},
            {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x"}}, {"type": "new"}],
        "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 0}, "stopReason": "toolUse"}}))
    .unwrap();
    assert_eq!(item.usage.unwrap().context_tokens(), 10);
    let message = item.message.unwrap();
    assert_eq!((item.stop, message.stop), (Some(Stop::ToolUse), Some(Stop::ToolUse)));
    assert_eq!(message.tool_calls().next().unwrap().arguments, json!({"path": "x"}));
    assert!(matches!(&message.content[0], Block::Thinking { text, opaque: Some(_) } if text == "hm"));
    assert!(matches!(&message.content[3], Block::Raw(opaque) if opaque.value == json!({"type": "new"})));
}

#[test]
fn roles_of_pi_alone() {
    let role = |value: Value| message_of(value).map(|message| message.role);
    assert_eq!(role(json!({"role": "toolResult", "toolCallId": "c", "content": []})), Some(Role::Tool));
    assert_eq!(role(json!({"role": "hookMessage", "content": "x"})), Some(Role::Custom));
    assert_eq!(role(json!({"role": "custom", "content": "x"})), Some(Role::Custom));
    assert_eq!(role(json!({"role": "branchSummary", "summary": "x"})), Some(Role::BranchSummary));
    assert_eq!(role(json!({"role": "branchSummary", "summary": ""})), None);
    assert_eq!(role(json!({"role": "notification", "content": "x"})), None);
}

#[test]
fn a_run_is_told_to_providers_unless_the_user_kept_it_back() {
    let run = |more: Value| {
        let mut value = json!({"role": "bashExecution", "command": "ls", "output": "a\nb", "exitCode": 0});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message_of(value).unwrap()
    };
    let plain = for_provider(run(json!({}))).unwrap();
    assert_eq!(plain.role, Role::User);
    assert!(plain.plain_text().contains("\nls\n") && plain.plain_text().ends_with("\na\nb"));
    assert!(for_provider(run(json!({"exitCode": 2}))).unwrap().plain_text().contains("code 2"));
    assert!(for_provider(run(json!({"cancelled": true, "exitCode": 2}))).unwrap().plain_text().contains("cancelled"));
    let cut = run(json!({"truncated": true, "fullOutputPath": "/tmp/o"}));
    assert!(cut.plain_text().contains("/tmp/o"));
    assert!(!run(json!({"output": ""})).content.contains(&Block::text(String::new())));
    let hidden = run(json!({"excludeFromContext": true}));
    assert!(is_excluded_run(&hidden));
    assert_eq!(run_units(&hidden), 5);
    assert_eq!(for_provider(hidden), None);
}

#[test]
fn a_compaction_says_what_it_kept() {
    let record = compaction_record(&json!({"type": "compaction", "id": "k", "summary": "so far",
        "firstKeptEntryId": "a", "tokensBefore": 9, "fromHook": true,
        "details": {"readFiles": ["r", 7], "modifiedFiles": ["m"]}}))
    .unwrap();
    assert_eq!((record.summary.as_deref(), record.first_kept_entry_id.as_str()), (Some("so far"), "a"));
    assert_eq!((record.tokens_before, record.from_hook), (9, true));
    assert_eq!(
        (record.details.read_files, record.details.modified_files),
        (vec!["r".to_owned()], vec!["m".to_owned()])
    );
    assert!(compaction_record(&json!({"type": "label"})).is_none());
}

#[test]
fn version_1_is_one_chain_with_made_up_ids() {
    let items = [
        json!({"type": "session", "id": "s"}),
        json!({"type": "message", "message": {"role": "user", "content": "a"}}),
        json!({"type": "message", "message": {"role": "user", "content": "b"}}),
        json!({"type": "compaction", "summary": "x", "firstKeptEntryIndex": 2}),
        json!({"type": "compaction", "summary": "x", "firstKeptEntryIndex": 0}),
        json!({"type": "compaction", "summary": "x", "firstKeptEntryIndex": 5}),
    ];
    let links = link(&items).unwrap();
    assert_eq!(links, link(&items).unwrap());
    assert_eq!((links[0].source_id.as_deref(), &links[0].parent), (Some("s"), &None));
    assert_eq!(links[1].parent, Some(None));
    assert_eq!(links[3].parent, Some(links[2].source_id.clone()));
    assert!(links[1..].iter().all(|link| link.source_id.as_ref().unwrap().len() == 8));
    assert_eq!(links[3].first_kept, links[2].source_id, "the index counts the header");
    assert_eq!((&links[4].first_kept, &links[5].first_kept), (&None, &None), "a header or a later entry is none");
}

#[test]
fn later_versions_say_their_places() {
    let entry = |id: &str, parent: Value| json!({"type": "label", "id": id, "parentId": parent});
    let header = json!({"type": "session", "version": 3, "id": "s"});
    let links = link(&[header, entry("a", json!(null)), entry("b", json!("a")), entry("c", json!("c"))]).unwrap();
    let parents: Vec<_> = links.into_iter().map(|link| link.parent).collect();
    assert_eq!(parents, [None, Some(None), Some(Some("a".to_owned())), Some(Some("c".to_owned()))]);
    let more = link(&[entry("d", json!("b")), json!({"type": "label"})]).unwrap();
    assert_eq!(more[0].parent, Some(Some("b".to_owned())));
    assert_eq!(more[1], crate::format::link::Link::default());
    let twice = link(&[entry("a", json!(null)), entry("b", json!(null)), entry("a", json!(null))]).unwrap_err();
    assert_eq!((twice.index, twice.error.pointer.as_str()), (2, "/id"));
}

#[test]
fn stored_entries_go_out_as_they_are_and_others_are_chained_to_them() {
    let stored = r#"{ "type":"message","id":"x1","parentId":"x0","timestamp":"T1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"grep","arguments":{}}],"timestamp":7} }"#;
    let result = Block::ToolResult(ToolResult {
        tool_call_id: "c".to_owned(),
        name: None,
        content: vec![Block::text("none".to_owned())],
        is_error: true,
        kind: Default::default(),
        opaque: None,
    });
    let pieces = [
        piece(Message::text(Role::CompactionSummary, "so far")),
        Piece::Verbatim { entry: 4, item: stored.into() },
        piece(Message { role: Role::Tool, content: vec![result], stop: None, opaque: None }),
        piece(Message::text(Role::User, "go on")),
    ];
    assert_eq!(write(&pieces[1..2], &mut Vec::new()), [stored.replace(r#""x0""#, "null")]);
    let root = [Piece::Verbatim { entry: 0, item: stored.into() }];
    assert_eq!(write(&root, &mut Vec::new()), [stored], "whatever a file begins with");
    let (entries, notes) = written(&pieces);
    assert_eq!(notes, ["parent_changed"], "what came before is behind the summary");
    assert_eq!(write(&pieces, &mut Vec::new())[1], stored.replace(r#""x0""#, &entries[0]["id"].to_string()));
    assert_eq!(entries[0]["parentId"], Value::Null);
    assert_eq!(entries[0]["message"]["role"], "compactionSummary");
    assert_eq!((&entries[2]["parentId"], &entries[2]["timestamp"]), (&json!("x1"), &json!("T1")));
    let answer = json!({"role": "toolResult", "toolCallId": "c", "toolName": "grep",
        "content": [{"type": "text", "text": "none"}], "isError": true, "timestamp": 7});
    assert_eq!(entries[2]["message"], answer);
    assert_eq!(entries[3]["parentId"], entries[2]["id"]);
    assert_ne!(entries[3]["id"], entries[0]["id"]);
}

#[test]
fn what_pi_cannot_hold_is_noted() {
    use crate::model::message::{Media, Opaque};
    let foreign = || Opaque { format: Format::Anthropic, value: json!({}) };
    let content = vec![
        Block::Thinking { text: String::new(), opaque: Some(foreign()) },
        Block::Image { source: Media { url: Some("https://x".to_owned()), ..Media::default() } },
        Block::Document { source: Media::default() },
        Block::Raw(foreign()),
    ];
    let (entries, notes) = written(&[piece(Message { role: Role::Assistant, content, stop: None, opaque: None })]);
    assert!(entries.is_empty());
    assert_eq!(notes, ["thinking_dropped", "image_dropped", "document_dropped", "raw_dropped"]);
}

#[test]
fn a_tool_run_by_another_provider_is_told_in_words() {
    let kind = CallKind::Server;
    let call = ToolCall {
        id: "s".to_owned(),
        name: "web_search".to_owned(),
        arguments: json!({"query": "q"}),
        arguments_text: None,
        kind,
        opaque: None,
    };
    let content = vec![Block::text("found")];
    let result = ToolResult { tool_call_id: "s".to_owned(), name: None, content, is_error: false, kind, opaque: None };
    let content = vec![Block::ToolCall(call), Block::ToolResult(result)];
    let (entries, notes) = written(&[piece(Message { role: Role::Assistant, content, stop: None, opaque: None })]);
    assert_eq!(notes, ["server_tool_as_text"]);
    assert_eq!((entries.len(), &entries[0]["message"]["role"]), (1, &json!("assistant")));
    let told = entries[0]["message"]["content"].as_array().unwrap();
    assert!(told.len() == 2 && told.iter().all(|block| block["type"] == "text"));
}

#[test]
fn an_id_that_is_missing_has_to_be_made_up() {
    let needs_repair = |message: Value| read(&json!({"type": "message", "message": message})).unwrap().needs_repair;
    let call = |id: &str| json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "ls", "arguments": {}}]});
    let result = |id: &str| json!({"role": "toolResult", "toolCallId": id, "content": []});
    assert!(needs_repair(call("")) && needs_repair(result("")));
    assert!(!needs_repair(call("a")) && !needs_repair(result("a")));
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        ".{0,9}".prop_map(|text| json!({"type": "text", "text": text})),
        ".{0,9}".prop_map(|text| json!({"type": "thinking", "thinking": text, "thinkingSignature": "s"})),
        "[a-z]{1,5}"
            .prop_map(|name| json!({"type": "toolCall", "id": name, "name": name, "arguments": {"k": [1, "x"]}})),
        Just(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})),
        Just(json!({"type": "future", "x": 1})),
    ]
}

proptest! {
    #[test]
    fn blocks_survive_reading_and_writing(blocks in prop::collection::vec(block(), 1..6), role in prop::sample::select(vec!["user", "assistant", "custom"])) {
        let value = json!({"role": role, "content": blocks});
        let (entries, notes) = written(&[piece(message_of(value.clone()).unwrap())]);
        prop_assert!(notes.is_empty());
        prop_assert_eq!(&entries[0]["message"]["content"], &value["content"]);
        prop_assert_eq!(&entries[0]["message"]["role"], &value["role"]);
    }

    #[test]
    fn reading_never_panics(value in any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())) {
        let shapes = [json!({"type": value}), json!({"type": "message", "message": {"role": value}}), json!(value)];
        for shape in shapes {
            let _ = (read(&shape), compaction_record(&shape), link(std::slice::from_ref(&shape)));
        }
    }
}
