//! Posting whole transcripts: raw or rebuilt, growing, edited, at the same time.

pub mod agent;
pub mod carried;
mod chapters;
mod edits;
mod masked;
mod merged;
mod quoted;
mod retold;
mod returned;
mod twins;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::app::App;
use crate::corpus::refused::is_broken;
use crate::corpus::{Recording, recordings};
use crate::drill_support::{all, by_hand, kept_items, turns};

async fn put(app: &App, session: &str, format: &str, items: &[Value]) -> Value {
    app.put(&format!("{session}/transcript"), json!({"format": format, "items": items})).await.expect(200)
}

fn figures(answer: &Value) -> (u64, u64, bool) {
    let number = |name: &str| answer[name].as_u64().unwrap();
    (number("appended"), number("matched"), answer["forked"].as_bool().unwrap())
}

#[tokio::test]
async fn what_is_new_is_appended_and_nothing_twice() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = turns(0..3, 5);
    assert_eq!(figures(&put(app, &session, "openai_chat", &items[..4]).await), (4, 0, false));
    assert_eq!(figures(&put(app, &session, "openai_chat", &items[..4]).await), (0, 4, false));
    let grown = put(app, &session, "openai_chat", &items).await;
    assert_eq!(figures(&grown), (8, 4, false));
    assert_eq!(kept_items(app, &session).await, items);
    let keyed = |key: &'static str, n: usize| {
        let body = json!({"format": "openai_chat", "items": turns(0..n, 5), "return_context": "anthropic"}).to_string();
        let path = format!("{session}/transcript");
        async move { app.send(reqwest::Method::PUT, &path, &[("idempotency-key", key)], body).await }
    };
    let first = keyed("put-1", 4).await;
    assert_eq!(figures(&first.body), (4, 12, false), "{}", first.text);
    assert_eq!(first.body["context"]["format"], "anthropic");
    let again = keyed("put-1", 4).await;
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    keyed("put-1", 5).await.assert_problem(422, "idempotency_key_reused");
}

#[tokio::test]
async fn an_edit_forks_and_an_early_end_moves_back() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = turns(0..3, 5);
    let whole = put(app, &session, "openai_chat", &items).await;
    let mut edited = items.clone();
    edited[4] = json!({"role": "user", "content": "something else"});
    edited.truncate(6);
    let answer = put(app, &session, "openai_chat", &edited).await;
    assert_eq!(figures(&answer), (2, 4, true));
    assert_eq!(kept_items(app, &session).await, edited);
    assert_eq!(all(app, &format!("{session}/entries?all=true")).await.len(), 14, "nothing is overwritten");
    let back = put(app, &session, "openai_chat", &edited[..2]).await;
    assert_eq!(figures(&back), (0, 2, true));
    assert_eq!(kept_items(app, &session).await, edited[..2]);
    let old = all(app, &format!("{session}/entries?leaf_id={}", whole["leaf_id"].as_str().unwrap())).await;
    assert_eq!(old.len(), items.len());
    let other = put(app, &session, "openai_chat", &[json!({"role": "user", "content": "new"})]).await;
    assert_eq!(figures(&other), (1, 0, true));
    assert_eq!(kept_items(app, &session).await.len(), 1);
    assert_eq!(figures(&put(app, &session, "openai_chat", &[]).await), (0, 0, true));
    let empty = app.get(&session).await.expect(200);
    assert_eq!((&empty["leaf_id"], &empty["entry_count"]), (&Value::Null, &json!(15)));
}

#[tokio::test]
async fn system_and_tools_are_recorded_and_no_message() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = turns(0..1, 5);
    let tools = json!([{"type": "function", "function": {"name": "read"}}]);
    let body = |system: Value| json!({"format": "openai_chat", "items": items, "system": system, "tools": tools});
    let answer = app.put(&format!("{session}/transcript"), body(json!("be brief"))).await.expect(200);
    assert!(answer["snapshot"]["breakdown"]["system"].as_u64().unwrap() > 0);
    let mut sent = vec![json!({"role": "system", "content": "be brief"})];
    sent.extend(items.iter().cloned());
    assert_eq!(figures(&put(app, &session, "openai_chat", &sent).await), (0, 5, false));
    app.put(&format!("{session}/transcript"), body(json!(null))).await.expect(200);
    let shown = app.get(&session).await.expect(200);
    assert_eq!((&shown["system"], &shown["tools"]), (&Value::Null, &tools));
    let bad =
        app.put(&format!("{session}/transcript"), json!({"format": "openai_chat", "items": [7], "system": 1})).await;
    assert_eq!(bad.status, 422, "{}", bad.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_between_clients_at_once() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let start = turns(0..1, 5);
    put(app, &session, "openai_chat", &start).await;
    let one = |n: usize| {
        let (session, mut items) = (session.clone(), start.clone());
        items.push(json!({"role": "user", "content": format!("from {n}")}));
        async move {
            match n % 2 {
                0 => app
                    .put(&format!("{session}/transcript"), json!({"format": "openai_chat", "items": items}))
                    .await
                    .expect(200),
                _ => app.append(&session, "openai_chat", json!([items[4]])).await,
            }
        }
    };
    stream::iter(0..16).map(one).buffer_unordered(8).collect::<Vec<_>>().await;
    let entries = all(app, &format!("{session}/entries?all=true")).await;
    for n in 0..16 {
        let said = json!(format!("from {n}"));
        assert_eq!(entries.iter().filter(|entry| entry["item"]["content"] == said).count(), 1, "{n}");
    }
    for kept in &start {
        assert_eq!(entries.iter().filter(|entry| entry["item"] == *kept).count(), 1);
    }
}

/// Places to post at: after each of the first turns, and at the end.
fn cuts(recording: &Recording) -> Vec<usize> {
    let size = recording.items.len();
    let step = (size / 6).max(1);
    (1..=6).map(|n| n * step).filter(|cut| *cut < size).chain([size]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_session_grows_turn_by_turn() {
    let app = App::shared();
    let recordings: Vec<Recording> =
        recordings().into_iter().filter(|one| one.items.len() <= 300 && one.format != "pi").collect();
    let grow = async |recording: &Recording| {
        let session = app.session(json!({"settings": {"enabled": false}})).await;
        let mut faults = Vec::new();
        for cut in cuts(recording) {
            let body = json!({"format": recording.format, "items": recording.items[..cut]});
            let answer = app.put(&format!("{session}/transcript"), body).await;
            match answer.status {
                200 if answer.body["forked"] == true => {
                    faults.push(format!("{}: forked at {cut}: {:?}", recording.name, figures(&answer.body)))
                }
                200 => {}
                422 if is_broken(&recording.name) => return faults,
                _ => faults.push(format!("{}: {}", recording.name, answer.text)),
            }
        }
        let kept = kept_items(app, &session).await;
        if kept != recording.items {
            let roles = |items: &[Value]| items.iter().map(|item| item["role"].clone()).collect::<Vec<_>>();
            faults.push(format!("{}: {:?} and not {:?}", recording.name, roles(&kept), roles(&recording.items)));
        }
        let body = json!({"format": recording.format, "items": recording.items});
        let again = app.put(&format!("{session}/transcript"), body).await.expect(200);
        if figures(&again) != (0, recording.items.len() as u64, false) {
            faults.push(format!("{}: again {:?}", recording.name, figures(&again)));
        }
        faults
    };
    let faults: Vec<Vec<String>> = stream::iter(&recordings).map(grow).buffer_unordered(4).collect().await;
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    println!("{} sessions", recordings.len());
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n").chars().take(6_000).collect::<String>()
    );
}
