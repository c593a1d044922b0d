//! How long to wait, and what to say while the database is away.

use std::future::Future;
use std::time::Duration;

const OUTAGE_BASE: Duration = Duration::from_millis(250);
const OUTAGE_MAX: Duration = Duration::from_secs(15);

/// `pause`, give or take a quarter, so that workers do not move in step.
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.75..1.25))
}

/// `base` doubled for every failure after the first, at most `max`, with jitter. `failures` counts from 1.
pub fn backoff(base: Duration, max: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(30);
    jittered(base.saturating_mul(1 << doublings).min(max))
}

/// Runs a database call that a silent connection must not hold up for ever.
pub async fn within<T>(time: Duration, call: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let elapsed = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    tokio::time::timeout(time, call).await.map_err(elapsed)?
}

/// A stretch of failures, logged at its beginning and its end.
pub struct Outage {
    what: &'static str,
    failures: u32,
}

impl Outage {
    pub fn new(what: &'static str) -> Outage {
        Outage { what, failures: 0 }
    }

    /// Takes note of a failure. Gives the pause before the next try.
    pub fn failed(&mut self, error: &sqlx::Error) -> Duration {
        if self.failures == 0 {
            tracing::error!(%error, "{} fails; trying on", self.what);
        }
        self.failures = self.failures.saturating_add(1);
        backoff(OUTAGE_BASE, OUTAGE_MAX, self.failures)
    }

    pub fn over(&mut self) {
        if self.failures > 0 {
            tracing::info!(failures = self.failures, "{} works again", self.what);
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_its_bound() {
        let (base, max) = (Duration::from_secs(1), Duration::from_secs(60));
        for (failures, seconds) in [(0, 1.0), (1, 1.0), (2, 2.0), (5, 16.0), (7, 60.0), (u32::MAX, 60.0)] {
            let pause = backoff(base, max, failures).as_secs_f64();
            assert!((seconds * 0.75..seconds * 1.25).contains(&pause), "{failures}: {pause}");
        }
    }
}
