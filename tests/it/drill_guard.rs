//! Compactions that save too little are stopped, and started again when that can help.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

/// No compaction saves 99 percent, so each one counts as low.
fn never_enough() -> Value {
    let mut settings = by_hand();
    settings["min_savings_pct"] = json!(99);
    settings
}

/// A session whose guard has tripped, and the compaction that made it trip.
async fn tripped(app: &App, settings: Value) -> (String, Value) {
    let session = app.session(json!({"settings": settings})).await;
    let mut last = Value::Null;
    for round in 0..2 {
        app.append(&session, "openai_chat", json!(turns(round * 20..round * 20 + 20, 120))).await;
        last = compact(app, &session, json!({})).await;
        assert_eq!(last["status"], "succeeded", "{last}");
        assert_eq!(last["result"]["anti_thrash"]["low_savings_streak"], json!(round + 1), "{last}");
    }
    (session, last)
}

async fn guard(app: &App, session: &str) -> Value {
    app.get(&format!("{session}/snapshot")).await.expect(200)["anti_thrash"].clone()
}

/// Appends whole turns from `from` on until the context has so many tokens.
async fn grow_to(app: &App, session: &str, mut from: usize, tokens: u64) {
    while app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_u64().unwrap() < tokens {
        app.append(session, "openai_chat", json!(turns(from..from + 2, 120))).await;
        from += 2;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_low_savings_trip_it_and_growth_sets_it_again() {
    let app = App::shared();
    let (session, last) = tripped(app, never_enough()).await;
    let at = last["result"]["tokens_before"].as_u64().unwrap();
    let found = guard(app, &session).await;
    assert_eq!(found["tripped"], true, "{found}");
    assert_eq!(found["tripped_at_tokens"], json!(at), "{found}");
    let retry_at = found["retry_at_tokens"].as_u64().unwrap();
    assert_eq!(retry_at, (at * 5).div_ceil(4), "{found}");
    app.append(&session, "openai_chat", json!(turns(40..44, 120))).await;
    let skipped = compact(app, &session, json!({})).await;
    assert_eq!((&skipped["status"], &skipped["result"]["skip_reason"]), (&json!("skipped"), &json!("anti_thrash")));
    assert_eq!(skipped["result"]["was_skipped_due_to_low_savings"], true, "{skipped}");
    assert_eq!(skipped["result"]["tokens_before"], skipped["result"]["tokens_after"]);
    assert_eq!(skipped["result"]["anti_thrash"]["retry_at_tokens"], json!(retry_at), "{skipped}");
    let prepared = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    assert_eq!((&prepared["possible"], &prepared["reason"]), (&json!(false), &json!("anti_thrash")), "{prepared}");
    assert_eq!(prepared["enabled"], false, "{prepared}");
    grow_to(app, &session, 44, retry_at).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(done["result"]["anti_thrash"]["reset_reason"], "growth", "{done}");
    assert_eq!(done["result"]["anti_thrash"]["low_savings_streak"], 1, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn force_passes_and_reset_clears() {
    let app = App::shared();
    let (session, _) = tripped(app, never_enough()).await;
    app.append(&session, "openai_chat", json!(turns(40..50, 120))).await;
    let forced = compact(app, &session, json!({"force": true})).await;
    assert_eq!(forced["status"], "succeeded", "{forced}");
    assert_eq!(guard(app, &session).await["tripped"], true);
    app.post(&format!("{session}/anti-thrash/reset"), json!({})).await.expect(200);
    let found = guard(app, &session).await;
    assert_eq!((&found["tripped"], &found["low_savings_streak"]), (&json!(false), &json!(0)), "{found}");
    assert_eq!(found["reset_reason"], "manual", "{found}");
    app.append(&session, "openai_chat", json!(turns(50..60, 120))).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_message_sets_it_again_where_the_session_says_so() {
    let app = App::shared();
    let mut settings = never_enough();
    settings["reset"] = json!("new_messages");
    let (session, _) = tripped(app, settings).await;
    assert_eq!(guard(app, &session).await["tripped"], true);
    app.append(&session, "openai_chat", json!(turns(40..50, 120))).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(done["result"]["anti_thrash"]["reset_reason"], "new_messages", "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_of_zero_turns_it_off_and_good_savings_clear_the_streak() {
    let app = App::shared();
    let mut settings = never_enough();
    settings["max_consecutive_low_savings"] = json!(0);
    let (session, _) = tripped(app, settings).await;
    app.append(&session, "openai_chat", json!(turns(40..60, 120))).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
    let (session, _) = tripped(app, never_enough()).await;
    app.patch(&session, json!({"settings": {"min_savings_pct": 5}})).await.expect(200);
    assert_eq!(guard(app, &session).await["reset_reason"], "settings");
    app.append(&session, "openai_chat", json!(turns(40..60, 120))).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["result"]["anti_thrash"]["low_savings_streak"], 0, "{done}");
}
