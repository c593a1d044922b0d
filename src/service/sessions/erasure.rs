//! Erasing a session and all it holds.
//!
//! The session is hidden in one short transaction; from then on no call finds it and no row can be written for it. What
//! it holds is then removed in stretches. Should that be cut short, `erase_rest` goes on with it later.

mod many;

pub use many::{EraseFilter, EraseRequest, Erased};

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::{PgConnection, PgPool};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::feed::Feed;
use crate::service::core::head::HeadCache;
use crate::service::core::long_reads::LongReads;
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::store::erasure::{self, TABLES};
use crate::store::path;
use crate::store::transaction;

/// A call gets this long to empty a session itself.
const REST_AFTER: Duration = Duration::from_secs(60);
/// Erasures at a time.
const AT_A_TIME: usize = 3;
/// Sessions that one look finds.
const FOUND: i64 = 100;

/// Erases sessions, a few at a time in a process: the others wait, so that they leave connections to everybody else.
#[derive(Clone)]
pub struct Erasure {
    pool: PgPool,
    cached_heads: Arc<HeadCache>,
    feed: Arc<Feed>,
    turns: Arc<Semaphore>,
    long_reads: LongReads,
}

impl Erasure {
    pub fn of(service: &Service) -> Erasure {
        let inner = &service.inner;
        Erasure {
            pool: inner.pool.clone(),
            cached_heads: Arc::clone(&inner.cached_heads),
            feed: Arc::clone(&inner.feed),
            turns: Arc::new(Semaphore::new(AT_A_TIME)),
            long_reads: inner.long_reads.clone(),
        }
    }

    /// Erases a session: what forks share of its history stays until the last of them is erased. Returns when all else
    /// is gone; a caller that goes away does not stop it.
    ///
    /// # Errors
    /// `NotFound`, and the database's, before anything is erased.
    pub async fn erase(&self, tenant: Tenant, session_id: Uuid) -> Result<()> {
        let mut transaction = transaction::begin(&self.pool).await?;
        let line = hide(&mut transaction, tenant, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        transaction.commit().await?;
        self.cached_heads.forget(tenant, session_id);
        self.feed.touch(tenant, session_id);
        let erasure = self.clone();
        let emptied = tokio::spawn(async move { erasure.empty_line(tenant, line).await });
        // It is hidden for good whatever comes of this; the rest follows.
        if let Err(error) = emptied.await.context("erasing a session")? {
            tracing::warn!(%error, tenant = %tenant.0, %session_id, "a session is erased later");
        }
        Ok(())
    }

    /// Goes on with erasures that were cut short; returns how many it came upon.
    ///
    /// # Errors
    /// The database's.
    pub async fn erase_rest(&self) -> Result<usize> {
        let due = erasure::due(&self.pool, clock::now() - REST_AFTER, FOUND).await?;
        for (tenant, session_id) in &due {
            let mut connection = self.pool.acquire().await?;
            let line = path::sessions(&mut connection, *tenant, *session_id).await?;
            drop(connection);
            if let Err(error) = self.empty_line(Tenant(*tenant), line).await {
                tracing::warn!(%error, %tenant, %session_id, "an erased session was not emptied");
            }
        }
        Ok(due.len())
    }

    /// Empties a session, and then those that it comes from, where they are erased too: less of them may be needed.
    async fn empty_line(&self, tenant: Tenant, line: Vec<Uuid>) -> Result<()> {
        let _turn = self.turns.acquire().await.context("waiting for other erasures")?;
        for session_id in line {
            while self.empty_some(tenant, session_id).await? {}
        }
        Ok(())
    }

    /// One stretch. False: there is nothing more to do.
    async fn empty_some(&self, tenant: Tenant, session_id: Uuid) -> Result<bool> {
        let mut transaction = transaction::begin(&self.pool).await?;
        let Some(version) = erasure::lock(&mut *transaction, tenant.0, session_id).await? else { return Ok(false) };
        erasure::remove_small(&mut transaction, tenant.0, session_id).await?;
        for table in TABLES {
            if erasure::remove_stretch(&mut *transaction, table, tenant.0, session_id).await? {
                transaction.commit().await?;
                return Ok(true);
            }
        }
        let needed = erasure::needed(&mut *transaction, tenant.0, session_id).await?;
        let more = erasure::remove_entries(&mut transaction, tenant.0, session_id, &needed).await?;
        if !more {
            erasure::end(&mut transaction, tenant.0, session_id, version, &needed).await?;
        }
        transaction.commit().await?;
        Ok(more)
    }
}

/// Hides a session. The line of sessions that it comes from, itself first; `None` where it is not there.
async fn hide(connection: &mut PgConnection, tenant: Tenant, session_id: Uuid) -> Result<Option<Vec<Uuid>>> {
    if !erasure::hide(&mut *connection, tenant.0, session_id, clock::now()).await? {
        return Ok(None);
    }
    // In this order everywhere, so that two erasures never wait for each other.
    let line = path::sessions(&mut *connection, tenant.0, session_id).await?;
    for parent in line.iter().filter(|id| **id != session_id) {
        erasure::mark_due(&mut *connection, tenant.0, *parent).await?;
    }
    Ok(Some(line))
}
