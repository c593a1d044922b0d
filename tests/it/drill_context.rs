//! What a rebuilt context promises: a stable prefix, results paged back in, a way back.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

fn stable(context: &Value) -> usize {
    context["stable_prefix_messages"].as_u64().unwrap().try_into().unwrap()
}

/// The messages as they are sent, byte for byte.
async fn sent(app: &App, session: &str, format: &str) -> String {
    #[derive(Deserialize)]
    struct Context {
        messages: Box<RawValue>,
    }
    let answer = app.get(&format!("{session}/context?format={format}")).await;
    let context: Context = serde_json::from_str(&answer.text).unwrap();
    context.messages.get().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn between_compactions_the_prefix_is_stable() {
    let app = App::shared();
    for format in FORMATS {
        let session = filled(app, by_hand(), 10).await;
        let mut shown = messages(&context(app, &session, format).await).clone();
        for round in 10..14 {
            app.append(&session, "openai_chat", json!(turns(round..round + 1, 50))).await;
            let next = context(app, &session, format).await;
            assert_eq!(stable(&next), shown.len(), "{format}, round {round}");
            assert!(messages(&next).starts_with(&shown), "{format}, round {round}");
            shown.clone_from(messages(&next));
        }
        let same = context(app, &session, format).await;
        assert_eq!((stable(&same), messages(&same)), (shown.len(), &shown), "{format}");
        assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
        let after = context(app, &session, format).await;
        let common = messages(&after).iter().zip(&shown).take_while(|(new, old)| new == old).count();
        assert_eq!(stable(&after), common, "{format}");
        assert!(common >= 1, "the first message of the user stands first, as before");
        app.append(&session, "openai_chat", json!(turns(14..15, 50))).await;
        assert_eq!(stable(&context(app, &session, format).await), messages(&after).len(), "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn masked_results_are_listed_and_paged_back_in() {
    let app = App::shared();
    let session = filled(app, by_hand(), 10).await;
    let settings = json!({"keep_recent_results": 2});
    let done = compact(app, &session, json!({"strategy": "mask", "settings": settings})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(done["result"]["tool_results_masked"], 8, "{done}");
    let rows = all(app, &format!("{session}/tool-calls")).await;
    for format in FORMATS {
        let shown = context(app, &session, format).await;
        let elided: Vec<String> = shown["elided"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["tool_call_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(elided, (0..8).map(|n| format!("call_{n}")).collect::<Vec<_>>(), "{format}");
        let text = shown["messages"].to_string();
        assert!(!text.contains("line0_7 ") && text.contains("line8_7 ") && text.contains("line9_7 "), "{format}");
        assert!(text.contains("[tool_result elided; call_id=call_0; original_tokens="), "{format}");
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}");
    }
    let items = turns(0..10, 120);
    for (n, row) in rows.iter().enumerate() {
        assert_eq!((&row["elided"], &row["status"]), (&json!(n < 8), &json!("returned")), "{row}");
        let call = app.get(&format!("{session}/tool-calls/call_{n}")).await.expect(200);
        assert_eq!(call["result_text"], items[4 * n + 2]["content"], "{call}");
        let entry =
            app.get(&format!("{session}/entries/{}", row["result_entry_id"].as_str().unwrap())).await.expect(200);
        assert_eq!(entry["item"], items[4 * n + 2]);
    }
    let again = compact(app, &session, json!({"strategy": "mask", "settings": settings})).await;
    assert_eq!(again["status"], "skipped", "masking is idempotent: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverted_compaction_leaves_the_context_as_it_was() {
    let app = App::shared();
    for strategy in ["summarize", "mask", "prune"] {
        let session = filled(app, by_hand(), 30).await;
        let mut before = Vec::new();
        for format in FORMATS {
            before.push(sent(app, &session, format).await);
        }
        let tokens = app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].clone();
        let settings = json!({"keep_recent_results": 1});
        let done = compact(app, &session, json!({"strategy": strategy, "settings": settings})).await;
        assert_eq!(done["status"], "succeeded", "{strategy}: {done}");
        assert_ne!(sent(app, &session, FORMATS[0]).await, before[0], "{strategy}");
        let path = format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap());
        app.post(&path, json!({})).await.expect(200);
        for (format, before) in FORMATS.iter().zip(&before) {
            assert_eq!(sent(app, &session, format).await, *before, "{strategy}");
        }
        assert_eq!(app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"], tokens, "{strategy}");
        assert_eq!(app.post(&path, json!({})).await.status, 409, "{strategy}");
        let again = compact(app, &session, json!({"strategy": strategy, "settings": settings})).await;
        assert_eq!(again["status"], "succeeded", "{strategy}: {again}");
        assert_eq!(kept_items(app, &session).await, turns(0..30, 120), "{strategy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_compactions_can_be_reverted_alone() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "succeeded");
    app.append(&session, "openai_chat", json!(turns(20..40, 120))).await;
    let before = sent(app, &session, "anthropic").await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["result"]["previous_summary_reused"], true, "{done}");
    app.post(&format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap()), json!({})).await.expect(200);
    assert_eq!(sent(app, &session, "anthropic").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_compaction_never_lands() {
    let played = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let app = App::fresh(&upstream(&played.base_url(), "3600000"));
    let session = filled(&app, by_hand(), 30).await;
    let before = sent(&app, &session, "openai_chat").await;
    let id = app.post(&format!("{session}/compact"), json!({})).await.expect(202)["id"].clone();
    played.wait_for_calls(1).await;
    let path = format!("/v1/compactions/{}/cancel", id.as_str().unwrap());
    assert_eq!(app.post(&path, json!({})).await.expect(200)["status"], "cancelled");
    played.play(Behaviour::good());
    played.release();
    played.wait_for_running(0).await;
    assert_eq!(sent(&app, &session, "openai_chat").await, before);
    assert_eq!(all(&app, &format!("{session}/entries")).await.len(), 120);
    assert_eq!(compact(&app, &session, json!({})).await["status"], "succeeded");
    assert_eq!(reaches(&app, &id, &["cancelled"]).await["status"], "cancelled");
    let entries = all(&app, &format!("{session}/entries")).await;
    assert_eq!(entries.iter().filter(|entry| entry["type"] == "compaction").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_result_is_answered_and_an_orphan_is_left_out() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let call = json!({"id": "open_1", "type": "function", "function": {"name": "run", "arguments": "{}"}});
    let items = json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "never mind"}]);
    app.append(&session, "openai_chat", items).await;
    let orphan = json!([{"role": "tool", "tool_call_id": "nowhere", "content": "an orphan's words"}]);
    let answer = app.append(&session, "openai_chat", orphan).await;
    assert_eq!(answer["warnings"][0]["code"], "orphan_tool_result", "{answer}");
    for format in FORMATS {
        let shown = context(app, &session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{shown}");
        assert!(!shown["messages"].to_string().contains("an orphan's words"), "{format}");
        let codes = shown["conversion_notes"].to_string();
        assert!(codes.contains("synthetic_result") && codes.contains("orphan_result_dropped"), "{codes}");
    }
}
