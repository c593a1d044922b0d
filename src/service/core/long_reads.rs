//! Long reads take turns, so that those who read whole paths leave connections and processors to those who append.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, PgConnection, PgPool, Postgres};

use crate::service::core::error::Result;
use crate::service::core::lanes::{Lane, Lanes};
use crate::service::core::tenant::Tenant;
use crate::store::read;

/// Reading more entries than this takes a turn.
pub(crate) const LONG_READ: i64 = 4_000;
/// Longer than for other lanes: whoever asks for a whole path would rather wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A connection to read through and, where the read is long, the turn that goes with it. A long read that is not
/// [`done`](Reader::done) when this is dropped was given up: whoever asked has gone. Its statement is cancelled then,
/// instead of going on in the database for nobody.
pub(crate) struct ReadConnection {
    /// `None`: given back.
    connection: Option<PoolConnection<Postgres>>,
    long: Option<Long>,
}

/// A long read.
struct Long {
    lane: Lane,
    /// The process of the database that carries it out.
    backend: i32,
    pool: PgPool,
}

impl ReadConnection {
    pub fn is_long(&self) -> bool {
        self.long.is_some()
    }

    /// Everything was read.
    pub fn done(mut self) {
        self.long = None;
    }

    pub fn on(&mut self) -> Result<&mut PgConnection> {
        Ok(self.connection.as_deref_mut().context("a reader without a connection")?)
    }
}

impl Drop for ReadConnection {
    fn drop(&mut self) {
        let (Some(connection), Some(long)) = (self.connection.take(), self.long.take()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        // The connection goes back to the pool behind the cancelling, so that no other statement is hit by it.
        runtime.spawn(async move {
            if let Err(error) = cancel(&long).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a statement goes on that nobody waits for");
            }
            drop(connection);
            drop(long.lane);
        });
    }
}

/// Cancels the statement of a read, through a connection of its own: the pool may have none left.
async fn cancel(long: &Long) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect_with(&long.pool.connect_options()).await?;
    read::cancel(&mut connection, long.backend).await?;
    connection.close().await
}

/// Opens connections to read through, long reads in turn. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LongReads {
    pool: PgPool,
    lanes: Arc<Lanes>,
}

impl LongReads {
    pub fn new(pool: PgPool, lanes: Lanes) -> LongReads {
        LongReads { pool, lanes: Arc::new(lanes) }
    }

    /// Waits for a turn at reading a whole path or session. To be called without a connection in hand.
    pub async fn turn(&self, tenant: Tenant) -> Result<Lane> {
        self.lanes.enter_within(tenant, LONGEST_WAIT).await
    }

    /// A connection to read about this many entries through. To be called without another one in hand.
    pub async fn reader(&self, tenant: Tenant, entries: i64) -> Result<ReadConnection> {
        if entries <= LONG_READ {
            return Ok(ReadConnection { connection: Some(self.pool.acquire().await?), long: None });
        }
        self.long_reader(tenant).await
    }

    /// A connection to read much through, however few the entries. To be called without another one in hand.
    pub async fn long_reader(&self, tenant: Tenant) -> Result<ReadConnection> {
        let lane = self.turn(tenant).await?;
        let mut connection = self.pool.acquire().await?;
        let backend = read::backend(&mut *connection).await?;
        let long = Long { lane, backend, pool: self.pool.clone() };
        Ok(ReadConnection { connection: Some(connection), long: Some(long) })
    }
}
