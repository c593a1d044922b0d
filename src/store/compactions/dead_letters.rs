//! Compactions that failed, with what is left of their jobs.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::store::events::sql::{status_events, told_columns};

/// The dead job goes; a new one is the caller's to queue.
const REQUEUE: &str = concat!(
    "WITH queued AS (
        UPDATE compactions c SET status = 'queued', trigger = 'manual', attempts = 0, error = NULL, started_at = NULL,
            finished_at = NULL, candidate = NULL
         WHERE tenant_id = $1 AND session_id = $2 AND id = $3 AND status = 'failed' AND NOT EXISTS (
            SELECT FROM compactions live
            WHERE live.tenant_id = $1 AND live.session_id = $2 AND live.status IN ('queued', 'running'))
        RETURNING ",
    told_columns!(),
    "), gone AS (
        DELETE FROM jobs j USING queued c
         WHERE j.tenant_id = c.tenant_id AND j.compaction_id = c.id AND j.session_id = c.session_id
           AND j.status = 'dead'
    ), told AS (",
    status_events!("queued"),
    ") SELECT count(*) FROM queued"
);

/// Makes a failed compaction a queued one and tells of it. False: it has not failed, or its session has a live one.
pub async fn requeue(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid, id: Uuid) -> sqlx::Result<bool> {
    let requeued: sqlx::Result<i64> =
        sqlx::query_scalar(REQUEUE).bind(tenant).bind(session_id).bind(id).fetch_one(executor).await;
    match requeued {
        Ok(count) => Ok(count == 1),
        // One was queued at the same moment.
        Err(sqlx::Error::Database(error)) if error.constraint() == Some("compactions_one_live") => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes failed compactions and their dead jobs, the oldest first; returns how many.
pub async fn purge(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Option<Uuid>,
    before: Option<DateTime<Utc>>,
    limit: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "WITH failed AS (
            SELECT id FROM compactions
            WHERE tenant_id = $1 AND status = 'failed' AND ($2::uuid IS NULL OR session_id = $2)
              AND ($3::timestamptz IS NULL OR finished_at < $3)
            ORDER BY id LIMIT $4 FOR UPDATE SKIP LOCKED
         ), gone AS (
            DELETE FROM compactions c USING failed f WHERE c.tenant_id = $1 AND c.id = f.id AND c.status = 'failed'
            RETURNING c.id, c.session_id
         ), jobs_gone AS (
            DELETE FROM jobs j USING gone g
            WHERE j.tenant_id = $1 AND j.session_id = g.session_id AND j.compaction_id = g.id AND j.status = 'dead'
         ) SELECT count(*) FROM gone",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(before)
    .bind(limit)
    .fetch_one(executor)
    .await
}
