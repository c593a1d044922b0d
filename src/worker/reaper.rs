//! Returns the jobs of workers that went silent.

use std::sync::Arc;

use metrics::counter;
use tokio::time::sleep;

use super::context::WorkerContext;
use super::handler::Handler;
use super::pause::{Outage, within};
use super::runner::count_failed;
use crate::backoff::jittered;
use crate::families;
use crate::store::queue::{self, Reaped};

pub async fn run<H: Handler>(context: Arc<WorkerContext<H>>) {
    let mut outage = Outage::new("reaping jobs");
    loop {
        let pause = match within(context.options.lease, once(&context)).await {
            Ok(()) => {
                outage.over();
                jittered(context.options.reap)
            }
            Err(error) => outage.failed(&error),
        };
        sleep(pause).await;
    }
}

async fn once<H: Handler>(context: &WorkerContext<H>) -> sqlx::Result<()> {
    let reaped = queue::reap(&context.pool).await?;
    if !reaped.is_empty() {
        tracing::warn!(jobs = reaped.len(), "leases ended without a result");
        counter!(families::QUEUE_REAPED).increment(reaped.len() as u64);
        for job in reaped.into_iter().filter(Reaped::is_dead) {
            count_failed(job.strategy.zip(job.trigger));
        }
        context.wake.notify_one();
    }
    Ok(())
}
