//! Appends while a summary is being written, with and without a crash in the middle.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const APPENDS: usize = 40;

fn held() -> Behaviour {
    Behaviour::Held(SUMMARY.to_owned())
}

fn said(n: usize) -> Value {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    json!({"role": role, "content": format!("Said meanwhile, number {n}.")})
}

/// Appends one message; how long it took.
async fn say(app: &App, session: &str, n: usize) -> Duration {
    let started = Instant::now();
    app.append(session, "openai_chat", json!([said(n)])).await;
    started.elapsed()
}

/// Everything is stored in order, and the context ends with what was said meanwhile and is valid.
async fn assert_nothing_lost(app: &App, session: &str, before: Vec<Value>) {
    let expected: Vec<Value> = before.into_iter().chain((0..APPENDS).map(said)).collect();
    assert_eq!(kept_items(app, session).await, expected);
    let shown = context(app, session, "openai_chat").await;
    assert!(messages(&shown).ends_with(&expected[expected.len() - APPENDS..]));
    assert!(shown["summary_entry_id"].is_string(), "{shown}");
    for format in FORMATS {
        let shown = context(app, session, format).await;
        assert_eq!(violations(format, messages(&shown), format == "openai_chat"), Vec::<String>::new());
        assert!(shown["messages"].to_string().contains(&asked(0)), "the first message of the user is shown");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_appends_go_on_while_a_summary_is_written() {
    let upstream = PlayedUpstream::start(held()).await;
    let app = App::fresh(&self::upstream(&upstream.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 30).await;
    let before = kept_items(&app, &session).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    upstream.wait_for_calls(1).await;
    let mut latencies = Vec::new();
    for n in 0..APPENDS {
        latencies.push(say(&app, &session, n).await);
    }
    let during = reaches(&app, &id, &["running"]).await;
    assert_eq!(during["trigger"], "manual");
    latencies.sort();
    println!(
        "{APPENDS} appends during a summary: median {:.1?}, slowest {:.1?}",
        latencies[APPENDS / 2],
        latencies[APPENDS - 1]
    );
    upstream.play(Behaviour::good());
    upstream.release();
    let done = ended(&app, &id).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(done["result"]["fallback"]["used"], false, "{done}");
    assert!(done["result"]["tokens_after"].as_u64() < done["result"]["tokens_before"].as_u64());
    assert_nothing_lost(&app, &session, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_a_summary_loses_nothing() {
    let upstream = PlayedUpstream::start(held()).await;
    let mut app = App::fresh(&self::upstream(&upstream.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 30).await;
    let before = kept_items(&app, &session).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    upstream.wait_for_calls(1).await;
    for n in 0..APPENDS / 2 {
        say(&app, &session, n).await;
    }
    reaches(&app, &id, &["running"]).await;
    app = tokio::task::block_in_place(|| app.kill_and_restart());
    let restarted = Instant::now();
    for n in APPENDS / 2..APPENDS {
        say(&app, &session, n).await;
    }
    reaches(&app, &id, &["queued", "running"]).await;
    upstream.play(Behaviour::good());
    upstream.release();
    let done = ended(&app, &id).await;
    println!("after kill -9, the compaction ended {:.1?} after the restart", restarted.elapsed());
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_nothing_lost(&app, &session, before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_gives_the_running_job_back_and_the_next_start_finishes_it() {
    let upstream = PlayedUpstream::start(held()).await;
    let base_url = upstream.base_url();
    let mut envs = self::upstream(&base_url, "3600000");
    envs.push(("CONTEXTD_SHUTDOWN_MS", "1000"));
    let app = App::fresh(&envs);
    let session = filled(&app, by_hand(), 30).await;
    let before = kept_items(&app, &session).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    upstream.wait_for_calls(1).await;
    upstream.play(Behaviour::good());
    let (status, app) = tokio::task::block_in_place(|| app.stop_and_restart());
    assert!(status.success(), "{status}");
    let done = ended(&app, &id).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    // The first process did not see it through: the answer that it waited for never came, and nothing stood in for it.
    assert_eq!(done["result"]["fallback"]["used"], false, "{done}");
    assert_eq!(kept_items(&app, &session).await, before);
}
