//! Writing: entries, what follows from them and the heads of their sessions, in one statement.

mod records;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use records::{EntryRecord, HeadRecord};

use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::EntryHead;
use crate::domain::format::Format;
use crate::domain::shape::Shape;
use crate::store::sessions::HeadRow;
use crate::store::tool_calls::CallPlace;

/// An entry about to be written.
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub head: EntryHead,
    pub branch: i32,
    pub parent_id: Option<Uuid>,
    pub path_result_tokens: i64,
    pub source_format: Format,
    pub source_id: Option<String>,
    pub record: Option<CompactionRecord>,
    pub item: String,
    pub created_at: DateTime<Utc>,
}

/// A branch about to be written; see the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranch {
    pub branch: i32,
    pub parent_session: Uuid,
    pub parent_branch: i32,
    pub fork_depth: i64,
}

/// Entries, what follows from them, and the session's head as it is afterwards.
#[derive(Debug)]
pub struct Write<'a> {
    pub session_id: Uuid,
    /// The head's version before; the write happens only if it still holds.
    pub version: i64,
    pub head: &'a HeadRow,
    pub entries: &'a [NewEntry],
    pub branches: &'a [NewBranch],
    pub now: DateTime<Utc>,
}

/// Writes entries and head in one statement, guarded by the head's version. False when the version has moved.
pub async fn write(executor: impl PgExecutor<'_>, tenant: Uuid, write: &Write<'_>) -> sqlx::Result<bool> {
    Ok(!write_all(executor, tenant, std::slice::from_ref(write)).await?.is_empty())
}

/// Writes to several sessions of one tenant, each guarded on its own, in one statement: one durable commit for all.
/// The sessions whose version still held are returned; nothing was written to the others.
pub async fn write_all(executor: impl PgExecutor<'_>, tenant: Uuid, writes: &[Write<'_>]) -> sqlx::Result<Vec<Uuid>> {
    let entries = || writes.iter().flat_map(|w| w.entries.iter().map(|entry| (w.session_id, entry)));
    let calls: Vec<(Uuid, CallPlace)> =
        entries().flat_map(|(id, e)| CallPlace::of(&e.head).into_iter().map(move |call| (id, call))).collect();
    let branches: Vec<(Uuid, &NewBranch)> =
        writes.iter().flat_map(|w| w.branches.iter().map(|branch| (w.session_id, branch))).collect();
    let is_plain = calls.is_empty() && branches.is_empty();
    let query = sqlx::query_scalar(if is_plain { WRITE } else { WRITE_MORE })
        .bind(tenant)
        .bind(writes.iter().map(|w| w.session_id).collect::<Vec<_>>())
        .bind(writes.iter().map(HeadRecord::of).collect::<Vec<_>>())
        .bind(entries().map(|(id, entry)| EntryRecord::of(id, entry)).collect::<Vec<_>>());
    if is_plain {
        return query.fetch_all(executor).await;
    }
    query
        .bind(calls.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(calls.iter().map(|(_, c)| c.key).collect::<Vec<_>>())
        .bind(calls.iter().map(|(_, c)| c.seq).collect::<Vec<_>>())
        .bind(calls.iter().map(|(_, c)| c.ordinal).collect::<Vec<_>>())
        .bind(calls.iter().map(|(_, c)| c.is_result).collect::<Vec<_>>())
        .bind(branches.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(branches.iter().map(|(_, b)| b.branch).collect::<Vec<_>>())
        .bind(branches.iter().map(|(_, b)| b.parent_session).collect::<Vec<_>>())
        .bind(branches.iter().map(|(_, b)| b.parent_branch).collect::<Vec<_>>())
        .bind(branches.iter().map(|(_, b)| b.fork_depth).collect::<Vec<_>>())
        .fetch_all(executor)
        .await
}

/// What follows from a head is inserted only where the head was updated. `ANY` says nothing new, but the planner takes
/// it to the primary key whatever it believes about the number of sessions. A list behind a `SELECT` has no length that
/// the planner could see: with it, it would plan again for every group. `$more` is what few writes need: every table
/// that a statement names costs, whether rows go there or not.
macro_rules! write_statement {
    ($more:literal) => {
        concat!(
            "WITH head AS (
    UPDATE sessions s SET version = s.version + 1, next_seq = h.next_seq, next_branch = h.next_branch,
        entry_count = h.entry_count, leaf_branch = h.leaf_branch, leaf_depth = h.leaf_depth, leaf_id = h.leaf_id,
        state = h.state, fill_state = h.fill_state, tokens = h.tokens, updated_at = h.updated_at
    FROM unnest((SELECT $3::head_write[])) h
    WHERE s.tenant_id = $1 AND s.id = ANY((SELECT $2::uuid[])::uuid[]) AND s.id = h.session_id AND s.version = h.version
      AND s.deleted_at IS NULL
    RETURNING s.id
 ), new_entries AS (
    INSERT INTO entries (tenant_id, session_id, seq, branch, depth, id, parent_id, kind, role, tokens, path_tokens,
        path_result_tokens, usage, source_format, source_id, source_key, shape, record, item, created_at)
    SELECT $1, e.* FROM head JOIN unnest((SELECT $4::entry_write[])) e ON e.session_id = head.id
 )",
            $more,
            "
 SELECT id FROM head"
        )
    };
}

const WRITE: &str = write_statement!("");
const WRITE_MORE: &str = write_statement!(
    ", new_calls AS (
    INSERT INTO tool_calls (tenant_id, session_id, call_key, seq, ordinal, is_result)
    SELECT $1, c.* FROM head JOIN unnest($5::uuid[], $6::uuid[], $7::bigint[], $8::int[], $9::bool[]) c(session_id)
        ON c.session_id = head.id
 ), new_branches AS (
    INSERT INTO branches (tenant_id, session_id, branch, parent_session, parent_branch, fork_depth)
    SELECT $1, b.* FROM head JOIN unnest($10::uuid[], $11::int[], $12::uuid[], $13::int[], $14::bigint[]) b(session_id)
        ON b.session_id = head.id
 )"
);

pub(super) fn shape_text(shape: &Shape) -> Option<String> {
    if shape.is_trivial() { None } else { serde_json::to_string(shape).ok() }
}

pub(super) fn record_text(record: &CompactionRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
