//! Compactions that start by themselves: at red, and when a provider says that the context is too long.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};

fn small_window() -> Value {
    json!({"context_window": 12_000, "reserve_tokens": 2_000, "keep_recent_tokens": 1_000, "ahead_at": null})
}

/// Appends turns one by one until a compaction starts; its id and how many turns there are.
async fn until_one_starts(app: &App, session: &str, from: usize) -> (Value, usize) {
    for n in from..from + 60 {
        let answer = app.append(session, "openai_chat", json!(turns(n..n + 1, 120))).await;
        let red = answer["snapshot"]["state"] == "red";
        assert_eq!(answer["compaction"].is_object(), red, "{answer}");
        if red {
            assert_eq!(answer["compaction"]["trigger"], "auto", "{answer}");
            return (answer["compaction"]["id"].clone(), n + 1);
        }
    }
    panic!("no compaction started");
}

#[tokio::test(flavor = "multi_thread")]
async fn red_starts_a_compaction_again_and_again() {
    let app = App::shared();
    let session = app.session(json!({"settings": small_window()})).await;
    let mut count = 0;
    for round in 0..4 {
        let (id, now) = until_one_starts(app, &session, count).await;
        count = now;
        let done = ended(app, &id).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
        assert_ne!(snapshot["state"], "red", "round {round}: {snapshot}");
        for format in FORMATS {
            let shown = context(app, &session, format).await;
            assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new());
            assert!(shown["messages"].to_string().contains(&asked(0)));
        }
    }
    assert_eq!(kept_items(app, &session).await, turns(0..count, 120));
    assert_eq!(all(app, &format!("{session}/compactions")).await.len(), 4);
    assert_eq!(all(app, &format!("{session}/tool-calls")).await.len(), count);
}

/// What was just compacted is red again after one long turn, and not full: the turn behind it starts the next compaction.
#[tokio::test(flavor = "multi_thread")]
async fn the_turn_behind_a_compaction_starts_no_other() {
    let app = App::shared();
    let words = |name: &str, count: usize| (0..count).map(|n| format!("{name}{n} ")).collect::<String>();
    let system = json!({"role": "system", "content": words("rule", 2_200)});
    let session = app.session(json!({"settings": small_window()})).await;
    app.append(&session, "openai_chat", json!([system])).await;
    let (id, now) = until_one_starts(app, &session, 0).await;
    assert_eq!(ended(app, &id).await["status"], "succeeded");
    let usable = 10_000;
    let small = app.get(&format!("{session}/snapshot")).await.expect(200)["tokens"].as_u64().unwrap();
    // A tenth of the window, and as much as makes it red.
    let missing = 9_300 - small;
    assert!(missing > 1_200, "{small} tokens behind the compaction");
    let long = json!([{"role": "user", "content": words("w", usize::try_from(missing).unwrap() * 2 / 5)},
                      {"role": "assistant", "content": "Seen."}]);
    let next = app.append(&session, "openai_chat", long).await;
    assert_eq!(next["snapshot"]["state"], "red", "{next}");
    assert!(next["snapshot"]["tokens"].as_u64().unwrap() <= usable, "{next}");
    assert_eq!(next["compaction"], Value::Null, "{next}");
    let second = app.append(&session, "openai_chat", json!(turns(now..now + 1, 10))).await;
    assert_eq!(second["compaction"]["trigger"], "auto", "{second}");
    assert_eq!(ended(app, &second["compaction"]["id"]).await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_decides_and_is_stale_after_a_compaction() {
    let app = App::shared();
    let mut settings = small_window();
    settings["context_window"] = json!(50_000);
    let session = filled(app, settings, 60).await;
    let answer = json!([{"role": "assistant", "content": "Noted."}]);
    let body = json!({"format": "openai_chat", "items": answer,
        "usage": {"prompt_tokens": 45_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40_000}}});
    let appended = app.post(&format!("{session}/entries"), body).await.expect(201);
    assert_eq!((&appended["snapshot"]["source"], &appended["snapshot"]["tokens"]), (&json!("usage"), &json!(45_100)));
    assert_eq!(appended["snapshot"]["state"], "red", "{appended}");
    let done = ended(app, &appended["compaction"]["id"]).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let snapshot = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!((&snapshot["source"], &snapshot["state"]), (&json!("estimate"), &json!("green")), "{snapshot}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_the_provider_found_too_long_is_compacted_at_once() {
    let app = App::shared();
    let mut settings = small_window();
    settings["context_window"] = json!(50_000);
    let session = filled(app, settings, 20).await;
    let said = json!([{"role": "user", "content": "and now?"}]);
    let body = |error: &str| json!({"format": "openai_chat", "items": said, "provider_error": error});
    let other = app.post(&format!("{session}/entries"), body("the network is down")).await.expect(201);
    assert!(other["compaction"].is_null(), "{other}");
    let error = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
    let answer = app.post(&format!("{session}/entries"), body(error)).await.expect(201);
    assert_eq!(answer["compaction"]["trigger"], "overflow", "{answer}");
    assert_eq!(ended(app, &answer["compaction"]["id"]).await["status"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_switched_off_starts_nothing() {
    let app = App::shared();
    let mut settings = small_window();
    settings["enabled"] = json!(false);
    let session = filled(app, settings, 40).await;
    assert_eq!(app.get(&format!("{session}/snapshot")).await.expect(200)["state"], "red");
    assert_eq!(all(app, &format!("{session}/compactions")).await, Vec::<Value>::new());
    app.patch(&session, json!({"settings": {"enabled": true}})).await.expect(200);
    let answer = app.append(&session, "openai_chat", json!(turns(40..41, 10))).await;
    assert_eq!(ended(app, &answer["compaction"]["id"]).await["status"], "succeeded");
}
