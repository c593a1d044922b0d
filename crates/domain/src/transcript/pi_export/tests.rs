use std::collections::{HashMap, HashSet};

use chrono::DateTime;

use super::entries::ITEM;
use super::*;
use crate::format::{self, pi};
use crate::model::entry_type::EntryType;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::Shape;

/// A file of these entries: parent (by place), format, item and, for a compaction, its record.
#[derive(Default)]
struct Session(Vec<(Entry, Option<CompactionRecord>, Option<String>)>);

impl Session {
    fn add(&mut self, parent: Option<usize>, source_format: Format, item: impl Into<String>) -> usize {
        let (place, item) = (self.0.len(), item.into());
        let read = format::read(source_format, &item).ok();
        let shape = read.as_ref().map(|item| Shape::of(item, 0, &OpenCalls::default(), &[0; 9])).unwrap_or_default();
        let head = EntryMeta {
            id: Uuid::from_u128(place as u128 + 1),
            seq: place as i64,
            depth: place as i64,
            kind: read.as_ref().map_or(EntryType::Compaction, |item| item.kind),
            role: read.as_ref().and_then(|item| item.message.as_ref()).map(|message| message.role),
            tokens: 0,
            path_tokens: 0,
            usage: None,
            shape,
        };
        let entry = Entry {
            head,
            parent_id: parent.map(|parent| Uuid::from_u128(parent as u128 + 1)),
            source_id: read.and_then(|item| item.source_id),
            source_format,
            item,
            created_at: DateTime::UNIX_EPOCH,
        };
        self.0.push((entry, None, None));
        place
    }

    fn pi(&mut self, parent: Option<usize>, item: Value) -> usize {
        self.add(parent, Format::Pi, item.to_string())
    }

    fn compaction(&mut self, parent: usize, record: CompactionRecord) -> usize {
        let place = self.add(Some(parent), Format::Native, json!(record).to_string());
        self.0[place].1 = Some(record);
        place
    }

