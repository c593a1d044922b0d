//! What the drills share: transcripts made to measure, reading everything page by page, compactions to their end.

use serde_json::{Value, json};

use crate::app::App;
use crate::patience::{eventually, until};

/// The text of the `n`th user message of [`turns`].
pub fn asked(n: usize) -> String {
    format!("Request {n}: rename src/module_{n}.rs and keep every test green. Ticket ABC-{n}, budget {n} ms.")
}

/// Chat messages of whole turns: request, call, result of `result_words` words, answer.
pub fn turns(range: std::ops::Range<usize>, result_words: usize) -> Vec<Value> {
    let turn = |n: usize| {
        let path = format!("src/module_{n}.rs");
        let output: String = (0..result_words).map(|word| format!("line{n}_{word} ")).collect();
        let call = json!({"id": format!("call_{n}"), "type": "function", "function": {
            "name": if n.is_multiple_of(2) { "read" } else { "edit" }, "arguments": json!({"path": path}).to_string()}});
        [
            json!({"role": "user", "content": asked(n)}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("call_{n}"), "content": output}),
            json!({"role": "assistant", "content": format!("Renamed {path}; 12 tests pass.")}),
        ]
    };
    range.flat_map(turn).collect()
}

/// Settings under which nothing starts by itself and a call has something to do.
pub fn by_hand() -> Value {
    json!({"enabled": false, "context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500})
}

/// [`by_hand`], with an upstream and what to do when it fails.
pub fn asking(upstream: &str, on_failure: &str) -> Value {
    let mut settings = by_hand();
    settings["upstream"] = json!(upstream);
    settings["on_upstream_failure"] = json!(on_failure);
    settings
}

/// A session with these settings that holds `turns` turns.
pub async fn filled(app: &App, settings: Value, count: usize) -> String {
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(turns(0..count, 120))).await;
    session
}

/// All items of a list.
pub async fn all(app: &App, path: &str) -> Vec<Value> {
    let join = if path.contains('?') { '&' } else { '?' };
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let mut page = app.get(&format!("{path}{join}limit=200{cursor}")).await.expect(200);
        items.append(page["items"].as_array_mut().unwrap());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return items,
        }
    }
}

/// The items of the messages on the leaf's path, compactions aside.
pub async fn kept_items(app: &App, session: &str) -> Vec<Value> {
    let entries = all(app, &format!("{session}/entries")).await;
    entries.into_iter().filter(|entry| entry["type"] == "message").map(|mut entry| entry["item"].take()).collect()
}

pub async fn context(app: &App, session: &str, format: &str) -> Value {
    app.post(&format!("{session}/rebuild"), json!({"format": format})).await.expect(200)
}

pub async fn snapshot(app: &App, session: &str) -> Value {
    app.get(&format!("{session}/snapshot")).await.expect(200)
}

/// The messages of a context.
pub fn messages(context: &Value) -> &Vec<Value> {
    context["messages"].as_array().unwrap()
}

/// Compacts and waits for the end.
pub async fn compact(app: &App, session: &str, mut body: Value) -> Value {
    body["wait"] = json!(60);
    let answer = app.post(&format!("{session}/compact"), body).await;
    match answer.status {
        // On a busy machine it takes longer.
        202 => ended(app, &answer.body["id"]).await,
        _ => answer.expect(200),
    }
}

/// Waits until a compaction has one of the `wanted` states.
pub async fn reaches(app: &App, id: &Value, wanted: &[&str]) -> Value {
    eventually(&format!("a compaction is one of {wanted:?}"), async || {
        let compaction = app.get(&format!("/v1/compactions/{}", id.as_str().unwrap())).await.expect(200);
        wanted.contains(&compaction["status"].as_str().unwrap()).then_some(compaction)
    })
    .await
}

/// Waits until a compaction has ended, whichever way.
pub async fn ended(app: &App, id: &Value) -> Value {
    reaches(app, id, &["succeeded", "failed", "cancelled", "skipped"]).await
}

/// Waits until no compaction of the session is being made; one that is prepared may wait.
pub async fn settled(app: &App, session: &str) {
    let is_made = |one: &Value| matches!(one["status"].as_str(), Some("queued" | "running")) && one["prepared"] != true;
    let path = format!("{session}/compactions");
    until("no compaction is being made", async || !all(app, &path).await.iter().any(is_made)).await;
}

/// A session's id, of its path.
pub fn id_of(session: &str) -> &str {
    session.rsplit('/').next().unwrap()
}

/// The environment of an instance whose default upstream is the one at this address.
pub fn upstream<'a>(base_url: &'a str, timeout_ms: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("CONTEXTD_UPSTREAM_KIND", "openai"),
        ("CONTEXTD_UPSTREAM_BASE_URL", base_url),
        ("CONTEXTD_UPSTREAM_MODEL", "played"),
        ("CONTEXTD_UPSTREAM_API_KEY", "sk-played"),
        ("CONTEXTD_UPSTREAM_TIMEOUT_MS", timeout_ms),
    ]
}

/// How many requests a summary says that it leaves out.
pub fn requests_left_out(text: &str) -> usize {
    let left_out = |line: &str| {
        let names = line.strip_prefix("[… u")?.strip_suffix(']')?;
        let range = names.split([' ', ',']).next()?;
        let (first, last) = range.split_once("-u").unwrap_or((range, range));
        Some(last.parse::<usize>().ok()? + 1 - first.parse::<usize>().ok()?)
    };
    text.lines().filter_map(left_out).sum()
}
