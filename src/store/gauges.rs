//! Sums over all tenants, for the operator's metrics only.

use sqlx::PgExecutor;

/// Sessions and the tokens of their contexts, by fill state.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StateRow {
    pub state: String,
    pub sessions: i64,
    pub tokens: i64,
}

pub async fn states(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<StateRow>> {
    sqlx::query_as(
        "SELECT fill_state AS state, count(*) AS sessions, coalesce(sum(tokens), 0)::bigint AS tokens
         FROM sessions WHERE deleted_at IS NULL GROUP BY fill_state",
    )
    .fetch_all(executor)
    .await
}

/// How full the queue is.
#[derive(Debug, Clone, Copy, Default, sqlx::FromRow)]
pub struct QueueRow {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    /// Seconds that the oldest due job has been waiting; 0 when none is due.
    pub oldest_due_seconds: f64,
}

pub async fn queue(executor: impl PgExecutor<'_>) -> sqlx::Result<QueueRow> {
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE status = 'pending') AS pending,
                count(*) FILTER (WHERE status = 'running') AS running,
                count(*) FILTER (WHERE status = 'dead') AS dead,
                coalesce(greatest(0, extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'pending'))), 0)
                    ::float8 AS oldest_due_seconds
         FROM jobs",
    )
    .fetch_one(executor)
    .await
}
