//! Tenants and their API keys.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, Result};
use uuid::Uuid;

/// A key as it is listed, without its hash.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StoredKey {
    pub tenant: String,
    pub id: Uuid,
    pub name: String,
    pub scopes: Vec<String>,
    pub requests_per_minute: Option<i32>,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
    pub replaced_by: Option<Uuid>,
}

/// A key to be stored.
#[derive(Debug, Clone)]
pub struct NewKeyRow {
    pub id: Uuid,
    pub name: String,
    pub hash: Vec<u8>,
    pub scopes: Vec<String>,
    pub requests_per_minute: Option<i32>,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
}

/// What a request needs to know of a key that is neither revoked nor over.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct LiveKey {
    pub id: Uuid,
    pub scopes: Vec<String>,
    pub requests_per_minute: Option<i32>,
    pub expires_at: Option<DateTime<Utc>>,
    pub last_used_at: Option<DateTime<Utc>>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT t.name AS tenant, k.id, k.name, k.scopes, k.requests_per_minute, k.created_at, k.expires_at,
                    k.revoked_at, k.last_used_at, k.replaced_by
             FROM api_keys k JOIN tenants t ON t.id = k.tenant_id ",
            $rest
        )
    };
}

macro_rules! live {
    ($which:literal) => {
        concat!(
            "SELECT id, scopes, requests_per_minute, expires_at, last_used_at FROM api_keys
             WHERE tenant_id = $1 AND ",
            $which,
            " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)"
        )
    };
}

pub async fn tenant_by_name(executor: impl PgExecutor<'_>, name: &str) -> Result<Option<Uuid>> {
    sqlx::query_scalar("SELECT id FROM tenants WHERE name = $1 ORDER BY id LIMIT 1")
        .bind(name)
        .fetch_optional(executor)
        .await
}

pub async fn insert_tenant(executor: impl PgExecutor<'_>, id: Uuid, name: &str, now: DateTime<Utc>) -> Result<()> {
    sqlx::query("INSERT INTO tenants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING")
        .bind(id)
        .bind(name)
        .bind(now)
        .execute(executor)
        .await?;
    Ok(())
}

/// Adds a key. False: the tenant has `most` already that are neither revoked, over nor replaced, or twice as many with those
/// that were replaced.
pub async fn insert(connection: &mut PgConnection, tenant: Uuid, key: &NewKeyRow, most: i64) -> Result<bool> {
    // The tenant's row is the lock under which its keys are counted.
    sqlx::query("SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE").bind(tenant).execute(&mut *connection).await?;
    let done = sqlx::query(
        "INSERT INTO api_keys (tenant_id, id, name, hash, scopes, requests_per_minute, created_at, expires_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8
          WHERE (SELECT count(*) FILTER (WHERE replaced_by IS NULL) < $9 AND count(*) < 2 * $9 FROM api_keys
                  WHERE tenant_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $7))",
    )
    .bind(tenant)
    .bind(key.id)
    .bind(&key.name)
    .bind(&key.hash)
    .bind(&key.scopes)
    .bind(key.requests_per_minute)
    .bind(key.created_at)
    .bind(key.expires_at)
    .bind(most)
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets the tenant's keys that ended before `before`, and all but the newest `most` of those that have ended.
pub async fn purge(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
    most: i64,
) -> Result<()> {
    sqlx::query(
        "DELETE FROM api_keys WHERE tenant_id = $1 AND (LEAST(revoked_at, expires_at) < $2 OR id IN (
             SELECT id FROM api_keys WHERE tenant_id = $1 AND LEAST(revoked_at, expires_at) <= $3
              ORDER BY id DESC OFFSET $4))",
    )
    .bind(tenant)
    .bind(before)
    .bind(now)
    .bind(most)
    .execute(executor)
    .await?;
    Ok(())
}

/// The key with this hash, unless it was revoked or is over.
pub async fn live(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<LiveKey>> {
    sqlx::query_as(live!("hash = $2")).bind(tenant).bind(hash).bind(now).fetch_optional(executor).await
}

/// The key with this id, unless it was revoked or is over.
pub async fn live_by_id(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    now: DateTime<Utc>,
) -> Result<Option<LiveKey>> {
    sqlx::query_as(live!("id = $2")).bind(tenant).bind(id).bind(now).fetch_optional(executor).await
}

/// Notes that a key was used, unless that was noted after `since`.
pub async fn touch(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    now: DateTime<Utc>,
    since: DateTime<Utc>,
) -> Result<()> {
    sqlx::query(
        "UPDATE api_keys SET last_used_at = $3
         WHERE tenant_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $4)",
    )
    .bind(tenant)
    .bind(id)
    .bind(now)
    .bind(since)
    .execute(executor)
    .await?;
    Ok(())
}

pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Option<StoredKey>> {
    sqlx::query_as(select!("WHERE k.tenant_id = $1 AND k.id = $2")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// As [`get`], locked until the transaction ends.
pub async fn lock(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Option<StoredKey>> {
    sqlx::query_as(select!("WHERE k.tenant_id = $1 AND k.id = $2 FOR UPDATE OF k"))
        .bind(tenant)
        .bind(id)
        .fetch_optional(executor)
        .await
}

/// A tenant's keys, the newest first; `after` is exclusive.
pub async fn list(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<StoredKey>> {
    sqlx::query_as(select!("WHERE k.tenant_id = $1 AND ($2::uuid IS NULL OR k.id < $2) ORDER BY k.id DESC LIMIT $3"))
        .bind(tenant)
        .bind(after)
        .bind(limit)
        .fetch_all(executor)
        .await
}

/// Every key of every tenant: for the operator's command line only.
pub async fn all(executor: impl PgExecutor<'_>) -> Result<Vec<StoredKey>> {
    sqlx::query_as(select!("ORDER BY t.name, k.created_at")).fetch_all(executor).await
}

/// The tenant of a key, by its id alone: for the operator's command line only.
pub async fn tenant_of(executor: impl PgExecutor<'_>, id: Uuid) -> Result<Option<Uuid>> {
    sqlx::query_scalar("SELECT tenant_id FROM api_keys WHERE id = $1").bind(id).fetch_optional(executor).await
}

/// Revokes a key, once; gives its hash. `None`: there is none, or it was revoked before.
pub async fn revoke(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    now: DateTime<Utc>,
) -> Result<Option<Vec<u8>>> {
    sqlx::query_scalar(
        "UPDATE api_keys SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING hash",
    )
    .bind(tenant)
    .bind(id)
    .bind(now)
    .fetch_optional(executor)
    .await
}

/// Has another key take a key's place: it ends at `ends_at`, or earlier where it was to end earlier. Gives its hash.
pub async fn replace(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    by: Uuid,
    ends_at: DateTime<Utc>,
) -> Result<Vec<u8>> {
    sqlx::query_scalar(
        "UPDATE api_keys SET replaced_by = $3, expires_at = LEAST(expires_at, $4)
         WHERE tenant_id = $1 AND id = $2 RETURNING hash",
    )
    .bind(tenant)
    .bind(id)
    .bind(by)
    .bind(ends_at)
    .fetch_one(executor)
    .await
}
