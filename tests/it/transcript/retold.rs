//! What a model has to do with compactions that edits change: its version follows, and what it is at work on is not lost.

use serde_json::{Value, json};

use super::carried::said;
use crate::app::App;
use crate::drill_support::{all, compact, context, ended, turns, upstream};
use crate::patience::eventually;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

async fn posted(app: &App, session: &str, items: &[Value]) -> Value {
    let body = json!({"format": "openai_chat", "items": items, "return_context": "openai_chat"});
    app.put(&format!("{session}/transcript"), body).await.expect(200)
}

fn settings() -> Value {
    json!({"context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1_500})
}

/// A phrase of the played model's.
const WORDS: &str = "Ship it green.";

#[tokio::test(flavor = "multi_thread")]
async fn code_tells_it_at_once_and_a_model_after_that() {
    assert!(SUMMARY.contains(WORDS));
    let played = PlayedUpstream::start(Behaviour::good()).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = app.session(json!({"settings": settings()})).await;
    let mut history = turns(0..30, 120);
    posted(&app, &session, &history).await;
    assert_eq!(compact(&app, &session, json!({})).await["status"], "succeeded");
    assert!(context(&app, &session, "openai_chat").await["messages"].to_string().contains(WORDS));
    played.play(Behaviour::Held(SUMMARY.to_owned()));
    history[4] = said(4, "Rather call the part src/renamed.rs.");
    let answer = posted(&app, &session, &history).await;
    let told = answer["context"]["messages"].to_string();
    assert!(answer["context"]["summary_entry_id"].is_string() && !told.contains(WORDS), "{told}");
    assert_eq!(answer["compaction"], Value::Null);
    played.play(Behaviour::good());
    played.release();
    eventually("a model's version", async || {
        context(&app, &session, "openai_chat").await["messages"].to_string().contains(WORDS).then_some(())
    })
    .await;
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!(snapshot["anti_thrash"]["low_savings_streak"], 0, "{snapshot}");
}

/// What a caller gave stands in no message: it outlives the edit, the record that code tells and the model's version behind it.
#[tokio::test(flavor = "multi_thread")]
async fn given_notes_outlive_what_is_told_again() {
    const NOTES: &str = "Port 8080 was agreed on with the operators.";
    let played = PlayedUpstream::start(Behaviour::good()).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = app.session(json!({"settings": settings()})).await;
    let mut history = turns(0..20, 60);
    posted(&app, &session, &history).await;
    assert_eq!(compact(&app, &session, json!({"summary": NOTES})).await["status"], "succeeded");
    history.extend(turns(20..40, 60));
    posted(&app, &session, &history).await;
    let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    assert_eq!((&done["status"], &done["result"]["fallback"]["used"]), (&json!("succeeded"), &json!(false)), "{done}");
    let shown = async || context(&app, &session, "openai_chat").await["messages"].to_string();
    assert!(shown().await.contains(WORDS));
    played.play(Behaviour::Held(SUMMARY.to_owned()));
    // Behind what the notes stand for.
    history[4 * 24] = said(24, "Rather call the part src/renamed.rs.");
    let told = posted(&app, &session, &history).await["context"]["messages"].to_string();
    assert_eq!((told.matches(NOTES).count(), told.contains(WORDS)), (1, false), "{told}");
    played.play(Behaviour::good());
    played.release();
    eventually("a model's version", async || shown().await.contains(WORDS).then_some(())).await;
    let asked = played.requests().pop().expect("a request");
    assert!(asked.user().contains(NOTES), "whoever writes is shown it: {}", asked.user());
    history.extend(turns(40..60, 60));
    posted(&app, &session, &history).await;
    assert_eq!(compact(&app, &session, json!({"strategy": "summarize"})).await["status"], "succeeded");
    let told = shown().await;
    assert_eq!(told.matches(NOTES).count(), 1, "{told}");
}

/// Where the edit takes away what they stand for, they go with it.
#[tokio::test(flavor = "multi_thread")]
async fn given_notes_go_with_what_they_stand_for() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings()})).await;
    let mut history = turns(0..20, 60);
    posted(app, &session, &history).await;
    assert_eq!(compact(app, &session, json!({"summary": "Port 8080 was agreed on."})).await["status"], "succeeded");
    history.extend(turns(20..40, 60));
    history[4] = said(4, "Rather call the part src/renamed.rs.");
    let told = posted(app, &session, &history).await["context"]["messages"].to_string();
    assert!(told.contains("renamed") && !told.contains("Port 8080"), "{told}");
}

/// A client that tells the time in its last message does so while a model writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_summary_lands_though_the_last_message_was_replaced() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = app.session(json!({"settings": settings()})).await;
    let mut history = turns(0..30, 120);
    history.push(said(0, "It is 1:00. Go on."));
    posted(&app, &session, &history).await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    played.wait_for_calls(1).await;
    history[120] = said(0, "It is 2:00. Go on.");
    posted(&app, &session, &history).await;
    played.play(Behaviour::good());
    played.release();
    let done = ended(&app, &id).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let shown = context(&app, &session, "openai_chat").await;
    let messages = shown["messages"].as_array().unwrap();
    assert!(shown.to_string().contains(WORDS) && messages.last() == history.last(), "{shown}");
    history.extend([said(25, "Done."), said(26, "It is 3:00. Go on.")]);
    assert_eq!(posted(&app, &session, &history).await["compaction"], Value::Null);
    let compactions = all(&app, &format!("{session}/compactions")).await;
    assert_eq!((compactions.len(), played.calls()), (1, 1), "{compactions:?}");
}