    fn write(&self, leaf: Option<usize>) -> Vec<Value> {
        let known = self.0.iter().map(|(entry, record, _)| ExportedEntry {
            head: &entry.head,
            parent_id: entry.parent_id,
            source_format: entry.source_format,
            source_id: entry.source_id.as_deref(),
            record: record.as_ref(),
        });
        let at = DateTime::UNIX_EPOCH;
        let origin = Origin { session_id: Uuid::from_u128(99), created_at: at, updated_at: at };
        let mut exporter = Exporter::new(leaf.map(|leaf| Uuid::from_u128(leaf as u128 + 1)), origin);
        known.for_each(|entry| exporter.know(&entry));
        for (entry, record, label) in &self.0 {
            exporter.push(&Exported { entry, record: record.as_ref(), label: label.as_deref() });
        }
        let text = exporter.header() + &exporter.take_lines() + &exporter.finish();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn say(id: &str, role: &str) -> Value {
    json!({"type": "message", "id": id, "parentId": null, "timestamp": "t", "message": {"role": role, "content": "x"}})
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["id"].as_str().unwrap()).collect()
}

#[test]
fn older_versions_become_the_newest() {
    let mut session = Session::default();
    let header = session.pi(None, json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/x", "more": 1}));
    let mut hook = say("a", "hookMessage");
    hook.as_object_mut().unwrap().shift_remove("timestamp");
    let first = session.pi(Some(header), hook);
    let old = json!({"type": "compaction", "id": "k", "summary": "S", "firstKeptEntryIndex": 1, "tokensBefore": 5});
    let compaction = session.pi(Some(first), old.clone());
    let mut record = pi::compaction_record(&old).unwrap();
    record.first_kept_entry_id = Uuid::from_u128(2).to_string();
    session.0[compaction].1 = Some(record);
    let lines = session.write(Some(compaction));
    assert_eq!(lines[0], json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/x", "more": 1, "version": 3}));
    assert_eq!(lines[1]["message"]["role"], "custom");
    assert_eq!((&lines[1]["parentId"], &lines[1]["timestamp"]), (&Value::Null, &json!("1970-01-01T00:00:00.000Z")));
    assert_eq!((&lines[2]["firstKeptEntryId"], &lines[2]["parentId"]), (&json!("a"), &json!("a")));
    assert_eq!(lines[2].get("firstKeptEntryIndex"), None);
}

#[test]
fn every_id_is_there_once_and_every_line_is_one() {
    let mut session = Session::default();
    let first =
        session.add(None, Format::Pi, "{\"type\":\"custom\",\n \"id\":\"a\",\n\"parentId\":null,\"timestamp\":\"t\"}");
    let again = session.pi(Some(first), say("a", "user"));
    let header = session.pi(Some(again), json!({"type": "session", "id": "s", "timestamp": "t", "cwd": "/x"}));
    let second = session.pi(Some(header), json!({"type": "session", "id": "s2"}));
    let last = session.add(Some(second), Format::Native, r#"{"role":"user","content":"y"}"#);
    let lines = session.write(Some(last));
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(ids(&lines)[..2], ["s", "a"], "the header is the first line wherever it came");
    assert_eq!(ids(&lines).iter().collect::<HashSet<_>>().len(), 5);
    assert_eq!((&lines[2]["parentId"], &lines[3]["parentId"]), (&json!("a"), &lines[2]["id"]));
    assert_eq!((&lines[3]["type"], &lines[3]["data"]["id"]), (&json!("custom"), &json!("s2")), "a second header");
    assert_eq!(lines[4]["parentId"], lines[3]["id"]);
    assert_eq!(lines, session.write(Some(last)), "the same file each time");
}

#[test]
fn the_leaf_is_last_or_a_mark_under_it() {
    let mut session = Session::default();
    let root = session.pi(None, say("a", "user"));
    let left = session.pi(Some(root), say("b", "assistant"));
    session.pi(Some(root), say("c", "assistant"));
    assert_eq!(ids(&session.write(Some(left)))[1..], ["a", "c", "b"]);
    let inner = session.write(Some(root));
    let mark = inner.last().unwrap();
    assert_eq!((&mark["type"], &mark["customType"], &mark["parentId"]), (&json!("custom"), &json!(LEAF), &json!("a")));
    assert_eq!(session.write(None).last().unwrap()["parentId"], Value::Null);
    assert_eq!(Session::default().write(None).len(), 1, "a header alone");
}

#[test]
fn compactions_say_what_pi_can_and_keep_the_rest() {
    let mut session = Session::default();
    let first = session.add(None, Format::OpenaiChat, r#"{"role":"user","content":"Never push."}"#);
    let calls = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"run","arguments":"{}"}}]}"#;
    let call = session.add(Some(first), Format::OpenaiChat, calls);
    let result = session.add(Some(call), Format::OpenaiChat, r#"{"role":"tool","tool_call_id":"c","content":"done"}"#);
    let masked = CompactionRecord { first_kept_entry_id: Uuid::from_u128(1).to_string(), ..Default::default() };
    let mask = session.compaction(result, masked.clone());
    let summary = CompactionRecord {
        summary: Some("Notes.".into()),
        anchors: vec![Uuid::from_u128(1)],
        first_kept_entry_id: Uuid::from_u128(3).to_string(),
        ..masked.clone()
    };
    let compaction = session.compaction(mask, summary);
    let revert = CompactionRecord { reverts: Some(Uuid::from_u128(compaction as u128 + 1)), ..masked.clone() };
    let revert = session.compaction(compaction, revert);
    let after = session.add(Some(revert), Format::OpenaiChat, r#"{"role":"user","content":"go on"}"#);
    let lines = session.write(Some(after));
    assert_eq!((&lines[3]["message"]["toolName"], &lines[3]["message"]["toolCallId"]), (&json!("run"), &json!("c")));
    assert_eq!((&lines[4]["type"], &lines[4]["customType"]), (&json!("custom"), &json!(ITEM)), "nothing but masked");
    let summary = lines[5]["summary"].as_str().unwrap();
    assert!(summary.contains("Never push.") && summary.ends_with("Notes."), "{summary}");
    assert_eq!(lines[5]["firstKeptEntryId"], lines[3]["id"]);
    assert_eq!(lines.len(), 7, "a compaction taken back at once leaves no line");
    assert_eq!(lines[6]["parentId"], lines[4]["id"], "and what follows does not hang under it");

    // Taken back later, it stands in the way: the newest compaction says that the history is whole.
    let late = CompactionRecord { reverts: Some(Uuid::from_u128(compaction as u128 + 1)), ..masked };
    let between = session.add(Some(compaction), Format::OpenaiChat, r#"{"role":"user","content":"between"}"#);
    let late = session.compaction(between, late);
    let line = session.write(Some(late)).pop().unwrap();
    assert_eq!((&line["type"], &line["firstKeptEntryId"]), (&json!("compaction"), &lines[1]["id"]));
}

#[test]
fn labels_are_as_they_should_be() {
    let mut session = Session::default();
    let first = session.pi(None, say("a", "user"));
    let second = session.pi(Some(first), say("b", "assistant"));
    let label = |id: &str, target: &str, label: &str| json!({"type": "label", "id": id, "parentId": "b", "timestamp": "t", "targetId": target, "label": label});
    let third = session.pi(Some(second), label("c", "a", "kept"));
    let last = session.pi(Some(third), label("d", "b", "cleared later"));
    session.0[first].2 = Some("kept".into());
    session.0[third].2 = Some("new".into());
    let lines = session.write(Some(last));
    let labels: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "label")
        .map(|line| (&line["targetId"], line.get("label")))
        .collect();
    let expected = [("a", Some("kept")), ("b", Some("cleared later")), ("b", None), ("c", Some("new"))];
    assert_eq!(labels.len(), 4);
    assert_eq!(lines.last().unwrap()["parentId"], "d", "a mark: the newest label of a target is the last one");
    for (found, wanted) in labels.iter().zip(expected) {
        assert_eq!((found.0.as_str().unwrap(), found.1.and_then(Value::as_str)), wanted);
    }
}

#[test]
fn other_formats_take_items_as_they_came_or_in_their_own_words() {
    let mut session = Session::default();
    let own = session.add(None, Format::Anthropic, "{\"role\":\"user\",\n\"content\":\"hé\"}");
    let entry = &session.0[own].0;
    assert_eq!(as_items(entry, Format::Anthropic, &HashMap::new()), ["{\"role\":\"user\", \"content\":\"hé\"}"]);
    let chat: Value = serde_json::from_str(&as_items(entry, Format::OpenaiChat, &HashMap::new())[0]).unwrap();
    assert_eq!(chat, json!({"role": "user", "content": "hé"}));
    let label = session.pi(None, json!({"type": "label", "id": "l", "targetId": "a"}));
    assert_eq!(as_items(&session.0[label].0, Format::Anthropic, &HashMap::new()), Vec::<String>::new());
}

#[test]
fn a_call_id_that_is_used_again_names_the_nearest_tool() {
    let call = |name: &str| {
        json!({"role": "assistant", "content": null, "tool_calls":
            [{"id": "call_0", "type": "function", "function": {"name": name, "arguments": "{}"}}]})
        .to_string()
    };
    let result = json!({"role": "tool", "tool_call_id": "call_0", "content": "done"}).to_string();
    let mut session = Session::default();
    let mut last = None;
    for name in ["read", "write"] {
        last = Some(session.add(last, Format::OpenaiChat, call(name)));
        last = Some(session.add(last, Format::OpenaiChat, result.as_str()));
    }
    // On another branch, written last.
    let other = session.add(Some(1), Format::OpenaiChat, call("grep"));
    let other = session.add(Some(other), Format::OpenaiChat, result.as_str());
    let lines = session.write(Some(other));
    let named = |line: &Value| line.pointer("/message/toolName").and_then(Value::as_str).map(str::to_owned);
    assert_eq!(lines.iter().filter_map(named).collect::<Vec<_>>(), ["read", "write", "grep"]);
}

#[test]
fn provider_tools_are_told_as_in_a_context() {
    let blocks = json!([
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}]);
    let item = json!({"role": "assistant", "content": blocks}).to_string();
    let mut session = Session::default();
    session.add(None, Format::Anthropic, item.as_str());
    let message = format::read(Format::Anthropic, &item).unwrap().message.unwrap();
    let pieces = [format::write::Piece::Message { entry: None, message }];
    let shown: Value = serde_json::from_str(&pi::write(&pieces, &mut Vec::new())[0]).unwrap();
    assert_eq!(session.write(Some(0))[1]["message"]["content"], shown["message"]["content"]);
}

#[test]
fn system_messages_behind_a_summary_are_carried_by_it() {
    let item = |role: &str, text: &str| json!({"role": role, "content": text}).to_string();
    let id = |place: usize| Uuid::from_u128(place as u128 + 1);
    let mut session = Session::default();
    let pinned = session.add(None, Format::OpenaiChat, item("system", "speak French"));
    let old = session.add(Some(pinned), Format::OpenaiChat, item("system", "forget this"));
    let kept = session.add(Some(old), Format::OpenaiChat, item("user", "go on"));
    let system = session.add(Some(kept), Format::OpenaiChat, item("developer", "be brief"));
    let record = CompactionRecord {
        anchors: vec![id(pinned)],
        summary: Some("notes".to_owned()),
        first_kept_entry_id: id(kept).to_string(),
        ..CompactionRecord::default()
    };
    let compaction = session.compaction(system, record);
    let lines = session.write(Some(compaction));
    let line = lines.iter().find(|line| line["type"] == "compaction").unwrap();
    assert_eq!(line["systemMessage"]["content"], "speak French\n\nbe brief");
    assert_eq!((&line["systemMessage"]["role"], &line["summary"]), (&json!("system"), &json!("notes")));
}
