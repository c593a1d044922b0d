//! Large messages: pages are bounded in bytes, and a message takes a few times its size in memory, whatever is done.
//!
//! `CONTEXTD_DRILL_LONG=1` plays the memory with messages of 29 MB, the most that a body takes by default.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::pg;

/// What a page holds of what is stored, and what an answer makes of it: the item, and what it means.
const PAGE: usize = 4 << 20;
const ANSWER: usize = 3 * PAGE;

fn text(bytes: usize) -> String {
    "word7 of the file, and a line more. ".repeat(bytes / 36)
}

fn said(bytes: usize) -> Value {
    json!({"role": "user", "content": text(bytes)})
}

/// All pages of a list, and the bytes of the largest.
async fn pages(app: &App, path: &str) -> (Vec<Value>, usize, usize) {
    let (mut items, mut largest, mut count, mut cursor) = (Vec::new(), 0, 0, String::new());
    loop {
        let mut page = app.get(&format!("{path}limit=200{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        (largest, count) = (largest.max(page.text.len()), count + 1);
        assert!(!page.body["items"].as_array().unwrap().is_empty());
        items.append(page.body["items"].as_array_mut().unwrap());
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return (items, largest, count),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_bounded_in_bytes() {
    let app = App::shared();
    let settings = json!({"enabled": false, "estimator": "pi", "context_window": 10_000_000});
    let session = app.session(json!({"settings": settings})).await;
    let items: Vec<Value> = (0..9).map(|_| said(1 << 20)).collect();
    app.append(&session, "openai_chat", json!(items)).await;
    app.append(&session, "openai_chat", json!([said(6 << 20), {"role": "user", "content": "short"}])).await;
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", json!([said(3 << 20), said(3 << 20)])).await;
    for (path, wanted) in [
        (format!("{session}/entries?"), 11),
        (format!("{session}/entries?all=true&"), 11),
        (format!("{fork}/entries?"), 13),
        (format!("{fork}/entries?all=true&"), 13),
    ] {
        let (items, largest, count) = pages(app, &path).await;
        let mut ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), wanted, "{path}");
        ids.dedup();
        assert_eq!(ids.len(), wanted, "{path}: none twice");
        assert!(count >= 4, "{path}: {count} pages");
        // One item that is larger than a page is a page.
        assert!(largest <= ANSWER.max(3 * (6 << 20)), "{path}: {largest} bytes");
    }
    let (_, largest, _) = pages(app, &format!("{session}/entries?leaf_id={}&", items_id(app, &session, 8).await)).await;
    assert!(largest <= ANSWER, "{largest}");
}

async fn items_id(app: &App, session: &str, at: usize) -> String {
    let tree = app.get(&format!("{session}/tree")).await.expect(200);
    tree["nodes"][at]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_sessions_and_compactions_are_bounded_in_bytes() {
    let app = App::fresh(&[]);
    for n in 0..6 {
        app.session(json!({"metadata": {"text": text(1 << 20)}, "system": format!("{n}")})).await;
    }
    let (items, largest, count) = pages(&app, "/v1/sessions?").await;
    assert_eq!((items.len(), count), (6, 2));
    assert!(largest <= PAGE + (1 << 20), "{largest}");
    let session = filled(&app, by_hand(), 30).await;
    for _ in 0..6 {
        // Kept with the compaction's request, however it ends.
        let asked = json!({"details": {"note": text(1 << 20)}, "strategy": "summarize", "force": true});
        compact(&app, &session, asked).await;
    }
    let (items, _, count) = pages(&app, &format!("{session}/compactions?")).await;
    assert_eq!(items.len(), 6);
    assert!(count > 1, "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_message_takes_a_few_times_its_size() {
    let (bytes, times) = match std::env::var_os("CONTEXTD_DRILL_LONG") {
        Some(_) => (29 << 20, 8),
        None => (14 << 20, 10),
    };
    let url = pg::url().await;
    let app = App::fresh(&[("DATABASE_URL", &url)]);
    let settings = json!({"enabled": false, "context_window": 100_000_000, "reserve_tokens": 1000});
    let session = app.session(json!({"settings": settings})).await;
    let put = app.session(json!({"settings": settings})).await;
    let put_with_context = app.session(json!({"settings": settings})).await;
    let with_context = app.session(json!({"settings": settings})).await;
    let items = json!([said(bytes), {"role": "assistant", "content": "Read."}]);
    let body = |more: Value| {
        let mut body = json!({"format": "openai_chat", "items": items});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let mut report = Vec::new();
    let returned = json!({"return_context": "openai_chat"});
    let whole = json!({"wait": 1});
    for (name, method, path, asked) in [
        ("append", "POST", format!("{session}/entries"), body(json!({}))),
        ("append with context", "POST", format!("{with_context}/entries"), body(returned.clone())),
        ("entry list", "GET", format!("{session}/entries?limit=1"), whole.clone()),
        ("rebuild", "POST", format!("{session}/rebuild"), json!({"format": "openai_chat"})),
        ("rebuild otherwise", "POST", format!("{session}/rebuild"), json!({"format": "anthropic"})),
        ("put again", "PUT", format!("{session}/transcript"), body(json!({}))),
        ("put", "PUT", format!("{put}/transcript"), body(json!({}))),
        ("put with context", "PUT", format!("{put_with_context}/transcript"), body(returned)),
        ("count", "POST", "/v1/count".to_owned(), body(json!({}))),
        ("lint", "POST", "/v1/lint".to_owned(), body(json!({}))),
        ("stateless compact", "POST", "/v1/compact".to_owned(), body(json!({}))),
        ("export", "GET", format!("{session}/export?format=openai_chat"), whole.clone()),
        ("search", "GET", format!("{session}/search?q=word7"), whole.clone()),
        ("prepare", "POST", format!("{session}/prepare"), json!({"include_messages": true})),
    ] {
        // An instance of its own: nothing that an earlier call left behind hides what this one takes.
        let app = App::fresh(&[("DATABASE_URL", &url)]);
        // Vocabularies and pools are there.
        app.post("/v1/count", json!({"format": "openai_chat", "items": [said(1000)]})).await.expect(200);
        let idle = app.forget_peak_memory();
        let answer = match method {
            "GET" => app.get(&path).await,
            "PUT" => app.put(&path, asked).await,
            _ => app.post(&path, asked).await,
        };
        assert!(answer.status < 300, "{name}: {}", answer.text.chars().take(500).collect::<String>());
        if name.starts_with("put") {
            let appended = if name == "put again" { 0 } else { 2 };
            assert_eq!(answer.body["appended"], appended, "{name}");
        }
        let peak = app.peak_memory().saturating_sub(idle);
        report.push((name, peak >> 20, peak as f64 / bytes as f64));
    }
    println!("memory over what an idle instance holds, for a message of {} MiB: {report:?}", bytes >> 20);
    for (name, mib, ratio) in &report {
        // These hold the transcript twice: as it came, and as it is stored or mended.
        let twice = name.contains("with context") || name.contains("put") || *name == "lint";
        let most = if twice { 2 * times } else { times };
        assert!(*ratio <= f64::from(most), "{name}: {mib} MiB, {ratio:.1} times: {report:?}");
    }
}
