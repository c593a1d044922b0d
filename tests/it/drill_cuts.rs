//! Connections to the database that die around a commit: nothing is doubled, nothing that was acknowledged is lost, and
//! nothing is told as failed that has landed.
//!
//! `CONTEXTD_TEST_CUTS=1000` cuts more often.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::app::{Answer, App};
use crate::cut_proxy::{Cut, CutProxy};
use crate::drill_support::*;
use crate::patience::until;

const CUTS: usize = 200;

/// A service whose every connection to the database goes through the proxy.
async fn behind_proxy() -> (CutProxy, App) {
    let server = crate::pg::fresh().await;
    let proxy = CutProxy::before(&server).await;
    let (user, name) = (server.get_username(), server.get_database().unwrap());
    let url = format!("postgres://{user}@127.0.0.1:{}/{name}?sslmode=disable", proxy.port());
    // It starts by waiting for the line on its output, and the proxy runs on this thread's runtime.
    let app = tokio::task::spawn_blocking(move || App::fresh(&[("DATABASE_URL", &url)])).await.unwrap();
    (proxy, app)
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// What a client was told about one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Landed,
    Failed,
    Unknown,
}

fn told(answer: &Answer) -> Told {
    match (answer.status, answer.code()) {
        (200 | 201, _) => Told::Landed,
        (503, Some("outcome_unknown")) => Told::Unknown,
        (503, _) => Told::Failed,
        _ => panic!("{}", answer.text),
    }
}

async fn texts(app: &App, session: &str) -> Vec<String> {
    let items = kept_items(app, session).await;
    items.iter().map(|item| item["content"].as_str().unwrap().to_owned()).collect()
}

/// Appends messages without a key, each once, until told to stop.
async fn append_plainly(app: Arc<App>, session: String, writer: usize, stop: Arc<AtomicBool>) -> Vec<(String, Told)> {
    let mut log = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let text = format!("plain {writer}-{}", log.len());
        let body = json!({"format": "openai_chat", "items": [said(&text)]});
        let answer = app.post(&format!("{session}/entries"), body).await;
        log.push((text, told(&answer)));
    }
    log
}

/// Appends messages under a key, each until it is acknowledged.
async fn append_keyed(app: Arc<App>, session: String, writer: usize, stop: Arc<AtomicBool>) -> Vec<(String, Told)> {
    let mut log = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let text = format!("keyed {writer}-{}", log.len());
        let body = json!({"format": "openai_chat", "items": [said(&text)]}).to_string();
        loop {
            let headers = [("idempotency-key", text.as_str())];
            let answer = app.send(Method::POST, &format!("{session}/entries"), &headers, body.clone()).await;
            if told(&answer) == Told::Landed {
                break;
            }
        }
        log.push((text, Told::Landed));
    }
    log
}

/// Posts a growing transcript; what is told as failed has to be new the next time.
async fn put(app: Arc<App>, session: String, stop: Arc<AtomicBool>) -> Vec<(String, Told)> {
    let (mut log, mut items) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::SeqCst) && items.len() < 400 {
        let text = format!("put {}", items.len());
        items.push(said(&text));
        let mut before = Told::Failed;
        loop {
            let body = json!({"format": "openai_chat", "items": items});
            let answer = app.put(&format!("{session}/transcript"), body).await;
            let now = told(&answer);
            if now == Told::Landed {
                let appended = answer.body["appended"].as_u64().unwrap();
                assert!(appended == 1 || before == Told::Unknown, "told as failed, and there: {}", answer.text);
                break;
            }
            before = now;
        }
        log.push((text, Told::Landed));
    }
    log
}

/// Makes sessions; one that was told as failed is not there.
async fn create(app: Arc<App>, stop: Arc<AtomicBool>) -> Vec<(String, Told)> {
    let mut log = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let name = format!("made {}", log.len());
        let answer = app.post("/v1/sessions", json!({"external_id": name})).await;
        log.push((name, told(&answer)));
    }
    log
}

fn assert_true(log: &[(String, Told)], stored: &HashMap<String, usize>) {
    for (text, told) in log {
        let times = stored.get(text).copied().unwrap_or(0);
        match told {
            Told::Landed => assert_eq!(times, 1, "{text} was acknowledged"),
            Told::Failed => assert_eq!(times, 0, "{text} was told as failed"),
            Told::Unknown => assert!(times <= 1, "{text} is there {times} times"),
        }
    }
}

