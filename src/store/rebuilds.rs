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

pub async fn put(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    format: &str,
    digests: &[u8],
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO rebuilds (tenant_id, session_id, format, digests) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant_id, session_id, format) DO UPDATE SET digests = excluded.digests",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(format)
    .bind(digests)
    .execute(executor)
    .await?;
    Ok(())
}
