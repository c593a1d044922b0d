//! Sends what hooks are to be told, beside the jobs: a hook that is slow holds up nothing but itself.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::pause::{Outage, within};
use crate::backoff::{doubled, jittered};
use crate::service::core::hooks::Hooks;
use crate::service::hooks::DueDelivery;

const CALL_WITHIN: Duration = Duration::from_secs(15);

/// How deliveries are made.
#[derive(Debug, Clone)]
pub struct DeliveryOptions {
    /// Deliveries at a time.
    pub concurrency: usize,
    /// Between two looks at the queue, give or take a quarter.
    pub poll: Duration,
    /// The pause after a first failed attempt; it doubles with each, up to `retry_max`.
    pub retry_base: Duration,
    pub retry_max: Duration,
    /// Time that deliveries under way get to finish in on shutdown.
    pub shutdown: Duration,
    /// How long ended deliveries stay in the log, and how often the log is looked through.
    pub keep: Duration,
    pub purge: Duration,
}

/// Delivers until `stop`. What is under way when the time for finishing is up is sent again later.
pub async fn deliver(hooks: Hooks, options: DeliveryOptions, stop: CancellationToken) {
    let mut running = JoinSet::new();
    let mut outage = Outage::new("claiming deliveries");
    let mut purged: Option<Instant> = None;
    while !stop.is_cancelled() {
        while running.try_join_next().is_some() {}
        if purged.is_none_or(|at| at.elapsed() >= options.purge) {
            purge(&hooks, options.keep).await;
            purged = Some(Instant::now());
        }
        let free = options.concurrency.saturating_sub(running.len());
        let mut pause = jittered(options.poll);
        match claim(&hooks, free).await {
            Ok(due) => {
                outage.over();
                let any = !due.is_empty();
                for one in due {
                    running.spawn(send(hooks.clone(), one, options.clone()));
                }
                if any {
                    continue;
                }
            }
            Err(error) => pause = outage.failed(&error),
        }
        tokio::select! {
            () = stop.cancelled() => {}
            Some(_) = running.join_next() => {}
            () = sleep(pause), if free > 0 => {}
        }
    }
    let _ = timeout(options.shutdown, async { while running.join_next().await.is_some() {} }).await;
}

async fn claim(hooks: &Hooks, free: usize) -> sqlx::Result<Vec<DueDelivery>> {
    if free == 0 {
        return Ok(Vec::new());
    }
    let limit = i64::try_from(free).unwrap_or(i64::MAX);
    within(CALL_WITHIN, hooks.due(limit)).await
}

async fn send(hooks: Hooks, due: DueDelivery, options: DeliveryOptions) {
    let pause = jittered(doubled(options.retry_base, options.retry_max, due.attempt()));
    if let Err(error) = hooks.deliver(due, pause).await {
        tracing::warn!(%error, "the end of a delivery could not be recorded; it is made again");
    }
}

async fn purge(hooks: &Hooks, keep: Duration) {
    if let Err(error) = hooks.purge_log(keep).await {
        tracing::warn!(%error, "old deliveries were not removed");
    }
}
