//! What a session's timeline is drawn from: single entries of a path by place, what the service wrote on it, compactions
//! and branches. No item and no long text is read, and every statement is bounded.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::store::path::{self, STATEMENT_RANGES, Segment};

/// A stretch of a path of which one entry is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub segment: Segment,
    /// The last entry, whatever it is; else the last of the agent's.
    pub to_the_end: bool,
}

/// An entry with the totals up to it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct SampleRow {
    pub id: Uuid,
    pub depth: i64,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    pub usage: Option<i64>,
    pub created_at: DateTime<Utc>,
}

/// The last entry of each stretch that has one, in order.
pub async fn samples(
    connection: &mut PgConnection,
    tenant: Uuid,
    stretches: &[Stretch],
) -> sqlx::Result<Vec<SampleRow>> {
    let mut found = Vec::new();
    for some in stretches.chunks(STATEMENT_RANGES) {
        let rows: Vec<SampleRow> = sqlx::query_as(
            "SELECT e.id, e.depth, e.path_tokens, e.path_result_tokens, e.usage, e.created_at
             FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::boolean[]) WITH ORDINALITY
                s(session_id, branch, low, high, to_the_end, place)
             CROSS JOIN LATERAL (
                SELECT * FROM entries e
                WHERE e.tenant_id = $1 AND e.session_id = s.session_id AND e.branch = s.branch
                  AND e.depth BETWEEN s.low AND s.high AND (s.to_the_end OR e.role = 'assistant')
                ORDER BY e.depth DESC LIMIT 1
             ) e ORDER BY s.place",
        )
        .bind(tenant)
        .bind(some.iter().map(|one| one.segment.session_id).collect::<Vec<_>>())
        .bind(some.iter().map(|one| one.segment.branch).collect::<Vec<_>>())
        .bind(some.iter().map(|one| one.segment.from).collect::<Vec<_>>())
        .bind(some.iter().map(|one| one.segment.to).collect::<Vec<_>>())
        .bind(some.iter().map(|one| one.to_the_end).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?;
        found.extend(rows);
    }
    Ok(found)
}

/// A compaction or a chapter on a path.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct MarkRow {
    pub session_id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub id: Uuid,
    pub is_compaction: bool,
    pub tokens: i32,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    pub created_at: DateTime<Utc>,
}

/// The newest compactions and chapters on a path, the oldest of them first. The three kinds are those of the index.
pub async fn marks(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    path: &[Segment],
    limit: i64,
) -> sqlx::Result<Vec<MarkRow>> {
    let mut rows: Vec<MarkRow> = sqlx::query_as(
        "SELECT session_id, branch, depth, id, kind = 'compaction' AS is_compaction, tokens, path_tokens,
            path_result_tokens, created_at
         FROM entries
         WHERE tenant_id = $1 AND session_id = ANY ($2) AND kind IN ('compaction', 'chapter', 'branch_summary')
           AND kind <> 'branch_summary'
         ORDER BY depth DESC LIMIT $3",
    )
    .bind(tenant)
    .bind(path::sessions_of(path))
    .bind(limit)
    .fetch_all(executor)
    .await?;
    rows.retain(|row| path::holds(path, row.session_id, row.branch, row.depth));
    rows.reverse();
    Ok(rows)
}

/// A compaction without its long parts.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct JobRow {
    pub id: Uuid,
    pub session_id: Uuid,
    pub status: String,
    pub trigger: String,
    pub strategy: String,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    /// How its result begins: see [`JobRow::entry_id`].
    opening: Option<String>,
    pub snapshot_before: Option<String>,
    pub snapshot_after: Option<String>,
}

/// What a result begins with where it has an entry.
const OPENING: &str = r#"{"entry_id":""#;

impl JobRow {
    /// The entry that the compaction left, told by the beginning of its result alone: the rest may be long.
    pub fn entry_id(&self) -> Option<Uuid> {
        let id = self.opening.as_deref()?.strip_prefix(OPENING)?.get(..36)?;
        Uuid::parse_str(id).ok()
    }
}

/// The newest compactions of these sessions.
pub async fn jobs(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    limit: i64,
) -> sqlx::Result<Vec<JobRow>> {
    sqlx::query_as(
        "SELECT id, session_id, status, trigger, strategy, created_at, finished_at, left(result, 64) AS opening,
            snapshot_before, snapshot_after
         FROM compactions WHERE tenant_id = $1 AND session_id = ANY ($2) ORDER BY id DESC LIMIT $3",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// The first entry of each of a session's newest branches, and when it came.
pub async fn branches(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<(Uuid, DateTime<Utc>)>> {
    sqlx::query_as(
        "SELECT e.id, e.created_at FROM (
            SELECT * FROM branches WHERE tenant_id = $1 AND session_id = $2 ORDER BY branch DESC LIMIT $3
         ) b
         JOIN entries e ON e.tenant_id = b.tenant_id AND e.session_id = b.session_id AND e.branch = b.branch
            AND e.depth = b.fork_depth + 1
         ORDER BY b.branch DESC",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(limit)
    .fetch_all(executor)
    .await
}
