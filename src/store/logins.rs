//! Logins to the pages that were ended before their time.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, Result};
use uuid::Uuid;

/// Notes that a login has ended, which would have held until `ends_at`, and forgets those of the tenant that are over by now.
pub async fn end(
    connection: &mut PgConnection,
    tenant: Uuid,
    login: Uuid,
    ends_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query("DELETE FROM ended_logins WHERE tenant_id = $1 AND ends_at < $2")
        .bind(tenant)
        .bind(now)
        .execute(&mut *connection)
        .await?;
    sqlx::query("INSERT INTO ended_logins (tenant_id, login_id, ends_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(tenant)
        .bind(login)
        .bind(ends_at)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn has_ended(executor: impl PgExecutor<'_>, tenant: Uuid, login: Uuid) -> Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM ended_logins WHERE tenant_id = $1 AND login_id = $2)")
        .bind(tenant)
        .bind(login)
        .fetch_one(executor)
        .await
}
