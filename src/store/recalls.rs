//! Results that were fetched though the context no longer showed them.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::text_key::text_key;

/// Rows that a session has at most, the newest.
const MOST: i64 = 32;
/// Compactions since the last time that a result was fetched, in which it is still carried.
const CARRIED_FOR: i64 = 3;

/// Counts one more time that a result was fetched. Nothing is written for a session that is being erased. Records quote the
/// original, so `call` and `excerpt` are empty.
pub async fn note(
    connection: &mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    tool_call_id: &str,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO recalls (tenant_id, session_id, call_key, tool_call_id, call, excerpt, times, last_at)
         SELECT tenant_id, id, $3, $4, '', '', 1, $5 FROM sessions
          WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR KEY SHARE
         ON CONFLICT (tenant_id, session_id, call_key) DO UPDATE
            SET times = least(recalls.times, 1000) + 1, last_at = excluded.last_at",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(text_key(tool_call_id))
    .bind(tool_call_id)
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

/// The calls whose results were fetched twice or more, the last time not long ago, newest first.
pub async fn repeated(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT tool_call_id FROM recalls
          WHERE tenant_id = $1 AND session_id = $2 AND times > 1 AND last_at > coalesce((
            SELECT created_at FROM compactions WHERE tenant_id = $1 AND session_id = $2 AND status = 'succeeded'
             ORDER BY created_at DESC OFFSET $3 LIMIT 1), '-infinity')
          ORDER BY last_at DESC",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(CARRIED_FOR - 1)
    .fetch_all(executor)
    .await
}
