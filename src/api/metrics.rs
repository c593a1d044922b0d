//! Prometheus metrics: what the HTTP side records, the descriptions of all, and the figures read at each scrape.

use std::sync::OnceLock;
use std::time::Duration;

use axum::http::Method;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::service::ops::gauges::Gauges;

const REQUESTS: &str = "contextd_http_requests_total";
const REQUEST_SECONDS: &str = "contextd_http_request_duration_seconds";
const APPENDS: &str = "contextd_appends_total";
const ENTRIES: &str = "contextd_entries_appended_total";
const SESSIONS: &str = "contextd_sessions";
const TOKENS: &str = "contextd_context_tokens";
const EVENT_STREAMS: &str = "contextd_event_streams";
const QUEUE_JOBS: &str = "contextd_queue_jobs";
const QUEUE_AGE: &str = "contextd_queue_oldest_job_age_seconds";
const COMPACTIONS: &str = "contextd_compactions_total";
const SAVINGS: &str = "contextd_compaction_savings_percent";
const COMPACTION_WAIT: &str = "contextd_compaction_wait_seconds";
const COMPACTION_SECONDS: &str = "contextd_compaction_duration_seconds";
const PROXY_REQUESTS: &str = "contextd_proxy_requests_total";
const HOOK_CALLS: &str = "contextd_hook_calls_total";
const HOOK_SECONDS: &str = "contextd_hook_duration_seconds";

const LATENCY_BUCKETS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const LONG_BUCKETS: [f64; 10] = [0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
const PERCENT_BUCKETS: [f64; 11] = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0];
/// Samples wait in memory until they are folded into buckets; nobody may ever scrape.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Installs the process's recorder, the first time it is called, and returns its handle.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Full(REQUEST_SECONDS.to_owned()), &LATENCY_BUCKETS)?
        .set_buckets_for_metric(Matcher::Full(SAVINGS.to_owned()), &PERCENT_BUCKETS)?
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

fn describe() {
    describe_gauge!(EVENT_STREAMS, "Event streams that are open at this process.");
    describe_counter!(REQUESTS, "HTTP requests answered, by method, route template and status.");
    describe_histogram!(REQUEST_SECONDS, "Time from a request's head to its answer's head, by method and route.");
    describe_counter!(APPENDS, "Appends that landed.");
    describe_counter!(ENTRIES, "Entries that appends added.");
    describe_gauge!(SESSIONS, "Sessions by fill state.");
    describe_gauge!(TOKENS, "Tokens of all sessions' contexts, by fill state.");
    describe_gauge!(QUEUE_JOBS, "Jobs by status.");
    describe_gauge!(QUEUE_AGE, "Seconds since the oldest job that is due became due; 0 when none is.");
    describe_counter!(COMPACTIONS, "Compactions ended, by status and strategy.");
    describe_histogram!(SAVINGS, "Tokens saved by a compaction, in percent of the tokens before it.");
    describe_histogram!(COMPACTION_WAIT, "Time from a context turning red to its compaction, by trigger.");
    describe_counter!(PROXY_REQUESTS, "Requests handed on to a provider, by route and what was done to them.");
    describe_counter!(HOOK_CALLS, "Calls of hooks, by event and outcome; a question with its retries is one.");
    describe_histogram!(HOOK_SECONDS, "Time of a call of a hook, by event.");
    describe_counter!("contextd_chapter_requests_total", "Times an agent was to be asked to close chapters.");
    describe_histogram!(COMPACTION_SECONDS, "Time from a compaction's start to its end.");
}

/// Counts one answered request.
pub fn request(method: &Method, route: &str, status: u16, took: Duration) {
    let route = metrics::SharedString::from(route.to_owned());
    let method = method_label(method);
    counter!(REQUESTS, "method" => method, "route" => route.clone(), "status" => status.to_string()).increment(1);
    histogram!(REQUEST_SECONDS, "method" => method, "route" => route).record(took.as_secs_f64());
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

/// Shows figures just read from the database.
pub fn set(gauges: &Gauges) {
    for state in ["green", "yellow", "red"] {
        let row = gauges.sessions.iter().find(|row| row.state == state);
        // A state that no session is in any more must not keep its last value.
        gauge!(SESSIONS, "state" => state).set(row.map_or(0.0, |row| row.sessions as f64));
        gauge!(TOKENS, "state" => state).set(row.map_or(0.0, |row| row.tokens as f64));
    }
    let queue = gauges.queue;
    gauge!(QUEUE_JOBS, "status" => "pending").set(queue.pending as f64);
    gauge!(QUEUE_JOBS, "status" => "running").set(queue.running as f64);
    gauge!(QUEUE_JOBS, "status" => "dead").set(queue.dead as f64);
    gauge!(QUEUE_AGE).set(queue.oldest_pending_age_seconds);
}
