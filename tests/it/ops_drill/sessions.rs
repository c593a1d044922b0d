//! Sessions: guards that tripped, contexts that stay red.

use serde_json::{Value, json};

use super::stage::{nothing, watching};
use crate::app::App;
use crate::drill_support::{all, by_hand, compact, turns};

/// More than the ten from which it counts.
const MANY: usize = 12;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn compactions_that_save_too_little() {
    let app = App::fresh(&[]);
    let prometheus = watching(&app).await;
    let mut settings = by_hand();
    // No compaction saves 99 percent.
    settings["min_savings_pct"] = json!(99);
    for _ in 0..MANY {
        let session = app.session(json!({"settings": settings})).await;
        for round in 0..2 {
            app.append(&session, "openai_chat", json!(turns(round * 20..round * 20 + 20, 120))).await;
            assert_eq!(compact(&app, &session, json!({"strategy": "summarize"})).await["status"], "succeeded");
        }
    }
    prometheus.fires("ContextdGuardsTripped", &[], nothing).await;
    for session in all(&app, "/v1/sessions").await {
        let reset = format!("/v1/sessions/{}/anti-thrash/reset", session["id"].as_str().unwrap());
        app.post(&reset, json!({})).await.expect(200);
    }
    prometheus.sees_it_well("once they are set again").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn contexts_that_nobody_compacts() {
    let app = App::fresh(&[]);
    let prometheus = watching(&app).await;
    let mut settings: Value = by_hand();
    settings["context_window"] = json!(12_000);
    let mut sessions = Vec::new();
    for _ in 0..MANY {
        let session = app.session(json!({"settings": settings})).await;
        let appended = app.append(&session, "openai_chat", json!(turns(0..40, 120))).await;
        assert_eq!(appended["snapshot"]["state"], "red", "{appended}");
        sessions.push(session);
    }
    prometheus.fires("ContextdContextsRed", &[], nothing).await;
    for session in &sessions {
        assert_eq!(compact(&app, session, json!({"strategy": "summarize"})).await["status"], "succeeded");
    }
    prometheus.sees_it_well("once they are compacted").await;
}
