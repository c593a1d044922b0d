//! Metrics of calls to upstreams.

use std::time::Duration;

use super::usage::TokenUsage;

/// Counter, labels `upstream` and `outcome` (`ok` or the error's code): attempts.
pub const REQUESTS: &str = "contextd_upstream_requests_total";
/// Histogram, label `upstream`: seconds that an attempt took.
pub const LATENCY: &str = "contextd_upstream_latency_seconds";
/// Counter, labels `upstream` and `direction` (`input`, `output`, `cached`; cached is part of input).
pub const TOKENS: &str = "contextd_upstream_tokens_total";

pub(super) fn record_attempt(upstream: &str, outcome: &'static str, took: Duration) {
    metrics::counter!(REQUESTS, "upstream" => upstream.to_owned(), "outcome" => outcome).increment(1);
    metrics::histogram!(LATENCY, "upstream" => upstream.to_owned()).record(took.as_secs_f64());
}

pub(super) fn record_tokens(upstream: &str, usage: &TokenUsage) {
    for (direction, tokens) in [("input", usage.input), ("output", usage.output), ("cached", usage.cached)] {
        metrics::counter!(TOKENS, "upstream" => upstream.to_owned(), "direction" => direction).increment(tokens);
    }
}
