//! How long to wait for the database, and what to say while it is away.

use std::future::Future;
use std::time::Duration;

use crate::backoff::{doubled, jittered};

const OUTAGE_BASE: Duration = Duration::from_millis(250);
const OUTAGE_MAX: Duration = Duration::from_secs(15);

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
        jittered(doubled(OUTAGE_BASE, OUTAGE_MAX, self.failures))
    }

    pub fn over(&mut self) {
        if self.failures > 0 {
            tracing::info!(failures = self.failures, "{} works again", self.what);
            self.failures = 0;
        }
    }
}
