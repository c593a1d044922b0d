//! Jobs as people look at them.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor, Result};
use uuid::Uuid;

/// A job without its lease.
#[derive(Debug, Clone, FromRow)]
pub struct ListedJob {
    pub id: Uuid,
    pub session_id: Uuid,
    pub compaction_id: Option<Uuid>,
    pub kind: String,
    pub attempts: i32,
    pub max_attempts: i32,
    pub last_error: Option<String>,
    pub created_at: DateTime<Utc>,
    /// From when on it may be claimed.
    pub run_at: DateTime<Utc>,
}

/// A tenant's jobs of one status, the oldest first, among the `most_seen` that are looked at.
pub async fn listed(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    status: &'static str,
    most_seen: i64,
    limit: i64,
) -> Result<Vec<ListedJob>> {
    sqlx::query_as(
        "SELECT id, session_id, compaction_id, kind, attempts, max_attempts, last_error, created_at, run_at
         FROM (SELECT * FROM jobs WHERE tenant_id = $1 LIMIT $2) j
         WHERE status = $3 ORDER BY run_at, id LIMIT $4",
    )
    .bind(tenant)
    .bind(most_seen)
    .bind(status)
    .bind(limit)
    .fetch_all(executor)
    .await
}
