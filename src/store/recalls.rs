//! Results that were fetched though the context no longer showed them.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::text_key::text_key;
use crate::domain::summary::recalled::RecalledResult;

/// Rows that a session has at most, the newest.
const MOST: i64 = 32;
/// Compactions since the last time that a result was fetched, in which it is still carried.
const CARRIED_FOR: i64 = 3;

/// Counts one more time that a result was fetched. Nothing is written for a session that is being erased.
pub async fn note(
    connection: &mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    recalled: &RecalledResult,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO recalls (tenant_id, session_id, call_key, tool_call_id, call, excerpt, times, last_at)
         SELECT tenant_id, id, $3, $4, $5, $6, 1, $7 FROM sessions
          WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR KEY SHARE
         ON CONFLICT (tenant_id, session_id, call_key) DO UPDATE
            SET times = least(recalls.times, 1000) + 1, call = excluded.call, excerpt = excluded.excerpt,
                last_at = excluded.last_at",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(text_key(&recalled.tool_call_id))
    .bind(&recalled.tool_call_id)
    .bind(&recalled.call)
    .bind(&recalled.excerpt)
    .bind(now)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "DELETE FROM recalls WHERE tenant_id = $1 AND session_id = $2 AND last_at < (
            SELECT last_at FROM recalls WHERE tenant_id = $1 AND session_id = $2
             ORDER BY last_at DESC OFFSET $3 LIMIT 1)",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(MOST - 1)
    .execute(connection)
    .await?;
    Ok(())
}

/// Results that were fetched twice or more, the last time not long ago, newest first.
pub async fn repeated(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Vec<RecalledResult>> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT tool_call_id, call, excerpt FROM recalls
          WHERE tenant_id = $1 AND session_id = $2 AND times > 1 AND last_at > coalesce((
            SELECT created_at FROM compactions WHERE tenant_id = $1 AND session_id = $2 AND status = 'succeeded'
             ORDER BY created_at DESC OFFSET $3 LIMIT 1), '-infinity')
          ORDER BY last_at DESC",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(CARRIED_FOR - 1)
    .fetch_all(executor)
    .await?;
    let recalled = |(tool_call_id, call, excerpt)| RecalledResult { tool_call_id, call, excerpt };
    Ok(rows.into_iter().map(recalled).collect())
}
