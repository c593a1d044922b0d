//! Cancelling what started by itself, and entries that are pinned.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_compaction_does_not_start_again_at_once() {
    let played = PlayedUpstream::start(Behaviour::Held("## Goal\n- rename".to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let settings = json!({"context_window": 12_000, "reserve_tokens": 2_000, "keep_recent_tokens": 1_000,
        "ahead_at": null, "strategy": "llm_summarize"});
    let session = app.session(json!({"settings": settings})).await;
    let mut count = 0;
    let first = loop {
        let answer = app.append(&session, "openai_chat", json!(turns(count..count + 1, 120))).await;
        count += 1;
        assert!(count < 60, "nothing started: {answer}");
        if answer["compaction"].is_object() {
            break answer;
        }
    };
    let id = first["compaction"]["id"].as_str().unwrap().to_owned();
    let cancelled = app.post(&format!("/v1/compactions/{id}/cancel"), json!({})).await.expect(200);
    assert_eq!((&cancelled["status"], &cancelled["trigger"]), (&json!("cancelled"), &json!("auto")));
    let at = first["snapshot"]["tokens"].as_u64().unwrap();
    let small = app.append(&session, "openai_chat", json!([{"role": "user", "content": "go on"}])).await;
    assert_eq!(small["snapshot"]["state"], "red", "{small}");
    assert_eq!(small["compaction"], Value::Null, "{small}");
    loop {
        let answer = app.append(&session, "openai_chat", json!(turns(count..count + 1, 120))).await;
        count += 1;
        assert!(count < 80, "it never starts again: {answer}");
        if answer["compaction"].is_object() {
            assert!(answer["snapshot"]["tokens"].as_u64().unwrap() > at + at / 10, "{answer}");
            break;
        }
    }
}

#[tokio::test]
async fn pinned_entries_stay_word_for_word() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let entries = all(app, &format!("{session}/entries")).await;
    let pinned = &entries[12];
    assert_eq!(pinned["item"]["content"], json!(asked(3)));
    app.patch(&session, json!({"settings": {"pinned_entry_ids": [pinned["id"]]}})).await.expect(200);
    for _ in 0..2 {
        let done = compact(app, &session, json!({"force": true})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let shown = context(app, &session, "openai_chat").await;
        assert!(messages(&shown).contains(&pinned["item"]), "{shown}");
        app.append(&session, "openai_chat", json!(turns(40..60, 120))).await;
    }
}
