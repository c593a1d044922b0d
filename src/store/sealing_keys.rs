//! The secrets that handles are sealed with.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

/// A secret, and its number among the tenant's.
#[derive(sqlx::FromRow)]
pub struct StoredSecret {
    pub id: i32,
    pub secret: Vec<u8>,
}

/// A tenant's secrets, the newest first, at most `limit`.
pub async fn list(executor: impl PgExecutor<'_>, tenant: Uuid, limit: i64) -> sqlx::Result<Vec<StoredSecret>> {
    sqlx::query_as("SELECT id, secret FROM sealing_keys WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2")
        .bind(tenant)
        .bind(limit)
        .fetch_all(executor)
        .await
}

/// Stores a tenant's first secret, unless somebody else was faster.
pub async fn insert_first(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    secret: &[u8],
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO sealing_keys (tenant_id, id, secret, created_at) VALUES ($1, 1, $2, $3)
         ON CONFLICT (tenant_id, id) DO NOTHING",
    )
    .bind(tenant)
    .bind(secret)
    .bind(now)
    .execute(executor)
    .await?;
    Ok(())
}
