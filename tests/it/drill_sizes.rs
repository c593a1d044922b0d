//! Sessions of unusual proportions: a system prompt as large as the window, one huge result, very many messages, images.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};

const TOO_LONG: &str = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.";

fn words(count: usize) -> String {
    (0..count).map(|n| format!("word{n} ")).collect()
}

async fn assert_valid(app: &App, session: &str) {
    for format in FORMATS {
        let shown = context(app, session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_prompt_larger_than_the_window_is_said_so() {
    let app = App::shared();
    let settings = json!({"context_window": 8_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500});
    let session = app.session(json!({"settings": settings, "system": words(5_000)})).await;
    let answer = app.append(&session, "openai_chat", json!(turns(0..5, 20))).await;
    assert_eq!(answer["snapshot"]["state"], "red", "{answer}");
    // Nothing is begun where nothing can be done; who asks is told why.
    assert_eq!((&answer["snapshot"]["should_compact"], &answer["compaction"]), (&json!(false), &Value::Null));
    let prepared = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    assert_eq!((&prepared["possible"], &prepared["reason"]), (&json!(false), &json!("fixed_overhead")));
    let shown = context(app, &session, "openai_chat").await;
    assert_eq!(shown["exceeds_window"]["reason"], "fixed_overhead", "{shown}");
    let asked = compact(app, &session, json!({})).await;
    assert_eq!(asked["result"]["skip_reason"], "fixed_overhead", "{asked}");
    let next = app.append(&session, "openai_chat", json!(turns(5..6, 5))).await;
    assert!(next["compaction"].is_null(), "not again and again: {next}");
    let body =
        json!({"format": "openai_chat", "items": [], "provider_error": TOO_LONG, "return_context": "openai_chat"});
    let failed = app.post(&format!("{session}/entries"), body).await.expect(201);
    let expected = json!({"recognised": true, "retry": false, "reason": "fixed_overhead", "compaction_id": null});
    assert_eq!(failed["overflow"], expected);
    assert_eq!(messages(&failed["context"]).len(), 24, "all of it, since nothing helps");
    assert_valid(app, &session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_prompt_near_the_window_ends_cleanly() {
    let app = App::shared();
    let settings = json!({"context_window": 8_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500});
    let session = app.session(json!({"settings": settings, "system": words(1_800)})).await;
    let mut started = 0;
    for n in 0..60 {
        let body = json!({"format": "openai_chat", "items": turns(n..n + 1, 10), "return_context": "openai_chat"});
        let answer = app.post(&format!("{session}/entries"), body).await.expect(201);
        let tokens = answer["context"]["tokens"].as_u64().unwrap();
        if tokens > 8_000 {
            panic!("turn {n}: {tokens}: {:#?}", all(app, &format!("{session}/compactions")).await);
        }
        started += usize::from(answer["compaction"].is_object());
        if let Some(id) = answer["compaction"]["id"].as_str().filter(|_| answer["compaction"]["status"] == "queued") {
            let one = app.get(&format!("/v1/compactions/{id}")).await.expect(200);
            if one["trigger"] != "ahead" {
                ended(app, &json!(id)).await;
            }
        }
    }
    println!("system prompt near the window: {started} compactions in 60 turns");
    assert!(started <= 30, "{started}");
    assert_valid(app, &session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_result_larger_than_the_window_is_shown_in_part() {
    let app = App::shared();
    let settings = json!({"context_window": 10_000, "reserve_tokens": 2_000});
    let session = app.session(json!({"settings": settings})).await;
    let items = turns(0..1, 12_000);
    for part in [&items[..2], &items[2..3]] {
        app.append(&session, "openai_chat", json!(part)).await;
    }
    let shown = context(app, &session, "openai_chat").await;
    let tokens = shown["tokens"].as_u64().unwrap();
    assert!(tokens <= 10_000, "{tokens}");
    assert_eq!(shown["elided"][0]["tool_call_id"], "call_0", "{}", shown["elided"]);
    let result = &messages(&shown)[2]["content"].as_str().unwrap();
    assert!(result.contains("line0_0 ") && result.contains("line0_11999 "), "head and tail stay");
    assert!(result.len() > 5_000, "as much as fits: {}", result.len());
    assert_valid(app, &session).await;
    let whole = app.get(&format!("{session}/tool-calls/call_0")).await.expect(200);
    assert_eq!(whole["result_text"], items[2]["content"]);
    app.append(&session, "openai_chat", json!(items[3..])).await;
    assert_eq!(kept_items(app, &session).await, items);
    let newest = &all(app, &format!("{session}/compactions")).await;
    let done: Vec<&Value> = newest.iter().filter(|one| one["status"] == "succeeded").collect();
    assert_eq!(done[0]["result"]["fallback"]["reason"], "window_full", "{newest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_larger_than_the_window_stays_and_nothing_spins() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"context_window": 8_000, "reserve_tokens": 2_000}})).await;
    let said = json!([{"role": "user", "content": words(9_000)}]);
    app.append(&session, "openai_chat", said.clone()).await;
    for _ in 0..3 {
        assert_eq!(context(app, &session, "openai_chat").await["messages"], said);
    }
    let compactions = all(app, &format!("{session}/compactions")).await;
    assert!(compactions.len() <= 2, "{compactions:?}");
    assert!(compactions.iter().all(|one| one["status"] != "succeeded"), "{compactions:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_tiny_messages() {
    let app = App::shared();
    let settings = json!({"context_window": 20_000, "reserve_tokens": 2_000, "keep_recent_tokens": 2_000});
    let session = app.session(json!({"settings": settings})).await;
    let said =
        |n: usize| json!({"role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("m{n}")});
    let items: Vec<Value> = (0..5_000).map(said).collect();
    for part in items.chunks(500) {
        let body = json!({"format": "openai_chat", "items": part, "return_context": "openai_chat"});
        let answer = app.post(&format!("{session}/entries"), body).await.expect(201);
        let tokens = answer["context"]["tokens"].as_u64().unwrap();
        assert!(tokens <= 20_000, "{tokens}");
    }
    assert_valid(app, &session).await;
    assert_eq!(kept_items(app, &session).await, items);
    let done = all(app, &format!("{session}/compactions")).await;
    assert!(done.iter().any(|one| one["status"] == "succeeded") && done.len() < 12, "{}", done.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_of_images() {
    const IMAGES: usize = 5;
    const BYTES: usize = 107 * 1_000_000 / IMAGES;
    let app = App::fresh(&[]);
    let session = app.session(json!({"settings": {"keep_recent_tokens": 500}})).await;
    let data = "QUJD".repeat(BYTES / 4);
    for n in 0..IMAGES {
        let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
        let items = json!([{"role": "user", "content": [{"type": "text", "text": format!("image {n}")}, image]},
            {"role": "assistant", "content": format!("I see image {n}.")}]);
        let answer = app.append(&session, "openai_chat", items).await;
        let tokens = answer["snapshot"]["tokens"].as_u64().unwrap();
        let each = tokens / (n as u64 + 1);
        assert!((1_000..2_000).contains(&each), "an image costs what is stated: {tokens} for {}", n + 1);
    }
    let shown = context(&app, &session, "anthropic").await;
    assert_eq!(messages(&shown).len(), 2 * IMAGES);
    let done = compact(&app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    println!("107 MB of images: {} MiB at most in memory", app.peak_memory() >> 20);
    assert!(app.peak_memory() < 3 << 30, "{}", app.peak_memory());
}
