//! Answers kept under their idempotency key.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

/// An answer and the digest of the request that it belongs to.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Row {
    pub request_hash: Vec<u8>,
    pub status: i16,
    pub body: String,
}

/// `None` too where the session is erased that the answer tells of.
pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, key: &str) -> sqlx::Result<Option<Row>> {
    sqlx::query_as(
        "SELECT request_hash, status, body FROM idempotency_keys k WHERE tenant_id = $1 AND key = $2
            AND (session_id IS NULL OR EXISTS (
                SELECT FROM sessions s WHERE s.tenant_id = $1 AND s.id = k.session_id AND s.deleted_at IS NULL))",
    )
    .bind(tenant)
    .bind(key)
    .fetch_optional(executor)
    .await
}

/// False where the key is taken. Waits for another transaction that is about to take it. `session`: which one the answer
/// tells of; an error where that is erased.
pub async fn insert(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    key: &str,
    session: Option<Uuid>,
    row: &Row,
    now: DateTime<Utc>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO idempotency_keys (tenant_id, key, request_hash, status, body, created_at, session_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant_id, key) DO NOTHING",
    )
    .bind(tenant)
    .bind(key)
    .bind(&row.request_hash)
    .bind(row.status)
    .bind(&row.body)
    .bind(now)
    .bind(session)
    .execute(executor)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Replaces the answer, not the request that it belongs to.
pub async fn replace(executor: impl PgExecutor<'_>, tenant: Uuid, key: &str, row: &Row) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE idempotency_keys SET status = $4, body = $5
         WHERE tenant_id = $1 AND key = $2 AND request_hash = $3",
    )
    .bind(tenant)
    .bind(key)
    .bind(&row.request_hash)
    .bind(row.status)
    .bind(&row.body)
    .execute(executor)
    .await?;
    Ok(())
}

/// Keeps the newest keys of a tenant: so many at most, whose answers have so many bytes together.
pub async fn keep_newest(executor: impl PgExecutor<'_>, tenant: Uuid, keys: i64, bytes: i64) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "DELETE FROM idempotency_keys k USING (
            SELECT key, row_number() OVER newest AS place, sum(octet_length(body)) OVER newest AS bytes
            FROM idempotency_keys WHERE tenant_id = $1
            WINDOW newest AS (ORDER BY created_at DESC, key DESC ROWS UNBOUNDED PRECEDING)
         ) kept
         WHERE k.tenant_id = $1 AND k.key = kept.key AND (kept.place > $2 OR kept.bytes > $3)",
    )
    .bind(tenant)
    .bind(keys)
    .bind(bytes)
    .execute(executor)
    .await?;
    Ok(done.rows_affected())
}

/// Forgets the keys of every tenant that were first used before `before`; returns how many.
pub async fn purge(executor: impl PgExecutor<'_>, before: DateTime<Utc>) -> sqlx::Result<u64> {
    let done = sqlx::query("DELETE FROM idempotency_keys WHERE created_at < $1").bind(before).execute(executor).await?;
    Ok(done.rows_affected())
}
