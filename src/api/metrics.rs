//! `/metrics`: the process's recorder, what the HTTP side records, and what is put beside it as it is asked for. A scrape
//! asks neither the database nor anybody else.

mod process;
mod text;

use std::sync::OnceLock;
use std::time::Duration;

use axum::http::Method;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::domain::tokens::accounting::FillState;
use crate::domain::tokens::nano_usd::NanoUsd;
use crate::families::{self, Kind, amounts};
use crate::service::ops::readiness::Health;

const LATENCY_BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const LONG_BUCKETS: [f64; 10] = [0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
/// A queue that is worked off, and one that is not.
const WAIT_BUCKETS: [f64; 10] = [0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];
const RATIO_BUCKETS: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// Samples wait in memory until they are folded into buckets; nobody may ever scrape.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Installs the process's recorder, the first time it is called, and returns its handle.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(families::HTTP_REQUEST_SECONDS.to_owned()), &LATENCY_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(families::QUEUE_WAIT_SECONDS.to_owned()), &WAIT_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_ratio".to_owned()), &RATIO_BUCKETS)?
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &LONG_BUCKETS)?;
    match builder.install_recorder() {
        Ok(handle) => {
            describe();
            let kept = HANDLE.get_or_init(|| handle).clone();
            let upkeep = kept.clone();
            std::thread::spawn(move || {
                loop {
                    std::thread::sleep(UPKEEP_INTERVAL);
                    upkeep.run_upkeep();
                }
            });
            Ok(kept)
        }
        // Two calls at once: the other one's recorder is the process's.
        Err(error) => HANDLE.get().cloned().ok_or(error),
    }
}

/// Describes every family, and begins the counters that have one series alone, so that their first increment is seen.
fn describe() {
    for family in families::ALL {
        match family.kind {
            Kind::Counter => describe_counter!(family.name, family.help),
            Kind::Gauge => describe_gauge!(family.name, family.help),
            Kind::Histogram => describe_histogram!(family.name, family.help),
        }
        if family.kind == Kind::Counter && family.labels.is_empty() {
            counter!(family.name).absolute(0);
        }
    }
    gauge!(families::EVENT_STREAMS).set(0.0);
    gauge!(families::BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

/// Counts one answered request.
pub fn request(method: &Method, route: &str, status: u16, took: Duration) {
    let route = metrics::SharedString::from(route.to_owned());
    let method = method_label(method);
    let labels = [("method", method.into()), ("route", route.clone()), ("status", status_label(status))];
    counter!(families::HTTP_REQUESTS, &labels).increment(1);
    histogram!(families::HTTP_REQUEST_SECONDS, "method" => method, "route" => route).record(took.as_secs_f64());
}

/// A client can make up methods; each would be a time series.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// A provider behind the proxy can make up statuses.
fn status_label(status: u16) -> metrics::SharedString {
    let is_known = axum::http::StatusCode::from_u16(status).is_ok_and(|status| status.canonical_reason().is_some());
    if is_known { status.to_string().into() } else { "other".into() }
}

/// The text of a scrape.
pub fn render(handle: &PrometheusHandle, health: &Health) -> String {
    set_figures(health);
    set_database(health);
    let mut page = handle.render();
    let cost = families::ALL.iter().find(|family| family.name == families::UPSTREAM_COST);
    let costs = amounts::costs();
    if let Some(family) = cost.filter(|_| !costs.is_empty()) {
        text::head(&mut page, family.name, family.kind, family.help);
        for (upstream, cost) in costs {
            let usd = NanoUsd::new(cost).usd();
            page.push_str(&format!("{}{{upstream=\"{}\"}} {usd}\n", family.name, text::escaped(&upstream)));
        }
        page.push('\n');
    }
    process::write(&mut page);
    page
}

/// Shows what was counted, each group with its time. What never was counted is not shown.
fn set_figures(health: &Health) {
    let figures = health.figures();
    if let Some(taken) = figures.sessions {
        for state in [FillState::Green, FillState::Yellow, FillState::Red] {
            let of_state = taken.figures.of(state);
            gauge!(families::SESSIONS, "state" => state.into_str()).set(of_state.sessions as f64);
            gauge!(families::CONTEXT_TOKENS, "state" => state.into_str()).set(of_state.tokens as f64);
        }
        gauge!(families::GUARD_TRIPPED).set(taken.figures.guard_tripped as f64);
        gauge!(families::FIGURES_TIME, "figures" => "sessions").set(unix_seconds(taken.at.timestamp_millis()));
    }
    if let Some(taken) = figures.queue {
        let queue = taken.figures;
        for (status, jobs) in [("pending", queue.pending), ("running", queue.running), ("dead", queue.dead)] {
            gauge!(families::QUEUE_JOBS, "status" => status).set(jobs as f64);
        }
        gauge!(families::QUEUE_AGE).set(queue.oldest_age_seconds);
        gauge!(families::FIGURES_TIME, "figures" => "queue").set(unix_seconds(taken.at.timestamp_millis()));
    }
}

fn set_database(health: &Health) {
    gauge!(families::DATABASE_UP).set(if health.is_reachable() { 1.0 } else { 0.0 });
    let pool = health.pool_use();
    gauge!(families::DATABASE_CONNECTIONS, "state" => "idle").set(f64::from(pool.idle));
    gauge!(families::DATABASE_CONNECTIONS, "state" => "used").set(f64::from(pool.used));
    gauge!(families::DATABASE_CONNECTIONS_MAX).set(f64::from(pool.max));
}

fn unix_seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}
