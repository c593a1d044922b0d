//! Which processes leave which upstream alone. Upstreams are the service's, so nothing here is of a tenant.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor, Result};
use uuid::Uuid;

/// An upstream that some processes leave alone.
#[derive(Debug, Clone, FromRow)]
pub struct RestRow {
    pub upstream: String,
    /// Until the last of them calls it again.
    pub rests_until: DateTime<Utc>,
}

/// Notes that a process leaves an upstream alone until a time.
pub async fn rest(executor: impl PgExecutor<'_>, upstream: &str, process: Uuid, until: DateTime<Utc>) -> Result<()> {
    sqlx::query(
        "INSERT INTO upstream_breakers (upstream, process, rests_until) VALUES ($1, $2, $3)
         ON CONFLICT (upstream, process) DO UPDATE SET rests_until = excluded.rests_until",
    )
    .bind(upstream)
    .bind(process)
    .bind(until)
    .execute(executor)
    .await?;
    Ok(())
}

/// Notes that a process calls an upstream again.
pub async fn close(executor: impl PgExecutor<'_>, upstream: &str, process: Uuid) -> Result<()> {
    sqlx::query("DELETE FROM upstream_breakers WHERE upstream = $1 AND process = $2")
        .bind(upstream)
        .bind(process)
        .execute(executor)
        .await?;
    Ok(())
}

/// The upstreams that are left alone at this time. A process that ended without a word counts until its rest is over.
pub async fn resting(executor: impl PgExecutor<'_>, now: DateTime<Utc>) -> Result<Vec<RestRow>> {
    sqlx::query_as(
        "SELECT upstream, max(rests_until) AS rests_until FROM upstream_breakers
         WHERE rests_until > $1 GROUP BY upstream",
    )
    .bind(now)
    .fetch_all(executor)
    .await
}

/// Removes what is over.
pub async fn purge(executor: impl PgExecutor<'_>, now: DateTime<Utc>) -> Result<()> {
    sqlx::query("DELETE FROM upstream_breakers WHERE rests_until <= $1").bind(now).execute(executor).await?;
    Ok(())
}
