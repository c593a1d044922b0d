//! What a session's tree is outlined from: its branches, and the entries that stand out. No item is read, and every
//! statement is bounded.

use sqlx::PgExecutor;
use uuid::Uuid;

/// A branch of a session's own, and its last entry.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct BranchRow {
    pub branch: i32,
    /// Null: it begins with the session.
    pub parent_session: Option<Uuid>,
    pub parent_branch: i32,
    /// The depth of the entry that it goes on from; -1 where there is none.
    pub fork_depth: i64,
    pub tip_depth: i64,
    pub tip: Uuid,
}

/// The first branch and the newest of the others, in order. A branch without entries is none.
pub async fn branches(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<BranchRow>> {
    sqlx::query_as(
        "WITH first AS (
            SELECT branch, parent_session, parent_branch, fork_depth FROM branches
            WHERE tenant_id = $1 AND session_id = $2 AND branch = 0
         )
         SELECT b.branch, b.parent_session, b.parent_branch, b.fork_depth, e.depth AS tip_depth, e.id AS tip
         FROM (
            SELECT 0 AS branch, NULL::uuid AS parent_session, 0 AS parent_branch, -1::bigint AS fork_depth
            WHERE NOT EXISTS (SELECT FROM first)
          UNION ALL SELECT * FROM first
          UNION ALL (
            SELECT branch, parent_session, parent_branch, fork_depth FROM branches
            WHERE tenant_id = $1 AND session_id = $2 AND branch > 0 ORDER BY branch DESC LIMIT $3)
         ) b
         CROSS JOIN LATERAL (
            SELECT e.depth, e.id FROM entries e
            WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.branch = b.branch ORDER BY e.depth DESC LIMIT 1
         ) e ORDER BY b.branch",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// An entry that stands out.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct MarkRow {
    pub branch: i32,
    pub depth: i64,
    pub id: Uuid,
    pub kind: String,
    /// The beginning of its label.
    pub label: Option<String>,
}

/// The newest compactions, chapters and branch summaries of the session itself, newest first.
pub async fn ours(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<MarkRow>> {
    sqlx::query_as(
        "SELECT branch, depth, id, kind, left(label, 120) AS label FROM entries
         WHERE tenant_id = $1 AND session_id = $2 AND kind IN ('compaction', 'chapter', 'branch_summary')
         ORDER BY seq DESC LIMIT $3",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// The newest entries with a label among those that follow `after` by `seq`, newest first.
pub async fn labelled(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
    limit: i64,
) -> sqlx::Result<Vec<MarkRow>> {
    sqlx::query_as(
        "SELECT branch, depth, id, kind, left(label, 120) AS label FROM entries
         WHERE tenant_id = $1 AND session_id = $2 AND seq > $3 AND label IS NOT NULL ORDER BY seq DESC LIMIT $4",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(limit)
    .fetch_all(executor)
    .await
}
