//! Hooks and what was sent to them.

pub mod deliveries;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, Result};
use uuid::Uuid;

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct HookRow {
    pub id: Uuid,
    pub url: String,
    pub events: Vec<String>,
    pub secret: String,
    pub timeout_ms: i32,
    pub on_error: String,
    pub enabled: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, url, events, secret, timeout_ms, on_error, enabled, created_at, updated_at
             FROM hooks WHERE tenant_id = $1 AND ",
            $rest
        )
    };
}

/// Adds a hook. False: the tenant has `most` already.
pub async fn insert(connection: &mut PgConnection, tenant: Uuid, hook: &HookRow, most: i64) -> Result<bool> {
    // The tenant's row is the lock under which its hooks are counted.
    sqlx::query("SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE").bind(tenant).execute(&mut *connection).await?;
    let done = sqlx::query(
        "INSERT INTO hooks (tenant_id, id, url, events, secret, timeout_ms, on_error, enabled, created_at, updated_at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
          WHERE (SELECT count(*) FROM hooks WHERE tenant_id = $1) < $11",
    )
    .bind(tenant)
    .bind(hook.id)
    .bind(&hook.url)
    .bind(&hook.events)
    .bind(&hook.secret)
    .bind(hook.timeout_ms)
    .bind(&hook.on_error)
    .bind(hook.enabled)
    .bind(hook.created_at)
    .bind(hook.updated_at)
    .bind(most)
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Option<HookRow>> {
    sqlx::query_as(select!("id = $2")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// As [`get`], locked until the transaction ends.
pub async fn lock(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Option<HookRow>> {
    sqlx::query_as(select!("id = $2 FOR UPDATE")).bind(tenant).bind(id).fetch_optional(executor).await
}

/// In the order of creation; `after` is exclusive.
pub async fn list(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    after: Option<Uuid>,
    limit: i64,
) -> Result<Vec<HookRow>> {
    sqlx::query_as(select!("($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3"))
        .bind(tenant)
        .bind(after)
        .bind(limit)
        .fetch_all(executor)
        .await
}

/// The enabled hooks, in the order of their creation.
pub async fn enabled(executor: impl PgExecutor<'_>, tenant: Uuid) -> Result<Vec<HookRow>> {
    sqlx::query_as(select!("enabled ORDER BY id")).bind(tenant).fetch_all(executor).await
}

/// Writes everything that a client can change.
pub async fn update(executor: impl PgExecutor<'_>, tenant: Uuid, hook: &HookRow) -> Result<()> {
    sqlx::query(
        "UPDATE hooks SET url = $3, events = $4, secret = $5, timeout_ms = $6, on_error = $7, enabled = $8, updated_at = $9
         WHERE tenant_id = $1 AND id = $2",
    )
    .bind(tenant)
    .bind(hook.id)
    .bind(&hook.url)
    .bind(&hook.events)
    .bind(&hook.secret)
    .bind(hook.timeout_ms)
    .bind(&hook.on_error)
    .bind(hook.enabled)
    .bind(hook.updated_at)
    .execute(executor)
    .await?;
    Ok(())
}

/// Removes a hook and its log. False: there is none.
pub async fn delete(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<bool> {
    let done = sqlx::query("DELETE FROM hooks WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .execute(executor)
        .await?;
    Ok(done.rows_affected() == 1)
}
