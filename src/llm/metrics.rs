//! Metrics of calls to upstreams.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

use super::config::UpstreamConfig;
use super::usage::TokenUsage;
use crate::domain::tokens::nano_usd::NanoUsd;
use crate::families::{self, amounts};

pub(super) fn record_attempt(upstream: &str, outcome: &'static str, took: Duration) {
    counter!(families::UPSTREAM_REQUESTS, "upstream" => upstream.to_owned(), "outcome" => outcome).increment(1);
    histogram!(families::UPSTREAM_REQUEST_SECONDS, "upstream" => upstream.to_owned()).record(took.as_secs_f64());
}

/// Tokens of an answer, and what they cost where the upstream has a price.
pub(super) fn record_usage(upstream: &UpstreamConfig, usage: &TokenUsage, cost: NanoUsd) {
    if *usage == TokenUsage::default() {
        return;
    }
    for (direction, tokens) in [("input", usage.input), ("output", usage.output), ("cached", usage.cached)] {
        counter!(families::UPSTREAM_TOKENS, "upstream" => upstream.name.clone(), "direction" => direction)
            .increment(tokens);
    }
    if upstream.is_priced {
        amounts::add_cost(&upstream.name, cost.billionths());
    }
}

pub(super) fn record_breaker(upstream: &str, is_open: bool) {
    gauge!(families::UPSTREAM_BREAKER, "upstream" => upstream.to_owned()).set(if is_open { 1.0 } else { 0.0 });
}
