use serde_json::{Value, json};

use super::*;
use crate::format;
use crate::model::format::Format;

fn shaped(item: &Value, seq: i64, open: &mut OpenCalls) -> (Shape, Vec<String>) {
    let item = format::read(Format::OpenaiChat, &item.to_string()).unwrap();
    let shape = Shape::of(&item, seq, open, &[7]);
    let orphans = open.apply(seq, &shape);
    let orphans = orphans.into_iter().map(|place| shape.results[place].call_id.clone()).collect();
    (shape, orphans)
}

fn calls(names: &[&str], ids: &[&str]) -> Value {
    let calls: Vec<Value> = names
        .iter()
        .zip(ids)
        .map(|(name, id)| json!({ "id": id, "function": { "name": name, "arguments": "{}" } }))
        .collect();
    json!({ "role": "assistant", "tool_calls": calls })
}

#[test]
fn calls_without_an_id_are_named_by_their_entry() {
    let mut open = OpenCalls::default();
    let (shape, _) = shaped(&calls(&["f", "g", "f"], &["", "own", ""]), 12, &mut open);
    let ids: Vec<&str> = shape.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_12", "own", "call_12_1"]);
    assert!(is_generated_id("call_12", 12) && is_generated_id("call_12_1", 12));
    assert!(!is_generated_id("own", 12) && !is_generated_id("call_123", 12));
}

#[test]
fn results_without_an_id_find_the_newest_call_of_their_name() {
    let mut open = OpenCalls::default();
    shaped(&calls(&["f"], &["old"]), 0, &mut open);
    shaped(&json!({ "role": "assistant", "function_call": { "name": "f", "arguments": "{}" } }), 1, &mut open);
    let result = json!({ "role": "function", "name": "f", "content": "x" });
    let (shape, orphans) = shaped(&result, 2, &mut open);
    assert_eq!((shape.results[0].call_id.as_str(), shape.results[0].tokens), ("call_1", 7));
    assert!(orphans.is_empty() && !shape.needs_repair);
    let (shape, _) = shaped(&result, 3, &mut open);
    assert_eq!(shape.results[0].call_id, "old");
    assert!(shape.needs_repair, "a named call wants a named result");
    let (shape, orphans) = shaped(&result, 4, &mut open);
    assert_eq!((shape.results[0].call_id.as_str(), orphans), ("", vec![String::new()]));
}

#[test]
fn results_without_id_and_name_come_in_the_order_of_the_calls() {
    let mut open = OpenCalls::default();
    shaped(&calls(&["f", "g"], &["", ""]), 5, &mut open);
    let result = json!({ "role": "tool", "content": "x" });
    assert_eq!(shaped(&result, 6, &mut open).0.results[0].call_id, "call_5");
    assert_eq!(shaped(&result, 7, &mut open).0.results[0].call_id, "call_5_1");
}

#[test]
fn orphans_are_told_and_open_calls_are_bounded() {
    let mut open = OpenCalls::default();
    let orphan = json!({ "role": "tool", "tool_call_id": "x", "content": "" });
    assert_eq!(shaped(&orphan, 0, &mut open).1, ["x"]);
    for seq in 0..5_000 {
        shaped(&calls(&["f"], &[&format!("c{seq}")]), seq, &mut open);
    }
    assert_eq!(open.iter().count(), OpenCalls::LIMIT);
    assert_eq!(open.iter().next().unwrap().id, "c904");
    shaped(&calls(&["f"], &["c4999"]), 6_000, &mut open);
    assert_eq!(open.iter().filter(|call| call.id == "c4999").count(), 1, "a reused id waits once");
}

#[test]
fn ids_go_back_on_a_message_read_again() {
    let item = calls(&["f", "g"], &["", "own"]);
    let (shape, _) = shaped(&item, 3, &mut OpenCalls::default());
    let mut message = format::read(Format::OpenaiChat, &item.to_string()).unwrap().message.unwrap();
    apply_shape(&mut message, &shape);
    let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_3", "own"]);
}

#[test]
fn a_shape_survives_storage() {
    let mut open = OpenCalls::default();
    let (shape, _) = shaped(&calls(&["f"], &["a"]), 0, &mut open);
    let stored = serde_json::to_string(&(&shape, &open)).unwrap();
    assert_eq!(serde_json::from_str::<(Shape, OpenCalls)>(&stored).unwrap(), (shape, open));
    assert_eq!(serde_json::to_string(&Shape::default()).unwrap(), "{}");
}

#[test]
fn mixed_means_results_and_something_else() {
    let result = json!({ "type": "tool_result", "tool_call_id": "a", "content": "x" });
    let shape = |content: Value| {
        let item = json!({ "role": "user", "content": content });
        Shape::of(&format::native::read(&item).unwrap(), 0, &OpenCalls::default(), &[])
    };
    assert!(shape(json!([result, { "type": "text", "text": "and" }])).mixed);
    assert!(!shape(json!([result])).mixed);
    assert!(shape(json!("plain")).is_trivial());
}

#[test]
fn system_messages_are_told_apart_by_what_they_change() {
    let kind = |item: Value| {
        let item = format::read(Format::Anthropic, &item.to_string()).unwrap();
        Shape::of(&item, 0, &OpenCalls::default(), &[]).opening
    };
    let system = |content: Value| json!({"role": "system", "content": content});
    let tool = |change: &str, name: &str| json!({"type": change, "tool": {"name": name}});
    let words = json!({"type": "text", "text": "Use it no more."});
    let configured = |effort: &str| json!({"role": "system", "content": [{"type": "text", "text": "Think."}], "output_config": {"effort": effort}});
    let added = kind(system(json!([tool("tool_addition", "a")])));
    assert_eq!(added, kind(system(json!([tool("tool_removal", "a")]))), "the newest of the same tool holds");
    assert_eq!(configured("low")["role"], "system");
    assert_eq!(kind(configured("low")), kind(configured("high")));
    let mut all = vec![
        added,
        kind(system(json!([tool("tool_addition", "b")]))),
        kind(system(json!([words.clone(), tool("tool_removal", "a")]))),
        kind(system(json!([words]))),
        kind(configured("low")),
        kind(system(json!("Think."))),
    ];
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
}
