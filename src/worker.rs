//! Background work: claims jobs from the queue and runs each under its lease.
//!
//! A notification wakes the worker early; jittered polling finds every job. No database connection is held while
//! a job runs, and none is held while a model works.

mod branch_summary;
mod census;
mod compaction;
mod context;
mod deliveries;
mod handler;
mod jobs;
mod kinds;
mod ledger;
mod pause;
mod reaper;
mod runner;
mod stateless;
mod summarise;
mod wake;

use std::sync::Arc;

use sqlx::PgPool;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backoff::jittered;
use crate::store::queue::{self, Job};
use context::{RELEASE_WITHIN, WorkerContext};
use pause::Outage;

pub use census::{Census, CensusOptions};
pub use context::WorkerOptions;
pub use deliveries::{DeliveryOptions, deliver};
pub use handler::{Handler, JobOutcome};
pub use jobs::Jobs;
pub use ledger::CallBook;

/// Runs the jobs of a database, beside any number of other workers.
pub struct Worker<H> {
    context: Arc<WorkerContext<H>>,
}

impl<H: Handler> Worker<H> {
    pub fn new(pool: PgPool, handler: H, options: WorkerOptions) -> Worker<H> {
        let (wake, abandon) = (Notify::new(), CancellationToken::new());
        Worker { context: Arc::new(WorkerContext { pool, handler, options, wake, abandon }) }
    }

    /// Works until `shutdown`, then claims no more, lets jobs finish within `options.shutdown` and gives the rest
    /// back. Dropping the future ends all jobs at once; their leases run out.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut helpers = JoinSet::new();
        helpers.spawn(wake::listen(self.context.clone()));
        helpers.spawn(reaper::run(self.context.clone()));
        let mut jobs = JoinSet::new();
        self.claim(&mut jobs, &shutdown).await;
        drop(helpers);
        self.finish(jobs).await;
    }

    async fn claim(&self, jobs: &mut JoinSet<()>, shutdown: &CancellationToken) {
        let mut outage = Outage::new("claiming jobs");
        let mut from = Uuid::nil();
        while !shutdown.is_cancelled() {
            while jobs.try_join_next().is_some() {}
            let free = self.context.options.concurrency.saturating_sub(jobs.len());
            let mut pause = jittered(self.context.options.poll);
            match self.claim_up_to(free, from).await {
                Ok(claimed) => {
                    outage.over();
                    from = queue::next_tenant(&claimed, from);
                    let any = !claimed.is_empty();
                    for job in claimed {
                        jobs.spawn(runner::run(self.context.clone(), job));
                    }
                    if any {
                        continue;
                    }
                }
                Err(error) => pause = outage.failed(&error),
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(_) = jobs.join_next() => {}
                () = self.context.wake.notified(), if free > 0 => {}
                () = sleep(pause), if free > 0 => {}
            }
        }
    }

    async fn claim_up_to(&self, free: usize, from: Uuid) -> sqlx::Result<Vec<Job>> {
        if free == 0 {
            return Ok(Vec::new());
        }
        let WorkerContext { pool, options, .. } = &*self.context;
        let limit = i64::try_from(free).unwrap_or(i64::MAX);
        pause::within(options.lease, queue::claim(pool, limit, options.lease, from)).await
    }

    async fn finish(&self, mut jobs: JoinSet<()>) {
        let mut all_done = async || while jobs.join_next().await.is_some() {};
        if timeout(self.context.options.shutdown, all_done()).await.is_err() {
            self.context.abandon.cancel();
            let _ = timeout(RELEASE_WITHIN, all_done()).await;
        }
    }
}
