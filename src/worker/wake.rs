//! Listens for new jobs on a connection of its own. Whatever goes wrong here costs latency only.

use std::sync::Arc;

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::sleep;

use super::pause::Outage;
use super::{Context, Handler};
use crate::store::queue;

pub async fn listen<H: Handler>(context: Arc<Context<H>>) {
    let mut outage = Outage::new("listening for jobs");
    loop {
        let Err(error) = wake_on_notification(&context, &mut outage).await;
        sleep(outage.failed(&error)).await;
    }
}

async fn wake_on_notification<H: Handler>(
    context: &Context<H>,
    outage: &mut Outage,
) -> sqlx::Result<std::convert::Infallible> {
    let options = (*context.pool.connect_options()).clone();
    let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen(queue::CHANNEL).await?;
    outage.over();
    loop {
        // `None` is a lost connection, with jobs perhaps announced meanwhile.
        listener.try_recv().await?;
        context.wake.notify_one();
    }
}
