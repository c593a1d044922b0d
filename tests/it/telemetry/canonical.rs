//! One log line for each request and for each attempt at a job, with nothing in it of what was said.

use std::collections::BTreeMap;
use std::fs::File;

use reqwest::Method;
use serde_json::{Value, json};

use super::{CANARY, PARENT, Stage, TRACE};
use crate::app::App;
use crate::drill_support::{by_hand, compact, id_of};
use crate::hook_support::Reply;
use crate::played_upstream::Behaviour;

/// The lines of a log by the word that they are, those alone that are requests' or jobs'.
fn read(log: &File) -> (String, BTreeMap<String, Vec<Value>>) {
    use std::os::unix::fs::FileExt;
    let mut bytes = vec![0; usize::try_from(log.metadata().unwrap().len()).unwrap()];
    log.read_exact_at(&mut bytes, 0).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(word @ ("request" | "job")) = line["message"].as_str() {
            lines.entry(word.to_owned()).or_default().push(line);
        }
    }
    (text, lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_and_each_attempt_leaves_one_line() {
    let log = tempfile::tempfile().unwrap();
    let stage = {
        let log = log.try_clone().unwrap();
        let start = move |envs: &[(&str, &str)]| App::logging(envs, log);
        Stage::set(Behaviour::EchoError(500), &[("CONTEXTD_LOG", "info")], start).await
    };
    stage.hook.play(|_, _| Reply::Text(200, CANARY));
    let app = &stage.app;
    let session = stage.filled(by_hand()).await;
    let done = stage.compacted(&session).await;
    assert_eq!(done["status"], "succeeded", "the built-in summariser stands in: {done}");
    stage.upstream.play(Behaviour::good());
    let other = stage.filled(by_hand()).await;
    let good = compact(app, &other, json!({"strategy": "llm_summarize"})).await;
    let mut ids = Vec::new();
    for (method, path, status) in [
        (Method::GET, format!("{session}/search?q={CANARY}"), 200),
        (Method::GET, format!("{session}/tool-calls/{CANARY}"), 404),
        (Method::GET, format!("/nowhere/{CANARY}"), 404),
        (Method::POST, format!("{session}/entries"), 422),
        (Method::DELETE, "/v1/sessions".to_owned(), 405),
        (Method::GET, "/healthz".to_owned(), 200),
    ] {
        let id = format!("one-{}", ids.len());
        let body = json!({"format": CANARY, "items": CANARY}).to_string();
        let body = if method == Method::POST { body } else { String::new() };
        let headers = [("x-request-id", id.as_str()), ("traceparent", PARENT)];
        assert_eq!(app.send(method, &path, &headers, body).await.status, status, "{path}");
        ids.push(id);
    }
    stage.hook.wait_for(1).await;
    let session_id = id_of(&session).to_owned();
    assert!(stage.app.stop().await.success());

    let (text, lines) = read(&log);
    assert!(!text.contains(CANARY), "{text}");
    let requests = &lines["request"];
    let mut all: Vec<&str> = requests.iter().map(|line| line["request_id"].as_str().unwrap()).collect();
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count, "one line for each request");
    for id in &ids {
        let line = requests.iter().find(|line| line["request_id"] == **id).unwrap();
        println!("{line}");
        assert_eq!(line["trace_id"], TRACE, "{line}");
        for field in ["method", "route", "status", "duration_ms"] {
            assert!(!line[field].is_null(), "{field}: {line}");
        }
    }
    let line = |id: &str| requests.iter().find(|line| line["request_id"] == id).unwrap();
    assert_eq!((&line("one-0")["session"], &line("one-0")["tenant"].is_string()), (&json!(session_id), &true));
    assert_eq!((&line("one-1")["code"], &line("one-2")["route"]), (&json!("not_found"), &json!("unmatched")));
    assert_eq!(line("one-3")["code"], "validation_failed");
    assert_eq!((&line("one-4")["code"], &line("one-5")["code"]), (&json!("method_not_allowed"), &Value::Null));

    let jobs = &lines["job"];
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    for (compaction, calls, upstream, fallback) in
        [(&done, json!(2), "builtin", json!("server_error")), (&good, json!(1), "default", Value::Null)]
    {
        let line = jobs.iter().find(|line| line["compaction"] == compaction["id"]).unwrap();
        println!("{line}");
        let result = &compaction["result"];
        for (field, value) in [
            ("kind", &json!("compact")),
            ("session", &compaction["session_id"]),
            ("trigger", &json!("manual")),
            ("strategy", &result["strategy_used"]),
            ("attempt", &json!(1)),
            ("outcome", &json!("done")),
            ("status", &json!("succeeded")),
            ("tokens_before", &result["tokens_before"]),
            ("tokens_after", &result["tokens_after"]),
            ("upstream", &json!(upstream)),
            ("calls", &calls),
            ("fallback", &fallback),
            ("error", &Value::Null),
        ] {
            assert_eq!(&line[field], value, "{field}: {line}");
        }
        assert!(line["tenant"].is_string() && line["queue_wait_ms"].is_u64() && line["duration_ms"].is_u64(), "{line}");
    }
}

/// A client that goes away before its answer leaves a line too.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_waits_for_leaves_one_line() {
    let log = tempfile::tempfile().unwrap();
    let start = |envs: &[(&str, &str)]| App::logging(envs, log.try_clone().unwrap());
    let stage = Stage::set(Behaviour::Held("late".to_owned()), &[], start).await;
    let session = stage.filled(by_hand()).await;
    let body = json!({"strategy": "llm_summarize", "wait": 60}).to_string();
    let headers = [("x-request-id", "gone")];
    let path = format!("{session}/compact");
    let waiting = stage.app.send(Method::POST, &path, &headers, body);
    tokio::select! {
        _ = waiting => panic!("the upstream holds its answer"),
        () = crate::patience::until("the upstream is asked", async || stage.upstream.calls() > 0) => {}
    }
    stage.upstream.release();
    let lines = crate::patience::eventually("its line is there", async || {
        let (_, lines) = read(&log);
        let of = |line: &&Value| line["request_id"] == "gone";
        let lines: Vec<Value> = lines.get("request")?.iter().filter(of).cloned().collect();
        (!lines.is_empty()).then_some(lines)
    })
    .await;
    assert_eq!(
        (lines.len(), &lines[0]["abandoned"], &lines[0]["status"]),
        (1, &json!(true), &Value::Null),
        "{lines:?}"
    );
}
