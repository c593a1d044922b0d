//! What compactions cost: begun before red where that pays, counted where they bring less than they cost, and foreseen.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_model_faults::instance;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream};

const CLAUDE: &str = "claude-sonnet-4-5";

async fn session(app: &App, model: Option<&str>, settings: &Value) -> String {
    app.session(json!({"model": model, "settings": settings})).await
}

/// Appends turns one by one until a compaction starts, at most up to `end`; the answer, and how many turns there are.
async fn until_one_starts(app: &App, session: &str, turns_there: usize, end: usize) -> (Value, usize) {
    for n in turns_there..end {
        let answer = app.append(session, "openai_chat", json!(turns(n..n + 1, 120))).await;
        if answer["compaction"].is_object() {
            return (answer, n + 1);
        }
    }
    (Value::Null, end)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_starts_before_red_as_soon_as_it_pays_where_that_is_asked_for() {
    let app = App::shared();
    let mut settings = json!({"context_window": 60_000, "keep_recent_tokens": 2_000, "ahead_at": null, "pays_at": 0.2});
    let paying = session(app, Some(CLAUDE), &settings).await;
    let (started, count) = until_one_starts(app, &paying, 0, 40).await;
    let snapshot = &started["snapshot"];
    assert_eq!((&snapshot["state"], &snapshot["should_compact"]), (&json!("green"), &json!(true)), "{started}");
    assert!(snapshot["utilization"].as_f64().unwrap() >= 0.2, "{started}");
    assert_eq!(started["compaction"]["trigger"], "auto", "{started}");
    let done = ended(app, &started["compaction"]["id"]).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    // The next one is as far away as it was itself.
    let (again, later) = until_one_starts(app, &paying, count, 80).await;
    assert!(again.is_object() && later - count >= count / 3, "{count} turns, then {} more: {again}", later - count);

    settings["pays_at"] = Value::Null;
    let waiting = session(app, Some(CLAUDE), &settings).await;
    let (none, _) = until_one_starts(app, &waiting, 0, count).await;
    assert!(none.is_null(), "{none}");
}

/// A window that is full again before the cache that was broken has paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_loss_counts_as_low_savings_where_the_rates_are_known() {
    let app = App::shared();
    let settings =
        json!({"context_window": 9_000, "keep_recent_tokens": 2_500, "ahead_at": null, "strategy": "summarize"});
    for (model, streak) in [(Some(CLAUDE), 1), (None, 0)] {
        let session = session(app, model, &settings).await;
        let mut count = 0;
        let mut last = Value::Null;
        for round in 0..2 {
            let (started, now) = until_one_starts(app, &session, count, 80).await;
            count = now;
            last = ended(app, &started["compaction"]["id"]).await;
            assert_eq!(last["status"], "succeeded", "round {round}: {last}");
        }
        let result = &last["result"];
        assert!(result["savings_pct"].as_f64().unwrap() > 10.0, "{last}");
        assert_eq!(result["anti_thrash"]["low_savings_streak"], json!(streak), "{model:?}: {last}");
    }
}

const PRICES: &str = "kind = \"openai\"\nmodel = \"one\"\nprice_input_per_mtok = 2.0\nprice_output_per_mtok = 8.0";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_made_costs_nothing_beforehand() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&[("default", &upstream, PRICES)]);
    let mut settings = by_hand();
    (settings["keep_recent_tokens"], settings["strategy"]) = (json!(100), json!("llm_summarize"));
    let session = session(&app, Some("one"), &settings).await;
    app.append(&session, "openai_chat", json!(turns(0..3, 60))).await;
    let short = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    assert_eq!(short["preparation"]["estimate"]["cost_usd"], json!(0.0), "{short}");
    app.append(&session, "openai_chat", json!(turns(3..12, 120))).await;
    let long = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
    assert!(long["preparation"]["estimate"]["cost_usd"].as_f64().unwrap() > 0.0, "{long}");
    assert_eq!(upstream.calls(), 0);
}

/// A summary is foreseen to read what it then reads.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_reads_is_foreseen() {
    let upstream = PlayedUpstream::start(Behaviour::Usage(Value::Null)).await;
    let (app, _file) = instance(&[("default", &upstream, PRICES)]);
    for (count, words) in [(8, 120), (20, 120), (20, 600)] {
        let session = session(&app, Some("one"), &by_hand()).await;
        app.append(&session, "openai_chat", json!(turns(0..count, words))).await;
        for _ in 0..2 {
            let prepared = app.post(&format!("{session}/prepare"), json!({})).await.expect(200);
            let foreseen = prepared["preparation"]["estimate"]["summarizer_input_tokens"].as_f64().unwrap();
            let done = compact(&app, &session, json!({})).await;
            let read = done["result"]["upstream"]["input_tokens"].as_f64().unwrap();
            assert!((foreseen - read).abs() <= read * 0.25, "{count} turns: {foreseen} foreseen, {read} read: {done}");
            app.append(&session, "openai_chat", json!(turns(count..count + 10, words))).await;
        }
    }
}
