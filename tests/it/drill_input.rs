//! Odd but lawful JSON comes back as it came; what is refused is named and leaves nothing behind.

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};
use crate::drill_support::*;

/// Texts inside items that JSON allows and that many parsers change or refuse.
const ODD: &str = r#""nul":"a\u0000b","low":"\udc00 \ud800","pair":"\ud83d\ude00","tilde":"\u00e9\/","big":9007199254740993,"huge":1e400,"tiny":1E-400,"whole":1.0,"minus":-0,"long":0.1000000000000000055511151231257827,"empty":{},"twice":[1.0,1]"#;

/// An item of each format with odd parts in the places where tools put them.
fn odd_items() -> Vec<(&'static str, Vec<String>)> {
    let id = r#""id":"call_1""#;
    vec![
        (
            "openai_chat",
            vec![
                format!(r#"{{"role":"user","content":"a\u0000b \udc00","x_meta":{{{ODD}}}}}"#),
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{{id},"type":"function","function":{{"name":"run","arguments":"{{\"n\":9007199254740993}}"}}}}]}}"#),
                r#"{"role":"tool","tool_call_id":"call_1","content":"\ud83d half \u0000 1e400"}"#.to_owned(),
            ],
        ),
        (
            "anthropic",
            vec![
                r#"{"role":"user","content":"a\u0000b \udc00"}"#.to_owned(),
                format!(r#"{{"role":"assistant","content":[{{"type":"tool_use",{id},"name":"run","input":{{{ODD}}}}}]}}"#),
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"\ud83d half \u0000"}]}"#.to_owned(),
            ],
        ),
        (
            "openai_responses",
            vec![
                r#"{"role":"user","content":"a\u0000b \udc00"}"#.to_owned(),
                r#"{"type":"function_call","call_id":"call_1","name":"run","arguments":"{\"n\":1e400}"}"#.to_owned(),
                r#"{"type":"function_call_output","call_id":"call_1","output":"\ud83d half \u0000"}"#.to_owned(),
            ],
        ),
        (
            "gemini",
            vec![
                r#"{"role":"user","parts":[{"text":"a\u0000b \udc00"}]}"#.to_owned(),
                format!(r#"{{"role":"model","parts":[{{"functionCall":{{{id},"name":"run","args":{{{ODD}}}}},"thoughtSignature":"c2ln"}}]}}"#),
                r#"{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"run","response":{"output":"\ud83d half \u0000"}}}]}"#.to_owned(),
            ],
        ),
        (
            "native",
            vec![
                r#"{"role":"user","content":[{"type":"text","text":"a\u0000b \udc00"}]}"#.to_owned(),
                format!(r#"{{"role":"assistant","content":[{{"type":"tool_call",{id},"name":"run","arguments":{{{ODD}}}}}]}}"#),
                r#"{"role":"tool","content":[{"type":"tool_result","tool_call_id":"call_1","content":[{"type":"text","text":"\ud83d half \u0000"}],"is_error":false}]}"#.to_owned(),
            ],
        ),
        (
            "pi",
            vec![
                format!(r#"{{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"a\u0000b \udc00","timestamp":1.0,"details":{{{ODD}}}}}}}"#),
                format!(r#"{{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"assistant","content":[{{"type":"toolCall",{id},"name":"run","arguments":{{{ODD}}}}}],"timestamp":2}}}}"#),
                r#"{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"run","content":[{"type":"text","text":"\ud83d half \u0000"}],"isError":false,"timestamp":3}}"#.to_owned(),
            ],
        ),
    ]
}

/// The item as a context holds it: halves of characters go as U+FFFD, and nothing else changes.
fn whole(item: &str) -> String {
    item.replace(r"\udc00", r"\ufffd").replace(r"\ud800", r"\ufffd").replace(r"\ud83d half", r"\ufffd half")
}

/// Returns true if the text holds a half of a character among those of [`odd_items`].
fn holds_half(text: &str) -> bool {
    whole(text) != text
}

async fn post_raw(app: &App, path: &str, body: String) -> Answer {
    app.send(Method::POST, path, &[], body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_json_comes_back_as_it_came() {
    let app = App::shared();
    for (format, items) in odd_items() {
        let session = app.session(json!({"settings": by_hand()})).await;
        let body = format!(r#"{{"format":"{format}","items":[{}]}}"#, items.join(","));
        let answer = post_raw(app, &format!("{session}/entries"), body).await;
        assert_eq!(answer.status, 201, "{format}: {}", answer.text);
        let listed = app.get(&format!("{session}/entries")).await;
        let rebuilt = app.get(&format!("{session}/context?format={format}")).await;
        for item in &items {
            assert!(listed.text.contains(item), "{format}, listed: {item}\n{}", listed.text);
            assert!(rebuilt.text.contains(&whole(item)), "{format}, rebuilt: {item}\n{}", rebuilt.text);
        }
        let halved = items.iter().filter(|item| holds_half(item)).count();
        let noted = rebuilt.text.matches(r#""half_character_replaced""#).count();
        assert_eq!(noted, halved, "{format}: one note for each\n{}", rebuilt.text);
        assert!(!holds_half(&rebuilt.text), "{format}, rebuilt: {}", rebuilt.text);
        for other in ["anthropic", "openai_chat", "openai_responses", "native", "pi"] {
            let answer = app.get(&format!("{session}/context?format={other}")).await;
            assert_eq!(answer.status, 200, "{format} as {other}: {}", answer.text);
            assert!(answer.text.contains("call_1") && answer.text.contains(" half"), "{format} as {other}");
            assert!(!holds_half(&answer.text), "{format} as {other}: {}", answer.text);
        }
        assert_eq!(app.get(&format!("{session}/tool-calls")).await.status, 200, "{format}");
        let call = app.get(&format!("{session}/tool-calls/call_1")).await;
        assert!(call.status == 200 && call.text.contains("half"), "{format}: {}", call.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_json_survives_a_compaction() {
    let app = App::shared();
    for (format, items) in odd_items().into_iter().filter(|(format, _)| *format != "pi") {
        let session = app.session(json!({"settings": by_hand()})).await;
        let body = format!(r#"{{"format":"{format}","items":[{}]}}"#, items.join(","));
        post_raw(app, &format!("{session}/entries"), body).await.expect(201);
        app.append(&session, "openai_chat", json!(turns(0..30, 120))).await;
        assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded", "{format}");
        let listed = app.get(&format!("{session}/entries?limit=200")).await;
        items.iter().for_each(|item| assert!(listed.text.contains(item), "{format}: {item}"));
        let rebuilt = app.get(&format!("{session}/context?format={format}")).await;
        let first = whole(&items[0]);
        assert!(rebuilt.text.contains(&first), "{format}: the first user message, but for its half\n{}", rebuilt.text);
        assert!(rebuilt.text.contains(r#""half_character_replaced""#), "{format}: {}", rebuilt.text);
    }
}

async fn refused(app: &App, session: &str, path: &str, body: Value, pointer: &str) {
    let before = app.get(session).await.expect(200);
    let answer = app.post(path, body.clone()).await;
    answer.assert_problem(422, "validation_failed");
    let pointers: Vec<&str> =
        answer.body["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert!(pointers.contains(&pointer), "{body}: {}", answer.text);
    let after = app.get(session).await.expect(200);
    assert_eq!((&after["entry_count"], &after["leaf_id"]), (&before["entry_count"], &before["leaf_id"]), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_lands_whole_or_not_at_all() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    let other = filled(app, by_hand(), 1).await;
    let stranger = app.get(&other).await.expect(200)["leaf_id"].clone();
    let path = format!("{session}/entries");
    let good = json!({"role": "user", "content": "fine"});
    let chat = |items: Value| json!({"format": "openai_chat", "items": items});
    for (bad, pointer) in [
        (json!({"role": "user", "content": 3}), "/items/1/content"),
        (json!({"content": "nobody said this"}), "/items/1/role"),
        (json!({"role": "assistant", "tool_calls": 5}), "/items/1/tool_calls"),
        (json!([]), "/items/1"),
    ] {
        refused(app, &session, &path, chat(json!([good, bad, good])), pointer).await;
    }
    let mut to_stranger = chat(json!([good]));
    to_stranger["parent_id"] = stranger;
    refused(app, &session, &path, to_stranger, "/parent_id").await;
    refused(app, &session, &path, json!({"format": "openai_chat"}), "/items").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_a_file_stands_once() {
    let app = App::shared();
    let entry = |id: &str, parent: Value| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "hi", "timestamp": 1}})
    };
    let pi = |items: Value| json!({"format": "pi", "items": items});
    let session = app.session(json!({})).await;
    let path = format!("{session}/entries");
    let twice = pi(json!([entry("a1", Value::Null), entry("a2", json!("a1")), entry("a2", json!("a1"))]));
    refused(app, &session, &path, twice, "/items/2/id").await;
    app.post(&path, pi(json!([entry("a1", Value::Null), entry("a2", json!("a1"))]))).await.expect(201);
    refused(app, &session, &path, pi(json!([entry("a3", json!("a2")), entry("a2", json!("a3"))])), "/items/1/id").await;
    let lost = app.post(&path, pi(json!([entry("a4", json!("nowhere"))]))).await.expect(201);
    assert_eq!(lost["warnings"][0]["pointer"], "/items/0/parentId", "as in a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_out_of_range_are_named() {
    let app = App::shared();
    let session = filled(app, by_hand(), 2).await;
    for (name, value) in [
        ("keep_recent_tokens", json!(-1)),
        ("keep_recent_tokens", json!(1.5)),
        ("context_window", json!(0)),
        ("context_window", json!(1_u64 << 40)),
        ("reserve_tokens", json!(50_000_000)),
        ("red_at", json!(1.01)),
        ("yellow_at", json!("half")),
        ("min_savings_pct", json!(101)),
        ("estimator", json!("guess")),
        ("strategy", json!("")),
        ("pinned_entry_ids", json!("x")),
        ("no_such_setting", json!(1)),
        ("file_tools", json!({"read": {"kind": "smell", "path": "p"}})),
    ] {
        let pointer = format!("/settings/{name}");
        let body = json!({"settings": {name: value}});
        let answers = [
            app.post("/v1/sessions", body.clone()).await,
            app.patch(&session, body.clone()).await,
            app.post(&format!("{session}/prepare"), body.clone()).await,
            app.post(&format!("{session}/compact"), body.clone()).await,
        ];
        for answer in answers {
            answer.assert_problem(422, "validation_failed");
            assert!(answer.body["errors"][0]["pointer"].as_str().unwrap().starts_with(&pointer), "{}", answer.text);
        }
    }
    assert_eq!(app.get(&session).await.expect(200)["settings"]["context_window"], by_hand()["context_window"]);
    assert_eq!(all(app, &format!("{session}/compactions")).await, Vec::<Value>::new());
}

/// Half a character in what goes with the items is counted as it is stored: leniently.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_character_is_counted_wherever_it_stands() {
    let app = App::shared();
    let half = r"a\ud99cb";
    let system = [format!("\"{half}\""), format!(r#"[{{"type":"text","text":"{half}"}}]"#)];
    let tools = format!(r#"[{{"name":"run","description":"{half}"}}]"#);
    for format in ["openai_chat", "openai_responses", "anthropic", "gemini", "native"] {
        for system in &system {
            let body = format!(r#"{{"format":"{format}","items":[],"system":{system},"tools":{tools}}}"#);
            let counted = post_raw(app, "/v1/count", body).await;
            assert_eq!(counted.status, 200, "{format}: {}", counted.text);
            assert!(counted.body["tokens"].as_u64().unwrap() > 3, "{format}: {}", counted.text);
        }
    }
    let odd = r#"{"format":"openai_chat","items":[],"system":7,"tools":{"a":1}}"#.to_owned();
    let refused = post_raw(app, "/v1/count", odd).await;
    refused.assert_problem(422, "validation_failed");
    let pointers: Vec<&Value> = refused.body["errors"].as_array().unwrap().iter().map(|one| &one["pointer"]).collect();
    assert_eq!(pointers, ["/system", "/tools"], "{}", refused.text);
}
