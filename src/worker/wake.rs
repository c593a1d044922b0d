//! Listens for new jobs on a connection of its own. Whatever goes wrong here costs latency only.

use std::sync::Arc;

use tokio::time::sleep;

use super::context::WorkerContext;
use super::handler::Handler;
use super::pause::Outage;
use crate::store::listen::listen as hear;
use crate::store::queue;

pub async fn listen<H: Handler>(context: Arc<WorkerContext<H>>) {
    let mut outage = Outage::new("listening for jobs");
    loop {
        let Err(error) = wake_on_notification(&context, &mut outage).await;
        sleep(outage.failed(&error)).await;
    }
}

async fn wake_on_notification<H: Handler>(
    context: &WorkerContext<H>,
    outage: &mut Outage,
) -> sqlx::Result<std::convert::Infallible> {
    let mut listener = hear(&context.pool, queue::CHANNEL).await?;
    outage.over();
    loop {
        // `None` is a lost connection, with jobs perhaps announced meanwhile.
        listener.try_recv().await?;
        context.wake.notify_one();
    }
}
