//! Sessions as a list of them needs them: without their large texts.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::store::sessions::HeadAndSettings;

/// A session's line.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct LineRow {
    pub id: Uuid,
    /// Their first 200 characters.
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub head: HeadAndSettings,
}

/// Those of these sessions that are there, in this order.
pub async fn of(executor: impl PgExecutor<'_>, tenant: Uuid, ids: &[Uuid]) -> sqlx::Result<Vec<LineRow>> {
    sqlx::query_as(
        "SELECT s.id, left(external_id, 200) AS external_id, left(title, 200) AS title, created_at, updated_at, version,
            next_seq, next_branch, entry_count, leaf_branch, leaf_depth, leaf_id, state, fill_state, tokens,
            guard_tripped, settings, model, parent_session
         FROM unnest($2::uuid[]) WITH ORDINALITY wanted(id, place) JOIN sessions s USING (id)
         WHERE s.tenant_id = $1 AND s.deleted_at IS NULL ORDER BY place",
    )
    .bind(tenant)
    .bind(ids)
    .fetch_all(executor)
    .await
}
