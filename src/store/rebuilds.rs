//! Digests of the messages last handed out, per session and format.

use sqlx::PgExecutor;
use uuid::Uuid;

pub async fn get(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    format: &str,
) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar("SELECT digests FROM rebuilds WHERE tenant_id = $1 AND session_id = $2 AND format = $3")
        .bind(tenant)
        .bind(session_id)
        .bind(format)
        .fetch_optional(executor)
        .await
}

/// The leaf of one of the contexts that were handed out last is this entry.
pub async fn shows(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid, leaf_id: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM rebuilds WHERE tenant_id = $1 AND session_id = $2 AND leaf_id = $3)")
        .bind(tenant)
        .bind(session_id)
        .bind(leaf_id)
        .fetch_one(executor)
        .await
}

pub async fn put(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    format: &str,
    digests: &[u8],
    leaf_id: Option<Uuid>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO rebuilds (tenant_id, session_id, format, digests, leaf_id) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant_id, session_id, format) DO UPDATE SET digests = excluded.digests, leaf_id = excluded.leaf_id",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(format)
    .bind(digests)
    .bind(leaf_id)
    .execute(executor)
    .await?;
    Ok(())
}
