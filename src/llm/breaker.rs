//! A circuit breaker: an upstream that keeps failing is left alone for a while, so that jobs need not wait for
//! its timeouts one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Keeps the arithmetic on instants within bounds.
const MAX_REST: Duration = Duration::from_secs(24 * 3600);

/// Opens after a number of failed calls in a row; once it has rested, one call probes.
pub(super) struct Breaker {
    /// 0: never opens.
    threshold: u32,
    rest: Duration,
    state: Mutex<BreakerState>,
}

struct BreakerState {
    failures: u32,
    rests_until: Instant,
}

impl Breaker {
    pub(super) fn new(threshold: u32, rest: Duration) -> Breaker {
        Breaker {
            threshold,
            rest: rest.min(MAX_REST),
            state: Mutex::new(BreakerState { failures: 0, rests_until: Instant::now() }),
        }
    }

    /// Admits a call; the error is how long the rest still lasts.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.state();
        if self.threshold == 0 || state.failures < self.threshold {
            return Ok(());
        }
        let remaining = state.rests_until.saturating_duration_since(now);
        if !remaining.is_zero() {
            return Err(remaining);
        }
        // The probe starts the next rest itself: should it be dropped, another follows.
        state.rests_until = now + self.rest;
        Ok(())
    }

    /// How long calls are still refused; unlike [`Breaker::admit`] this is no probe.
    pub(super) fn rests_for(&self, now: Instant) -> Option<Duration> {
        let state = self.state();
        let rest = state.rests_until.saturating_duration_since(now);
        (self.threshold > 0 && state.failures >= self.threshold && !rest.is_zero()).then_some(rest)
    }

    pub(super) fn note(&self, now: Instant, is_failure: bool) {
        let mut state = self.state();
        if is_failure {
            state.failures = state.failures.saturating_add(1);
            state.rests_until = now + self.rest;
        } else {
            state.failures = 0;
        }
    }

    /// Returns true from the failure that opened it to the next success, probes included.
    pub(super) fn is_open(&self) -> bool {
        self.threshold > 0 && self.state().failures >= self.threshold
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
