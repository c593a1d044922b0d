//! A service that is well, whose failures are few, and one behind its own key.

use serde_json::json;

use super::prometheus::Prometheus;
use super::stage::{database, for_ms, watching};
use crate::app::Keyed;
use crate::drill_model_faults::instance;
use crate::drill_support::{asking, by_hand, compact, filled, turns};
use crate::ops::expressions;
use crate::ops::rules::alerts;
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Longer than the longest window and the longest `for` of the quickened rules together.
const ROUNDS: usize = 70;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn nothing_fires_while_it_is_well() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let priced = "kind = \"openai\"\nmodel = \"played\"\nmax_retries = 0\nprice_input_per_mtok = 1.0\nprice_output_per_mtok = 1.0";
    let (app, _file) = instance(&[("default", &upstream, priced)]);
    let prometheus = watching(&app).await;
    // Prometheus tells its groups in no order of ours.
    let (mut loaded, mut wanted) =
        (prometheus.loaded().await, alerts().into_iter().map(|alert| alert.name).collect::<Vec<_>>());
    loaded.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(loaded, wanted);
    let long = app.session(json!({"settings": by_hand()})).await;
    for round in 0..ROUNDS {
        // One of thirty goes wrong.
        upstream.play(if round % 30 == 7 { Behaviour::Status(500, None) } else { Behaviour::good() });
        app.append(&long, "openai_chat", json!(turns(round..round + 1, 20))).await;
        app.post(&format!("{long}/rebuild"), json!({"format": "anthropic"})).await.expect(200);
        if round % 3 == 1 {
            let session = filled(&app, asking("default", "fallback"), 20).await;
            compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        }
        for_ms(1_000).await;
    }
    let fired = prometheus.query("count by (alertname) (count_over_time(ALERTS{alertstate=\"firing\"}[10m]))").await;
    assert!(fired.is_empty(), "{fired:?}");
    println!("no alert fired in {ROUNDS} rounds");

    let mut empty = Vec::new();
    for (place, expr) in expressions::all() {
        // Prometheus reads each of them; rules that do not hold give nothing.
        if prometheus.query(&expr).await.is_empty() && !place.starts_with("Contextd") {
            empty.push(format!("{place}: {expr}"));
        }
    }
    println!(
        "{} expressions were read; of the board these have nothing to show here:\n{}",
        expressions::all().len(),
        empty.join("\n")
    );
    assert!(
        empty.len() <= EMPTY_HERE.len()
            && empty.iter().all(|one| EMPTY_HERE.iter().any(|panel| one.starts_with(panel)))
    );
}

/// Panels about what does not happen in a service that is well, without hooks and without proxy.
const EMPTY_HERE: [&str; 8] = [
    "Proxied requests",
    "Hook calls",
    "Time of a hook",
    "From red to compacted",
    "Skipped, by reason",
    "Refused and failed",
    "marks",
    "Summaries",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn metrics_behind_a_key_are_scraped_with_it() {
    const KEY: &str = "a-key-for-prometheus-alone";
    let (url, _pool) = database().await;
    let keyed = Keyed::start(&url, &[], &[("CONTEXTD_METRICS_KEY", KEY)]);
    let address = keyed.base.trim_start_matches("http://");
    let without = Prometheus::start(address, None).await;
    without.fires("ContextdDown", &[], super::stage::nothing).await;
    let with = Prometheus::start(address, Some(KEY)).await;
    with.has_all().await;
    with.sees_it_well("with the key").await;
}
