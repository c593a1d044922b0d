//! Texts of models that were refused as summaries: of each compaction the newest.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor, Result};
use uuid::Uuid;

/// A refused text.
#[derive(Debug, Clone, FromRow)]
pub struct RefusedRow {
    pub compaction_id: Uuid,
    pub session_id: Uuid,
    pub upstream: String,
    pub model: String,
    pub reason: String,
    pub text: String,
    pub is_cut: bool,
    pub at: DateTime<Utc>,
}

/// Keeps a text in place of the compaction's earlier one. Of an erased session nothing is kept.
pub async fn keep(executor: impl PgExecutor<'_>, tenant: Uuid, row: &RefusedRow) -> Result<()> {
    sqlx::query(
        "WITH session AS (
            SELECT id FROM sessions WHERE tenant_id = $1 AND id = $3 AND deleted_at IS NULL FOR KEY SHARE
         )
         INSERT INTO refused_texts (tenant_id, compaction_id, session_id, upstream, model, reason, text, is_cut, at)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM session
         ON CONFLICT (tenant_id, compaction_id) DO UPDATE
            SET upstream = excluded.upstream, model = excluded.model, reason = excluded.reason, text = excluded.text,
                is_cut = excluded.is_cut, at = excluded.at",
    )
    .bind(tenant)
    .bind(row.compaction_id)
    .bind(row.session_id)
    .bind(&row.upstream)
    .bind(&row.model)
    .bind(&row.reason)
    .bind(&row.text)
    .bind(row.is_cut)
    .bind(row.at)
    .execute(executor)
    .await?;
    Ok(())
}

/// The text of a compaction that was refused from `since` on. `None` too where its session is erased.
pub async fn get(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    compaction_id: Uuid,
    since: DateTime<Utc>,
) -> Result<Option<RefusedRow>> {
    sqlx::query_as(
        "SELECT compaction_id, session_id, upstream, model, reason, text, is_cut, at FROM refused_texts r
         WHERE tenant_id = $1 AND compaction_id = $2 AND at >= $3 AND EXISTS (
            SELECT FROM sessions s WHERE s.tenant_id = $1 AND s.id = r.session_id AND s.deleted_at IS NULL)",
    )
    .bind(tenant)
    .bind(compaction_id)
    .bind(since)
    .fetch_optional(executor)
    .await
}
