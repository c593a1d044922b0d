//! In mid-turn the request that the agent is working on stands as a message of its own behind the summary, whole, and is
//! known as ours wherever it comes back.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

const REQUEST: &str = "Use port 5177 only, and tell me when the server of ticket OPS-7 answers there.";
const FORMATS: [&str; 5] = ["openai_chat", "openai_responses", "anthropic", "gemini", "pi"];

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Settings under which every strategy has something to leave out.
fn narrow() -> Value {
    let mut settings = by_hand();
    settings["target_tokens"] = json!(5_000);
    settings
}

/// Steps of one turn, large results among them.
fn steps(range: std::ops::Range<usize>) -> Vec<Value> {
    turns(range, 150).into_iter().filter(|item| item["role"] == "tool" || item["tool_calls"].is_array()).collect()
}

/// Two turns, and in the third the agent is at work on `request`.
async fn at_work(app: &App, settings: Value, request: &str) -> String {
    let session = app.session(json!({"settings": settings})).await;
    let mut items = turns(0..2, 30);
    items.push(user(request));
    items.extend(steps(2..20));
    app.append(&session, "openai_chat", json!(items)).await;
    session
}

/// The texts of a context's messages, whatever the format.
fn texts(context: &Value) -> Vec<String> {
    fn add(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::String(text) => all.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| add(item, all)),
            Value::Object(fields) => {
                ["text", "content", "parts", "message", "summary"]
                    .iter()
                    .filter_map(|key| fields.get(*key))
                    .for_each(|field| add(field, all));
            }
            _ => {}
        }
    }
    let text = |message: &Value| {
        let mut all = Vec::new();
        add(message, &mut all);
        all.join("\n")
    };
    messages(context).iter().map(text).collect()
}

