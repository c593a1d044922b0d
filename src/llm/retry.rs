//! When a failed call is tried again, and how long the pause is.

use std::time::{Duration, SystemTime};

use chrono::DateTime;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::config::UpstreamConfig;
use super::error::UpstreamError;
use crate::backoff::doubled;

/// The longest `Retry-After` that is waited for, unless the configured pause is longer still.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// Exponential back-off with jitter, bounded in number and in pause.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    max_retries: u32,
    base: Duration,
    max: Duration,
}

impl RetryPolicy {
    pub(super) fn of(config: &UpstreamConfig) -> RetryPolicy {
        RetryPolicy { max_retries: config.max_retries, base: config.retry_base, max: config.retry_max }
    }

    /// The pause before the next attempt after `attempts` of them, the last of which failed with `error`; `None`
    /// gives up. `jitter` is between 0 and 1. A `Retry-After` beyond the bound gives up at once: coming back
    /// earlier than asked would only be refused again.
    pub(super) fn pause(&self, attempts: u32, error: &UpstreamError, jitter: f64) -> Option<Duration> {
        if !error.is_retryable() || attempts > self.max_retries {
            return None;
        }
        if let Some(asked) = error.retry_after() {
            return (asked <= self.max.max(RETRY_AFTER_MAX)).then_some(asked);
        }
        let full = doubled(self.base, self.max, attempts);
        Some(full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
    }
}

/// The pause that an answer's headers ask for: `retry-after-ms`, or `Retry-After` in seconds or as a date
/// (one in the past: no pause).
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = SystemTime::from(DateTime::parse_from_rfc2822(value).ok()?);
    Some(date.duration_since(now).unwrap_or_default())
}
