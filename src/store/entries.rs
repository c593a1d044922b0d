//! Entries: written once, read by ranges of a path.

mod marks;
mod new;
mod read;
mod sizes;
mod stored;
mod texts;
mod write;

use sqlx::PgExecutor;
use uuid::Uuid;

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::shape::Shape;
use texts::{record_text, shape_text};

pub use super::text_key::text_key;
pub use marks::compaction_before;
pub use new::{NewBranch, NewEntry, Write};
pub use read::{
    NodeRow, by_ids, by_seq, chunk, chunk_by_seq, each, each_head_by_seq, heads, heads_by_users, heads_with_calls,
    newest_compactions, nodes, nodes_by_seq, ours, record_at, whole, with_calls,
};
pub use sizes::{Size, bytes, fill, newest_usage, sizes, sizes_by_seq, sizes_of, totals, totals_at};
pub use stored::StoredEntry;
pub use write::{GuardedWrite, Patience, is_lock_timeout, try_write, write, write_all};

/// Where an entry sits and the totals up to it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct EntryPlace {
    pub session_id: Uuid,
    pub id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub seq: i64,
    pub kind: String,
    pub role: Option<String>,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
}

/// Where an entry of one of these sessions sits. `seq` is the one that the id carries.
pub async fn place(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    seq: i64,
    id: Uuid,
) -> sqlx::Result<Option<EntryPlace>> {
    sqlx::query_as(
        "SELECT session_id, id, branch, depth, seq, kind, role, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY($2) AND seq = $3 AND id = $4",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seq)
    .bind(id)
    .fetch_optional(executor)
    .await
}

/// Returns true if the session itself holds this entry. `seq` is the one that the id carries.
pub async fn holds(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    seq: i64,
    id: Uuid,
) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM entries WHERE tenant_id = $1 AND session_id = $2 AND seq = $3 AND id = $4)",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(seq)
    .bind(id)
    .fetch_one(executor)
    .await
}

/// The parent of an entry, `Some(None)` for the first; `None`: it is not there. `seq` is the one that the id carries.
pub async fn parent_of(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    seq: i64,
    id: Uuid,
) -> sqlx::Result<Option<Option<Uuid>>> {
    sqlx::query_scalar(
        "SELECT parent_id FROM entries WHERE tenant_id = $1 AND session_id = ANY($2) AND seq = $3 AND id = $4",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seq)
    .bind(id)
    .fetch_optional(executor)
    .await
}

/// Where those of these entries sit that are there: each by the `seq` that its id carries, and its id.
pub async fn places(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    ids: &[(i64, Uuid)],
) -> sqlx::Result<Vec<EntryPlace>> {
    let (seqs, ids): (Vec<i64>, Vec<Uuid>) = ids.iter().copied().unzip();
    sqlx::query_as(
        "SELECT session_id, id, branch, depth, seq, kind, role, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY($2) AND seq = ANY($3) AND id = ANY($4)",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seqs)
    .bind(ids)
    .fetch_all(executor)
    .await
}

/// Where the entries with these source ids sit, newest first.
pub async fn places_by_source(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    source_ids: &[String],
) -> sqlx::Result<Vec<(String, EntryPlace)>> {
    let keys: Vec<Uuid> = source_ids.iter().map(|id| text_key(id)).collect();
    let rows: Vec<SourcePlace> = sqlx::query_as(
        "SELECT source_id, session_id, id, branch, depth, seq, kind, role, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY($2) AND source_key = ANY($3) ORDER BY seq DESC",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(keys)
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|row| (row.source_id, row.place)).collect())
}

#[derive(sqlx::FromRow)]
struct SourcePlace {
    source_id: String,
    #[sqlx(flatten)]
    place: EntryPlace,
}

/// The deepest entry of a branch; -1 when it has none.
pub async fn tip_depth(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    branch: i32,
) -> sqlx::Result<i64> {
    let depth: Option<i64> =
        sqlx::query_scalar("SELECT max(depth) FROM entries WHERE tenant_id = $1 AND session_id = $2 AND branch = $3")
            .bind(tenant)
            .bind(session_id)
            .bind(branch)
            .fetch_one(executor)
            .await?;
    Ok(depth.unwrap_or(-1))
}

pub async fn set_label(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    seq: i64,
    label: Option<&str>,
) -> sqlx::Result<bool> {
    let done = sqlx::query("UPDATE entries SET label = $4 WHERE tenant_id = $1 AND session_id = $2 AND seq = $3")
        .bind(tenant)
        .bind(session_id)
        .bind(seq)
        .bind(label)
        .execute(executor)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// New counts of one entry.
#[derive(Debug, Clone)]
pub struct Recount {
    pub seq: i64,
    pub tokens: u32,
    pub path_tokens: i64,
    pub path_result_tokens: i64,
    pub shape: Shape,
    pub record: Option<CompactionRecord>,
}

/// Replaces what was counted; what was said stays as it is.
pub async fn recount(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    counted: &[Recount],
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE entries e SET tokens = c.tokens, path_tokens = c.path_tokens, path_result_tokens = c.path_result_tokens,
            shape = c.shape, record = c.record
         FROM unnest($3::bigint[], $4::int[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
            c(seq, tokens, path_tokens, path_result_tokens, shape, record)
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq = c.seq",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(counted.iter().map(|c| c.seq).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| i32::try_from(c.tokens).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.path_tokens).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.path_result_tokens).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| shape_text(&c.shape)).collect::<Vec<_>>())
    .bind(counted.iter().map(|c| c.record.as_ref().map(record_text)).collect::<Vec<_>>())
    .execute(executor)
    .await?;
    Ok(())
}