async fn lints(app: &App, format: &str, context: &Value) {
    let linted = app.post("/v1/lint", json!({"format": format, "items": messages(context)})).await.expect(200);
    assert_eq!(linted["valid"], true, "{format}: {}", linted["violations"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_running_request_stands_as_a_message_behind_the_summary() {
    let app = App::shared();
    for strategy in ["summarize", "llm_summarize", "truncate", "smart", "sliding"] {
        let session = at_work(app, narrow(), REQUEST).await;
        let done = compact(app, &session, json!({"force": true, "strategy": strategy})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        for format in FORMATS {
            let shown = context(app, &session, format).await;
            let told = texts(&shown);
            let copies: Vec<usize> = (0..told.len()).filter(|at| told[*at].contains("[running request]")).collect();
            assert_eq!(copies.len(), 1, "{strategy}, {format}: {told:?}");
            let (before, copy) = told[copies[0]].split_once("[running request]").unwrap();
            assert!(copy.ends_with(REQUEST) && copy.lines().count() == 3, "{strategy}, {format}: {copy}");
            let summary = told.iter().position(|text| text.contains("<context-summary>"));
            let is_behind = |summary: usize| summary + 1 == copies[0] || summary == copies[0] && !before.is_empty();
            assert!(summary.is_none_or(is_behind), "{strategy}, {format}: {told:?}");
            assert!(copies[0] + 1 < told.len(), "the tail follows");
            lints(app, format, &shown).await;
            assert_eq!(context(app, &session, format).await["messages"], shown["messages"]);
            let counted = app.post("/v1/count", json!({"format": format, "items": messages(&shown)})).await.expect(200);
            let (counted, tokens) = (counted["tokens"].as_f64().unwrap(), shown["tokens"].as_f64().unwrap());
            assert!((counted - tokens).abs() < tokens / 20.0, "{strategy}, {format}: {counted} and {tokens}");
        }
        let entries = all(app, &format!("{session}/entries")).await;
        let record = entries.iter().find(|entry| entry["type"] == "compaction").unwrap();
        let asked = entries.iter().find(|entry| entry["item"]["content"] == REQUEST).unwrap();
        assert_eq!(record["item"]["running"]["entry_id"], asked["id"], "{}", record["item"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_is_never_stored_as_speech() {
    let app = App::shared();
    for strategy in ["summarize", "truncate"] {
        for format in ["openai_chat", "openai_responses", "anthropic", "gemini"] {
            let session = at_work(app, narrow(), REQUEST).await;
            assert_eq!(
                compact(app, &session, json!({"force": true, "strategy": strategy})).await["status"],
                "succeeded"
            );
            let shown = context(app, &session, format).await;
            let next = match format {
                "gemini" => json!({"role": "user", "parts": [{"text": "And now?"}]}),
                _ => user("And now?"),
            };
            let count = all(app, &format!("{session}/entries?all=true")).await.len();
            let mut items = messages(&shown).clone();
            items.push(next);
            let body = json!({"format": format, "items": items});
            let put = app.put(&format!("{session}/transcript"), body).await.expect(200);
            assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{strategy}, {format}: {put}");
            let entries = all(app, &format!("{session}/entries?all=true")).await;
            assert_eq!(entries.len(), count + 1);
            assert!(
                !entries
                    .iter()
                    .any(|entry| entry["role"] == "user" && entry["item"].to_string().contains("[running request]"))
            );
        }
    }
    // Merged with the messages beside it, as clients of strict providers do.
    let session = at_work(app, by_hand(), REQUEST).await;
    assert_eq!(compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"], "succeeded");
    let shown = context(app, &session, "anthropic").await;
    let is_speech = |message: &&Value| message["role"] == "user" && !message.to_string().contains("tool_result");
    let leading: Vec<Value> = messages(&shown).iter().take_while(is_speech).cloned().collect();
    assert!(leading.len() >= 2 || texts(&shown)[0].contains("[running request]"), "{leading:?}");
    let rest = &messages(&shown)[leading.len()..];
    let block = |text: &str| json!({"type": "text", "text": text});
    let as_blocks = leading.iter().flat_map(|message| match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        content => vec![block(content.as_str().unwrap())],
    });
    let as_blocks: Vec<Value> = as_blocks.collect();
    let as_text = as_blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n\n");
    for content in [json!(as_blocks), json!(as_text)] {
        let mut items = vec![json!({"role": "user", "content": content})];
        items.extend(rest.iter().cloned());
        let body = json!({"format": "anthropic", "items": items});
        let put = app.put(&format!("{session}/transcript"), body).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{put}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stays_until_something_else_is_asked() {
    let app = App::shared();
    let session = at_work(app, by_hand(), REQUEST).await;
    let copies = async || {
        let shown = context(app, &session, "anthropic").await;
        texts(&shown).iter().filter(|text| text.contains("[running request]") && text.contains(REQUEST)).count()
    };
    for n in 1..4 {
        assert_eq!(
            compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"],
            "succeeded"
        );
        assert_eq!(copies().await, 1, "round {n}");
        app.append(&session, "openai_chat", json!(steps(20 * n..20 * n + 18))).await;
    }
    app.append(
        &session,
        "openai_chat",
        json!([{"role": "assistant", "content": "It answers."}, user("Thanks. Stop it.")]),
    )
    .await;
    assert_eq!(compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"], "succeeded");
    assert_eq!(copies().await, 0, "the newest request is in the tail");
    let shown = context(app, &session, "anthropic").await;
    assert!(texts(&shown).last().unwrap().contains("Thanks. Stop it."));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_request_stays_the_anchor() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let mut items = vec![user(REQUEST)];
    items.extend(steps(0..20));
    app.append(&session, "openai_chat", json!(items)).await;
    for n in 1..3 {
        assert_eq!(
            compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"],
            "succeeded"
        );
        let shown = context(app, &session, "openai_chat").await;
        let told = texts(&shown);
        assert_eq!(messages(&shown)[0], user(REQUEST));
        assert_eq!(told.iter().filter(|text| text.contains("[running request]")).count(), 1, "{told:?}");
        assert!(told[2].starts_with("[running request]") && told[2].lines().count() == 1, "{told:?}");
        assert!(!told[2].contains("5177"));
        lints(app, "openai_chat", &shown).await;
        let body = json!({"format": "openai_chat", "items": messages(&shown)});
        let put = app.put(&format!("{session}/transcript"), body).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{put}");
        app.append(&session, "openai_chat", json!(steps(20 * n..20 * n + 18))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_said_in_several_messages_is_one_request() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let mut items = turns(0..2, 30);
    items.push(user(REQUEST));
    items.push(user("<system-reminder>The list of tasks is empty.</system-reminder>"));
    items.push(user("[Image: source: /tmp/shot.png]"));
    items.extend(steps(2..20));
    app.append(&session, "openai_chat", json!(items)).await;
    assert_eq!(compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"], "succeeded");
    let shown = context(app, &session, "openai_chat").await;
    let told = texts(&shown);
    let copies: Vec<&String> = told.iter().filter(|text| text.starts_with("[running request]")).collect();
    assert_eq!(copies.len(), 1, "{told:?}");
    assert!(copies[0].ends_with(&format!("{REQUEST}\n\n[Image: source: /tmp/shot.png]")), "{}", copies[0]);
    let record = told.iter().find(|text| text.contains("<context-summary>")).unwrap();
    assert_eq!(record.matches("[the request that stands below this record]").count(), 2, "{record}");
    lints(app, "openai_chat", &shown).await;
    let body = json!({"format": "openai_chat", "items": messages(&shown)});
    let put = app.put(&format!("{session}/transcript"), body).await.expect(200);
    assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{put}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_paste_stands_by_head_and_tail() {
    let app = App::shared();
    let long =
        format!("Find the fault in this log. {}The last line counts.", "2026-11-26 ordinary line é\n".repeat(3_000));
    let mut settings = by_hand();
    settings["anchor_first_user"] = json!(true);
    let session = at_work(app, settings, &long).await;
    assert_eq!(compact(app, &session, json!({"force": true, "strategy": "summarize"})).await["status"], "succeeded");
    let shown = context(app, &session, "openai_chat").await;
    let told = texts(&shown);
    let copy = told.iter().find(|text| text.starts_with("[running request]")).unwrap();
    assert!(copy.contains("Find the fault in this log.") && copy.ends_with("The last line counts."));
    assert!(copy.contains(" characters left out …]") && copy.len() < long.len(), "{}", copy.len());
    // It has half of the usable window at most, and the context stays well below red.
    let item = json!({"format": "openai_chat", "items": [{"role": "user", "content": copy}]});
    let tokens = app.post("/v1/count", item).await.expect(200)["tokens"].as_u64().unwrap();
    let now = snapshot(app, &session).await;
    let usable = now["window"].as_u64().unwrap() - now["reserve_tokens"].as_u64().unwrap();
    assert!(tokens * 2 <= usable, "{tokens} of {usable}");
    assert!(now["tokens"].as_u64().unwrap() * 100 <= usable * 80, "{now}");
    assert!(shown["exceeds_window"].is_null());
}

/// What is left out stands in the record alone, so that has its room before the results are cut to size.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_has_its_room_beside_results_that_fill_the_window() {
    let app = App::shared();
    let settings = json!({"context_window": 8_000, "red_at": 1.0, "ahead_at": null});
    let session = app.session(json!({"settings": settings})).await;
    let mut items = turns(0..12, 60);
    items.push(json!({"role": "user", "content": "Which one is the cheapest?"}));
    let call = |n: usize| {
        json!({"id": format!("price_{n}"), "type": "function", "function": {
            "name": "get_product", "arguments": json!({"id": n}).to_string()}})
    };
    items.push(json!({"role": "assistant", "content": null, "tool_calls": (0..4).map(call).collect::<Vec<_>>()}));
    items.extend((0..4).map(|n| {
        let rows: Vec<Value> = (0..200).map(|row| json!({"item": 70_000 * n + row, "price": row * 7 + n})).collect();
        json!({"role": "tool", "tool_call_id": format!("price_{n}"), "content": json!(rows).to_string()})
    }));
    app.append(&session, "openai_chat", json!(items)).await;
    let shown = context(app, &session, "openai_chat").await;
    assert!(shown["tokens"].as_u64().unwrap() <= 8_000, "{}", shown["tokens"]);
    let summary = messages(&shown).iter().filter_map(|message| message["content"].as_str());
    let record = summary.into_iter().find(|text| text.contains("<context-summary>")).unwrap();
    for n in [0, 5, 11] {
        assert!(record.contains(&format!("src/module_{n}.rs")), "{n}: {record}");
    }
}
