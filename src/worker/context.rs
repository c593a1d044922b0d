//! How a worker works, and what its claim loop shares with its jobs and helpers.

use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// For giving unfinished jobs back at the end of a shutdown.
pub const RELEASE_WITHIN: Duration = Duration::from_secs(5);

/// How a worker works.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Jobs at a time.
    pub concurrency: usize,
    /// A job whose worker is silent for this long goes to another.
    pub lease: Duration,
    /// Between two looks at an idle queue, give or take a quarter.
    pub poll: Duration,
    /// Between two searches for ended leases.
    pub reap: Duration,
    /// The pause after a first failed attempt; it doubles with each, up to `retry_max`.
    pub retry_base: Duration,
    pub retry_max: Duration,
    /// Time that jobs get to finish in on shutdown.
    pub shutdown: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            concurrency: 4,
            lease: Duration::from_secs(150),
            poll: Duration::from_secs(1),
            reap: Duration::from_secs(10),
            retry_base: Duration::from_secs(2),
            retry_max: Duration::from_secs(300),
            shutdown: Duration::from_secs(25),
        }
    }
}

/// State that the claim loop shares with its jobs and helpers.
pub struct WorkerContext<H> {
    pub pool: PgPool,
    pub handler: H,
    pub options: WorkerOptions,
    pub wake: Notify,
    /// Set when the time for finishing on shutdown is up.
    pub abandon: CancellationToken,
}
