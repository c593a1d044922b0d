//! Tenants and their API keys.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StoredKey {
    pub tenant: String,
    pub id: Uuid,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
}

pub async fn tenant_by_name(executor: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar("SELECT id FROM tenants WHERE name = $1 ORDER BY id LIMIT 1")
        .bind(name)
        .fetch_optional(executor)
        .await
}

pub async fn insert_tenant(
    executor: impl PgExecutor<'_>,
    id: Uuid,
    name: &str,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING")
        .bind(id)
        .bind(name)
        .bind(now)
        .execute(executor)
        .await?;
    Ok(())
}

pub async fn insert_key(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    name: &str,
    hash: &[u8],
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO api_keys (tenant_id, id, name, hash, created_at) VALUES ($1, $2, $3, $4, $5)")
        .bind(tenant)
        .bind(id)
        .bind(name)
        .bind(hash)
        .bind(now)
        .execute(executor)
        .await?;
    Ok(())
}

/// Returns true if the tenant has this key, not revoked.
pub async fn is_valid(executor: impl PgExecutor<'_>, tenant: Uuid, hash: &[u8]) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = $1 AND hash = $2 AND revoked_at IS NULL)",
    )
    .bind(tenant)
    .bind(hash)
    .fetch_one(executor)
    .await
}

/// The id of a key that was not revoked.
pub async fn live_id(executor: impl PgExecutor<'_>, tenant: Uuid, hash: &[u8]) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar("SELECT id FROM api_keys WHERE tenant_id = $1 AND hash = $2 AND revoked_at IS NULL")
        .bind(tenant)
        .bind(hash)
        .fetch_optional(executor)
        .await
}

/// Returns true if the tenant has the key of this id, not revoked.
pub async fn is_live(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL)")
        .bind(tenant)
        .bind(id)
        .fetch_one(executor)
        .await
}

/// A tenant's keys, the newest first.
pub async fn of_tenant(executor: impl PgExecutor<'_>, tenant: Uuid, limit: i64) -> sqlx::Result<Vec<StoredKey>> {
    sqlx::query_as(
        "SELECT t.name AS tenant, k.id, k.name, k.created_at, k.revoked_at
         FROM api_keys k JOIN tenants t ON t.id = k.tenant_id WHERE k.tenant_id = $1 ORDER BY k.id DESC LIMIT $2",
    )
    .bind(tenant)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// Every key of every tenant: for the operator's command line only.
pub async fn all(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<StoredKey>> {
    sqlx::query_as(
        "SELECT t.name AS tenant, k.id, k.name, k.created_at, k.revoked_at
         FROM api_keys k JOIN tenants t ON t.id = k.tenant_id ORDER BY t.name, k.created_at",
    )
    .fetch_all(executor)
    .await
}

/// Revokes a key by its id alone: for the operator's command line only. False when there is no such live key.
pub async fn revoke(executor: impl PgExecutor<'_>, id: Uuid, now: DateTime<Utc>) -> sqlx::Result<bool> {
    let done = sqlx::query("UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL")
        .bind(id)
        .bind(now)
        .execute(executor)
        .await?;
    Ok(done.rows_affected() > 0)
}