fn counted(texts: Vec<String>) -> HashMap<String, usize> {
    let mut stored = HashMap::new();
    texts.into_iter().for_each(|text| *stored.entry(text).or_default() += 1);
    stored
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cut_at_its_commit_is_neither_doubled_nor_lost() {
    let wanted = std::env::var("CONTEXTD_TEST_CUTS").map_or(CUTS, |cuts| cuts.parse().unwrap());
    let (proxy, app) = behind_proxy().await;
    let app = Arc::new(app);
    let settings = json!({"settings": {"enabled": false}});
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(app.session(settings.clone()).await);
    }
    let whole = app.session(settings).await;
    let stop = Arc::new(AtomicBool::new(false));
    proxy.cut(wanted);
    let mut writers = Vec::new();
    // Two of each to a session: they are in each other's way too.
    for writer in 0..4 {
        let session = sessions[writer / 2].clone();
        writers.push(tokio::spawn(append_plainly(Arc::clone(&app), session, writer, Arc::clone(&stop))));
        let session = sessions[2 + writer / 2].clone();
        writers.push(tokio::spawn(append_keyed(Arc::clone(&app), session, writer, Arc::clone(&stop))));
    }
    writers.push(tokio::spawn(put(Arc::clone(&app), whole.clone(), Arc::clone(&stop))));
    let creator = tokio::spawn(create(Arc::clone(&app), Arc::clone(&stop)));
    for cut in 1..=wanted {
        until("a write is cut", async || proxy.cuts() >= cut || writers.iter().all(JoinHandle::is_finished)).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut log = Vec::new();
    for writer in writers {
        log.extend(writer.await.unwrap());
    }
    let made = creator.await.unwrap();
    proxy.rest();
    let mut stored = Vec::new();
    for session in sessions.iter().chain([&whole]) {
        stored.extend(texts(&app, session).await);
    }
    let count = |of: Told| log.iter().chain(&made).filter(|(_, told)| *told == of).count();
    println!(
        "{} cuts, {} acknowledged, {} failed, {} unknown",
        proxy.cuts(),
        count(Told::Landed),
        count(Told::Failed),
        count(Told::Unknown)
    );
    assert!(proxy.cuts() >= wanted);
    let (all, stored) = (stored.len(), counted(stored));
    assert_eq!(stored.len(), all, "something is there twice");
    assert_true(&log, &stored);
    let named = |session: &Value| session["external_id"].as_str().map(str::to_owned);
    let names = self::all(&app, "/v1/sessions").await.iter().filter_map(named).collect();
    assert_true(&made, &counted(names));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_landed_unheard_is_answered_as_if_heard() {
    let (proxy, app) = behind_proxy().await;
    let settings = json!({"settings": {"enabled": false}});
    let session = app.session(settings).await;
    let first = app.append(&session, "openai_chat", json!([said("first")])).await;
    proxy.cut_every(Cut::After);
    let was_cut = |times: usize| assert!(proxy.cuts() >= times, "{} of {times} cuts", proxy.cuts());
    // Without the key, with it, and with the leaf that it expects.
    let body = json!({"format": "openai_chat", "items": [said("second")], "expected_leaf_id": first["leaf_id"]});
    let second = app.post(&format!("{session}/entries"), body).await.expect(201);
    was_cut(1);
    let body = json!({"format": "openai_chat", "items": [said("third")], "expected_leaf_id": second["leaf_id"]});
    let headers = [("idempotency-key", "third")];
    let third = app.send(Method::POST, &format!("{session}/entries"), &headers, body.to_string()).await.expect(201);
    was_cut(2);
    let whole = json!([said("first"), said("second"), said("third"), said("fourth")]);
    let put = app.put(&format!("{session}/transcript"), json!({"format": "openai_chat", "items": whole})).await;
    assert_eq!(put.expect(200)["appended"], 1);
    was_cut(3);
    let target = json!({"target_id": second["leaf_id"]});
    let moved = app.post(&format!("{session}/navigate"), target).await.expect(200);
    assert_eq!(moved["old_leaf_id"].as_str().map(str::len), Some(36));
    was_cut(4);
    app.patch(&session, json!({"title": "still here"})).await.expect(200);
    was_cut(5);
    let fork = app.post(&format!("{session}/fork"), json!({})).await.expect(201);
    was_cut(6);
    let queued = app.post(&format!("{session}/compact"), json!({})).await;
    assert_eq!(queued.status, 202, "{}", queued.text);
    proxy.rest();
    let listed = all(&app, &format!("{session}/entries?all=true")).await;
    let stored: Vec<&Value> = listed.iter().map(|entry| &entry["item"]["content"]).collect();
    assert_eq!(stored[..4], ["first", "second", "third", "fourth"], "{stored:?}");
    assert_eq!(third["entries"][0]["id"], listed[2]["id"]);
    assert_eq!(all(&app, "/v1/sessions").await.len(), 2);
    app.get(&format!("/v1/sessions/{}", fork["id"].as_str().unwrap())).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_nobody_can_tell_is_said_so_and_the_key_makes_it_safe() {
    let (proxy, app) = behind_proxy().await;
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    for (key, how) in [("landed", Cut::After), ("not landed", Cut::Before)] {
        let body = json!({"format": "openai_chat", "items": [said(key)]}).to_string();
        let path = format!("{session}/entries");
        let send = async || app.send(Method::POST, &path, &[("idempotency-key", key)], body.clone()).await;
        proxy.go_down_after_the_next(how);
        let answer = send().await;
        answer.assert_problem(503, "outcome_unknown");
        assert!(answer.header("retry-after").is_some());
        proxy.rest();
        until("it lands", async || {
            let answer = send().await;
            assert!([201, 503].contains(&answer.status), "{}", answer.text);
            answer.status == 201
        })
        .await;
    }
    assert_eq!(texts(&app, &session).await, ["landed", "not landed"]);
}
