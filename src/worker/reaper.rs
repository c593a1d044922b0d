//! Returns the jobs of workers that went silent.

use std::sync::Arc;

use metrics::counter;
use tokio::time::sleep;

use super::context::WorkerContext;
use super::handler::Handler;
use super::pause::{Outage, within};
use crate::backoff::jittered;
use crate::store::queue;

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
    if reaped > 0 {
        tracing::warn!(jobs = reaped, "leases ended without a result");
        counter!("contextd_jobs_reaped_total").increment(reaped);
        context.wake.notify_one();
    }
    Ok(())
}
