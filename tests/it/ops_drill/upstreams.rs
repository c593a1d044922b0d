//! Upstreams: failing, left alone, slow; and what that makes of compactions.

use futures::future::join_all;
use serde_json::json;

use super::stage::{for_ms, watching};
use crate::app::App;
use crate::drill_model_faults::instance;
use crate::drill_support::{asking, by_hand, compact, filled, turns};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const ONCE: &str = "kind = \"openai\"\nmodel = \"played\"\nmax_retries = 0";

/// Some sessions, each compacted, which ends like this.
async fn compacts(app: &App, on_failure: &str, status: &str) {
    let some = (0..4).map(async |_| {
        let session = filled(app, asking("default", on_failure), 20).await;
        let done = compact(app, &session, json!({"strategy": "llm_summarize"})).await;
        assert_eq!(done["status"], status, "{done}");
    });
    join_all(some).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn an_upstream_whose_key_is_refused() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&[("default", &upstream, ONCE)]);
    compacts(&app, "fallback", "succeeded").await;
    let prometheus = watching(&app).await;

    upstream.play(Behaviour::Status(401, None));
    let along = ["ContextdSummariesByFallback"];
    let told = prometheus.fires("ContextdUpstreamFailing", &along, || compacts(&app, "fallback", "succeeded")).await;
    assert_eq!(told.labels["upstream"], "default");
    let along = ["ContextdUpstreamFailing"];
    prometheus.fires("ContextdSummariesByFallback", &along, || compacts(&app, "fallback", "succeeded")).await;
    let along = ["ContextdUpstreamFailing", "ContextdSummariesByFallback"];
    let told = prometheus.fires("ContextdCompactionsFailing", &along, || compacts(&app, "fail", "failed")).await;
    assert_eq!(told.labels["severity"], "critical");
    upstream.play(Behaviour::good());
    compacts(&app, "fallback", "succeeded").await;
    prometheus.sees_it_well("once the key is taken").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn an_upstream_that_is_left_alone() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&[("default", &upstream, ONCE)]);
    let prometheus = watching(&app).await;
    upstream.play(Behaviour::Status(503, None));
    let along = ["ContextdUpstreamFailing", "ContextdSummariesByFallback"];
    let told =
        prometheus.fires("ContextdUpstreamBreakerOpen", &along, || compacts(&app, "fallback", "succeeded")).await;
    assert_eq!(told.labels["upstream"], "default");
    upstream.play(Behaviour::good());
    // It is asked again half a minute later, by whoever comes first.
    crate::patience::until("the upstream is asked again", async || {
        let before = upstream.calls();
        compacts(&app, "fallback", "succeeded").await;
        for_ms(500).await;
        upstream.calls() > before
    })
    .await;
    prometheus.sees_it_well("once it answers").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn an_upstream_that_is_slow() {
    let slow = std::time::Duration::from_secs(4);
    let upstream = PlayedUpstream::start(Behaviour::Slow(slow, SUMMARY.to_owned())).await;
    let (app, _file) =
        instance(&[("default", &upstream, &format!("{ONCE}\nmax_concurrency = 64\n[worker]\nconcurrency = 32"))]);
    let prometheus = watching(&app).await;
    // Red after the append, and compacted by itself.
    let mut settings = by_hand();
    settings["enabled"] = json!(true);
    settings["context_window"] = json!(12_000);
    settings["strategy"] = json!("llm_summarize");
    settings["ahead_at"] = json!(null);
    prometheus
        .fires("ContextdCompactionsLate", &["ContextdContextsRed"], async || {
            let session = app.session(json!({"settings": settings})).await;
            let red = app.append(&session, "openai_chat", json!(turns(0..40, 120))).await;
            assert_eq!(red["snapshot"]["state"], "red", "{red}");
            for_ms(500).await;
        })
        .await;
}
