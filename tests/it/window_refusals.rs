//! A provider's refusal is relieved, and teaches the window that it names.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

async fn refused(app: &App, session: &str, error: &str) -> Value {
    let body = json!({"format": "openai_chat", "items": [], "provider_error": error});
    app.post(&format!("{session}/entries"), body).await.expect(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_relieved_though_the_guard_has_given_up() {
    let app = App::shared();
    let settings =
        json!({"context_window": 60_000, "keep_recent_tokens": 1_500, "min_savings_pct": 99, "ahead_at": null});
    let session = app.session(json!({"settings": settings, "model": "some-model"})).await;
    for round in 0..2 {
        app.append(&session, "openai_chat", json!(turns(round * 20..round * 20 + 20, 120))).await;
        assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
    }
    app.append(&session, "openai_chat", json!(turns(40..50, 120))).await;
    let guard = &snapshot(app, &session).await["anti_thrash"];
    assert_eq!((&guard["tripped"], &guard["tripped_by"]), (&json!(true), &json!("savings")), "{guard}");
    let error = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
    let answer = refused(app, &session, error).await;
    assert_eq!((&answer["overflow"]["retry"], &answer["compaction"]["trigger"]), (&json!(true), &json!("overflow")));
    let done = ended(app, &answer["compaction"]["id"]).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let now = snapshot(app, &session).await;
    assert_eq!((&now["window"], &now["window_source"]), (&json!(8_192), &json!("refusal")), "{now}");
    let context = context(app, &session, "openai_chat").await;
    assert!(context["tokens"].as_u64().unwrap() <= 8_192 && context["exceeds_window"].is_null(), "{context}");
    // The same refusal is relieved once.
    let again = refused(app, &session, error).await;
    assert_eq!((&again["overflow"]["retry"], &again["overflow"]["reason"]), (&json!(false), &json!("already_tried")));
    // It is of this session and this model, and gives way to a window that is set anew.
    let other = app.patch(&session, json!({"model": "other-model"})).await.expect(200);
    assert_eq!(other["snapshot"]["window"], 60_000, "{other}");
    app.patch(&session, json!({"model": "some-model"})).await.expect(200);
    assert_eq!(snapshot(app, &session).await["window"], 8_192);
    let set = app.patch(&session, json!({"settings": {"context_window": 40_000}})).await.expect(200);
    assert_eq!((&set["snapshot"]["window"], &set["snapshot"]["window_source"]), (&json!(40_000), &json!("setting")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_names_its_window_in_its_own_words() {
    let app = App::shared();
    for (error, window) in [
        ("prompt is too long: 210000 tokens > 20000 maximum", 20_000),
        ("The input token count (41000) exceeds the maximum number of tokens allowed (32768).", 32_768),
        ("the request exceeds the available context size (16384 tokens), try increasing it", 16_384),
        (r#"{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":50000,"n_ctx":4096}}"#, 4_096),
    ] {
        let session = app.session(json!({"settings": {"enabled": false}, "model": "nobody-knows"})).await;
        app.append(&session, "openai_chat", json!(turns(0..10, 120))).await;
        assert_eq!(snapshot(app, &session).await["window_source"], "guess");
        let answer = refused(app, &session, error).await;
        assert_eq!(answer["overflow"]["retry"], true, "{answer}");
        let now = &answer["snapshot"];
        assert_eq!((&now["window"], &now["window_source"]), (&json!(window), &json!("refusal")), "{error}");
        ended(app, &answer["overflow"]["compaction_id"]).await;
    }
    let session = app.session(json!({"settings": {"context_window": 10_000}})).await;
    app.append(&session, "openai_chat", json!(turns(0..3, 120))).await;
    let answer = refused(app, &session, "prompt is too long: 210000 tokens > 200000 maximum").await;
    assert_eq!(answer["snapshot"]["window"], 10_000, "a setting is never replaced upwards");
}

/// Under a guess, or a table's figure for a server that has been given less, nothing would be left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_names_no_window_is_relieved_too() {
    let app = App::shared();
    for model in ["nobody-knows", "claude-sonnet-4-5"] {
        for error in [
            "tokens to keep from the initial prompt is greater than the context length",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "prompt is too long",
        ] {
            let session = app.session(json!({"model": model})).await;
            app.append(&session, "openai_chat", json!(turns(0..40, 120))).await;
            let before = snapshot(app, &session).await["tokens"].as_u64().unwrap();
            let answer = refused(app, &session, error).await;
            assert_eq!(answer["overflow"]["retry"], true, "{answer}");
            let done = ended(app, &answer["overflow"]["compaction_id"]).await;
            assert_eq!(done["status"], "succeeded", "{model}: {error}: {done}");
            let now = snapshot(app, &session).await;
            assert_eq!(now["window_source"], "refusal", "{now}");
            assert!(now["window"].as_u64().unwrap() <= before, "{before}: {now}");
            assert!(now["tokens"].as_u64().unwrap() * 2 <= before, "{before}: {now}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_compaction_can_relieve_is_said() {
    let app = App::shared();
    let system = "You follow each of these rules. ".repeat(900);
    let session = app.session(json!({"system": system, "model": "nobody-knows"})).await;
    app.append(&session, "openai_chat", json!(turns(0..10, 120))).await;
    let answer = refused(app, &session, "the request exceeds the available context size (4096 tokens)").await;
    let overflow = &answer["overflow"];
    assert_eq!((&overflow["retry"], &overflow["reason"]), (&json!(false), &json!("fixed_overhead")), "{answer}");
    assert!(answer["compaction"].is_null(), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_in_vain_does_not_trip_the_guard() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let said = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": "What"}, {"role": "assistant", "content": "Ok"}]);
    app.append(&session, "openai_chat", said).await;
    for _ in 0..3 {
        let body =
            json!({"settings": {"keep_recent_tokens": 0}, "summary": "## Goal\nSay hello and be done with it soon."});
        let done = compact(app, &session, body).await;
        assert_eq!(done["result"]["skip_reason"], "would_grow", "{done}");
    }
    let guard = &snapshot(app, &session).await["anti_thrash"];
    assert_eq!((&guard["tripped"], &guard["low_savings_streak"]), (&json!(false), &json!(0)), "{guard}");
}
