//! Notifications: a connection of its own that hears a channel. Whatever goes wrong with it costs latency only.

use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{PgPool, Result};

/// Listens on a channel, on a connection beside the pool's, so that it takes none from the others.
pub async fn listen(pool: &PgPool, channel: &str) -> Result<PgListener> {
    let options = (*pool.connect_options()).clone();
    let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None).connect_lazy_with(options);
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen(channel).await?;
    Ok(listener)
}
