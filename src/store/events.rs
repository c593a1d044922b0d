//! Events: written in the transaction of what they tell, read by position.
//!
//! Positions are given by readers, after the commit, one reader of a tenant at a time. Writers take no lock for them,
//! and a reader who has seen a position has seen all below it.

pub(super) mod sql;

use crate::store::transaction;
use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor, PgPool, Result};
use uuid::Uuid;

/// The channel on which a tenant's id is announced when it has new events. It saves latency; polling finds them all.
pub const CHANNEL: &str = "contextd_events";

/// Positions given by one statement, and old events removed by one.
const BATCH: i64 = 1_000;

/// An event about to be written.
#[derive(Debug, Clone)]
pub struct NewEvent<'a> {
    pub session_id: Uuid,
    pub kind: &'static str,
    /// A JSON object.
    pub data: &'a str,
}

/// An event as it is read.
#[derive(Debug, Clone, FromRow)]
pub struct EventRow {
    pub position: i64,
    pub session_id: Uuid,
    pub kind: String,
    pub compaction_id: Option<Uuid>,
    /// Of snapshots around a compaction: `before` or `after`.
    pub phase: Option<String>,
    pub data: String,
    pub created_at: DateTime<Utc>,
}

/// How far a tenant's events go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Reach {
    /// The newest position; 0 before the first.
    pub last_position: i64,
    /// The newest position that is no longer kept because of its age; 0 if all are.
    pub purged_position: i64,
}

/// Writes an event; it exists, and is announced, when the caller's transaction commits.
pub async fn record(executor: impl PgExecutor<'_>, tenant: Uuid, event: &NewEvent<'_>) -> Result<()> {
    sqlx::query(sql::RECORD)
        .bind(tenant)
        .bind(event.session_id)
        .bind(event.kind)
        .bind(event.data)
        .execute(executor)
        .await?;
    Ok(())
}

/// Gives positions to all events that have none, and says how far they go then.
pub async fn place(pool: &PgPool, tenant: Uuid) -> Result<Reach> {
    loop {
        let (reach, unplaced) = reach(pool, tenant).await?;
        if !unplaced {
            return Ok(reach);
        }
        let mut transaction = transaction::begin(pool).await?;
        sqlx::query(sql::BEGIN_POSITIONS).bind(tenant).execute(&mut *transaction).await?;
        // Whoever waits here for another reader must look at the events anew: hence two statements.
        sqlx::query(sql::LOCK_POSITIONS).bind(tenant).execute(&mut *transaction).await?;
        let placed = sqlx::query(sql::PLACE).bind(tenant).bind(BATCH).execute(&mut *transaction).await?;
        transaction.commit().await?;
        if placed.rows_affected() == 0 {
            // Those left are just being removed.
            return Ok(reach);
        }
    }
}

async fn reach(executor: impl PgExecutor<'_>, tenant: Uuid) -> Result<(Reach, bool)> {
    let (last_position, purged_position, unplaced) =
        sqlx::query_as(sql::REACH).bind(tenant).fetch_one(executor).await?;
    Ok((Reach { last_position, purged_position }, unplaced))
}

/// The sessions with events behind a position, each with its newest.
pub async fn changed(executor: impl PgExecutor<'_>, tenant: Uuid, after: i64) -> Result<Vec<(Uuid, i64)>> {
    sqlx::query_as(sql::CHANGED).bind(tenant).bind(after).fetch_all(executor).await
}

/// Events behind a position, of one session or of all, in order. Those of erased sessions are left out.
pub async fn page(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Option<Uuid>,
    after: i64,
    limit: i64,
) -> Result<Vec<EventRow>> {
    match session_id {
        None => sqlx::query_as(sql::PAGE).bind(tenant).bind(after).bind(limit).fetch_all(executor).await,
        Some(id) => {
            sqlx::query_as(sql::SESSION_PAGE).bind(tenant).bind(after).bind(limit).bind(id).fetch_all(executor).await
        }
    }
}

/// Removes the events of every tenant that were written before `before`; returns how many.
pub async fn purge(pool: &PgPool, before: DateTime<Utc>) -> Result<u64> {
    let mut all: u64 = 0;
    loop {
        let gone: i64 = sqlx::query_scalar(sql::PURGE).bind(before).bind(BATCH).fetch_one(pool).await?;
        all = all.saturating_add(gone.unsigned_abs());
        if gone < BATCH {
            return Ok(all);
        }
    }
}
