//! Writing: entries, what follows from them and the heads of their sessions, in one statement.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::text_key;
use crate::domain::compaction::CompactionRecord;
use crate::domain::entry::EntryHead;
use crate::domain::format::Format;
use crate::domain::message::Role;
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
    let heads = |f: fn(&Write<'_>) -> i64| -> Vec<i64> { writes.iter().map(f).collect() };
    let entries: Vec<(Uuid, &NewEntry)> =
        writes.iter().flat_map(|w| w.entries.iter().map(|entry| (w.session_id, entry))).collect();
    let column = |f: fn(&NewEntry) -> i64| -> Vec<i64> { entries.iter().map(|(_, entry)| f(entry)).collect() };
    let each = || entries.iter().map(|(_, entry)| *entry);
    let calls: Vec<(Uuid, CallPlace)> =
        entries.iter().flat_map(|(id, e)| CallPlace::of(&e.head).into_iter().map(|call| (*id, call))).collect();
    let branches: Vec<(Uuid, &NewBranch)> =
        writes.iter().flat_map(|w| w.branches.iter().map(|branch| (w.session_id, branch))).collect();
    sqlx::query_scalar(WRITE)
        .bind(tenant)
        .bind(writes.iter().map(|w| w.session_id).collect::<Vec<_>>())
        .bind(heads(|w| w.version))
        .bind(heads(|w| w.head.next_seq))
        .bind(writes.iter().map(|w| w.head.next_branch).collect::<Vec<_>>())
        .bind(heads(|w| w.head.entry_count))
        .bind(writes.iter().map(|w| w.head.leaf_branch).collect::<Vec<_>>())
        .bind(heads(|w| w.head.leaf_depth))
        .bind(writes.iter().map(|w| w.head.leaf_id).collect::<Vec<_>>())
        .bind(writes.iter().map(|w| w.head.state.as_str()).collect::<Vec<_>>())
        .bind(writes.iter().map(|w| w.head.fill_state.as_str()).collect::<Vec<_>>())
        .bind(heads(|w| w.head.tokens))
        .bind(writes.iter().map(|w| w.now).collect::<Vec<_>>())
        .bind(entries.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(column(|e| e.head.seq))
        .bind(each().map(|e| e.branch).collect::<Vec<_>>())
        .bind(column(|e| e.head.depth))
        .bind(each().map(|e| e.head.id).collect::<Vec<_>>())
        .bind(each().map(|e| e.parent_id).collect::<Vec<_>>())
        .bind(each().map(|e| e.head.kind.as_str()).collect::<Vec<_>>())
        .bind(each().map(|e| e.head.role.map(Role::as_str)).collect::<Vec<_>>())
        .bind(each().map(|e| i32::try_from(e.head.tokens).unwrap_or(i32::MAX)).collect::<Vec<_>>())
        .bind(column(|e| e.head.path_tokens))
        .bind(column(|e| e.path_result_tokens))
        .bind(each().map(|e| e.head.usage.map(i64::from)).collect::<Vec<_>>())
        .bind(each().map(|e| e.source_format.as_str()).collect::<Vec<_>>())
        .bind(each().map(|e| e.source_id.as_deref().map(without_nul)).collect::<Vec<_>>())
        .bind(each().map(|e| e.source_id.as_deref().map(text_key)).collect::<Vec<_>>())
        .bind(each().map(|e| shape_text(&e.head.shape)).collect::<Vec<_>>())
        .bind(each().map(|e| e.record.as_ref().map(record_text)).collect::<Vec<_>>())
        .bind(each().map(|e| e.item.as_str()).collect::<Vec<_>>())
        .bind(each().map(|e| e.created_at).collect::<Vec<_>>())
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

/// What follows from a head is inserted only where the head was updated. `ANY($2)` says nothing new, but the planner
/// takes it to the primary key whatever it believes about the number of sessions.
const WRITE: &str = "WITH head AS (
    UPDATE sessions s SET version = s.version + 1, next_seq = h.next_seq, next_branch = h.next_branch,
        entry_count = h.entry_count, leaf_branch = h.leaf_branch, leaf_depth = h.leaf_depth, leaf_id = h.leaf_id,
        state = h.state, fill_state = h.fill_state, tokens = h.tokens, updated_at = h.updated_at
    FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::int[], $8::bigint[], $9::uuid[],
            $10::text[], $11::text[], $12::bigint[], $13::timestamptz[])
        h(id, version, next_seq, next_branch, entry_count, leaf_branch, leaf_depth, leaf_id, state, fill_state, tokens,
            updated_at)
    WHERE s.tenant_id = $1 AND s.id = ANY($2) AND s.id = h.id AND s.version = h.version AND s.deleted_at IS NULL
    RETURNING s.id
 ), new_entries AS (
    INSERT INTO entries (tenant_id, session_id, seq, branch, depth, id, parent_id, kind, role, tokens, path_tokens,
        path_result_tokens, usage, source_format, source_id, source_key, shape, record, item, created_at)
    SELECT $1, e.* FROM head JOIN unnest($14::uuid[], $15::bigint[], $16::int[], $17::bigint[], $18::uuid[], $19::uuid[],
            $20::text[], $21::text[], $22::int[], $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::text[],
            $28::uuid[], $29::text[], $30::text[], $31::text[], $32::timestamptz[]) e(session_id)
        ON e.session_id = head.id
 ), new_calls AS (
    INSERT INTO tool_calls (tenant_id, session_id, call_key, seq, ordinal, is_result)
    SELECT $1, c.* FROM head JOIN unnest($33::uuid[], $34::uuid[], $35::bigint[], $36::int[], $37::bool[]) c(session_id)
        ON c.session_id = head.id
 ), new_branches AS (
    INSERT INTO branches (tenant_id, session_id, branch, parent_session, parent_branch, fork_depth)
    SELECT $1, b.* FROM head JOIN unnest($38::uuid[], $39::int[], $40::uuid[], $41::int[], $42::bigint[]) b(session_id)
        ON b.session_id = head.id
 )
 SELECT id FROM head";

pub(super) fn shape_text(shape: &Shape) -> Option<String> {
    if shape.is_trivial() { None } else { serde_json::to_string(shape).ok() }
}

pub(super) fn record_text(record: &CompactionRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// PostgreSQL's text holds every character but NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
