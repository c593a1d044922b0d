//! Sums over all tenants, for the operator's metrics only.

use sqlx::PgExecutor;

/// Sessions and the tokens of their contexts, by fill state.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StateRow {
    pub state: String,
    pub sessions: i64,
    pub tokens: i64,
}

pub async fn states(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<StateRow>> {
    sqlx::query_as(
        "SELECT fill_state AS state, count(*) AS sessions, coalesce(sum(tokens), 0)::bigint AS tokens
         FROM sessions WHERE deleted_at IS NULL GROUP BY fill_state",
    )
    .fetch_all(executor)
    .await
}
