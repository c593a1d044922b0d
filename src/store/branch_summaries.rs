//! Departures: the summary of a branch that is about to be left, from the call that asks for it to the call that
//! takes it. A session has one at a time, the newest.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct BranchSummaryRow {
    pub id: Uuid,
    pub request: String,
    /// The summary as JSON, once it is written.
    pub draft: Option<String>,
    /// Why there will be none.
    pub error: Option<String>,
}

/// Asks for a summary, in place of whatever the session asked for before.
pub async fn ask(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    id: Uuid,
    request: &str,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO departures (tenant_id, session_id, id, request, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant_id, session_id)
         DO UPDATE SET id = $3, request = $4, draft = NULL, error = NULL, created_at = $5",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(id)
    .bind(request)
    .bind(now)
    .execute(executor)
    .await?;
    Ok(())
}

pub async fn get(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Option<BranchSummaryRow>> {
    sqlx::query_as("SELECT id, request, draft, error FROM departures WHERE tenant_id = $1 AND session_id = $2")
        .bind(tenant)
        .bind(session_id)
        .fetch_optional(executor)
        .await
}

/// Gives the draft, or else the reason why there is none. Nothing happens where it is no longer asked for.
pub async fn answer(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    id: Uuid,
    draft: Result<&str, &str>,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE departures SET draft = $4, error = $5 WHERE tenant_id = $1 AND session_id = $2 AND id = $3")
        .bind(tenant)
        .bind(session_id)
        .bind(id)
        .bind(draft.ok())
        .bind(draft.err())
        .execute(executor)
        .await?;
    Ok(())
}

/// Removes a pending branch summary that came to its end.
pub async fn remove(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid, id: Uuid) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM departures WHERE tenant_id = $1 AND session_id = $2 AND id = $3")
        .bind(tenant)
        .bind(session_id)
        .bind(id)
        .execute(executor)
        .await?;
    Ok(())
}
