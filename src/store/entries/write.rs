//! Writing: entries, what follows from them and the heads of their sessions, in one statement.

mod records;

use std::collections::HashMap;

use sqlx::PgExecutor;
use uuid::Uuid;

use super::new::{NewBranch, NewEntry, Write};
use crate::store::large::{in_place, step_by_step};
use crate::store::tool_calls::CallPlace;
use records::{EntryRecord, HeadRecord};

/// Outcome of a guarded write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardedWrite {
    Landed,
    /// The version has moved: nothing was written.
    Stale,
    /// Somebody holds the session's row, or it is gone: nothing was written.
    Locked,
}

/// How long a statement waits for a session's row that somebody else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as the connection lets it. For whoever holds the rows already.
    Full,
    /// 25 ms; then the statement fails with [`is_lock_timeout`] and nothing is written. Costs the usual write nothing.
    Short,
    /// Not at all: what is locked is left out. Every row is locked by a step of its own, which has its price.
    None,
}

/// Returns true if a statement failed because it waited too long for a lock.
pub fn is_lock_timeout(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(database) if database.code().as_deref() == Some("55P03"))
}

/// Writes entries and head in one statement, guarded by the head's version. False when the version has moved.
/// For whoever holds the session's row.
pub async fn write(executor: impl PgExecutor<'_>, tenant: Uuid, write: &Write<'_>) -> sqlx::Result<bool> {
    let written = write_all(executor, tenant, std::slice::from_ref(write), Patience::Full).await?;
    Ok(written == [GuardedWrite::Landed])
}

/// As [`write`], where others may hold the row; it is not waited for.
pub async fn try_write(executor: impl PgExecutor<'_>, tenant: Uuid, write: &Write<'_>) -> sqlx::Result<GuardedWrite> {
    let written = write_all(executor, tenant, std::slice::from_ref(write), Patience::None).await?;
    Ok(written.first().copied().unwrap_or(GuardedWrite::Locked))
}

/// Writes to several sessions of one tenant, each guarded on its own, in one statement: one durable commit for all.
/// Tells of each, in their order, what became of it.
pub async fn write_all(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    writes: &[Write<'_>],
    patience: Patience,
) -> sqlx::Result<Vec<GuardedWrite>> {
    let load = load(writes);
    let query = in_place(load, || {
        let entries = || writes.iter().flat_map(|w| w.entries.iter().map(|entry| (w.session_id, entry)));
        let calls: Vec<(Uuid, CallPlace)> =
            entries().flat_map(|(id, e)| CallPlace::of(&e.head).into_iter().map(move |call| (id, call))).collect();
        let branches: Vec<(Uuid, &NewBranch)> =
            writes.iter().flat_map(|w| w.branches.iter().map(|branch| (w.session_id, branch))).collect();
        let is_plain = calls.is_empty() && branches.is_empty();
        let query = sqlx::query_as(statement(patience, is_plain))
            .bind(tenant)
            .bind(writes.iter().map(|w| w.session_id).collect::<Vec<_>>())
            .bind(writes.iter().map(HeadRecord::of).collect::<Vec<_>>())
            .bind(entries().map(|(id, entry)| EntryRecord::of(id, entry)).collect::<Vec<_>>());
        if is_plain {
            query
        } else {
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
        }
    });
    let told: HashMap<Uuid, bool> = step_by_step(load, query.fetch_all(executor)).await?.into_iter().collect();
    let silent = if patience == Patience::None { GuardedWrite::Locked } else { GuardedWrite::Stale };
    let fate = |write: &Write<'_>| match told.get(&write.session_id) {
        Some(true) => GuardedWrite::Landed,
        Some(false) => GuardedWrite::Stale,
        None => silent,
    };
    Ok(writes.iter().map(fate).collect())
}

/// The work of putting the rows together: a shape is written out call by call.
fn load(writes: &[Write<'_>]) -> usize {
    const PART_BYTES: usize = 128;
    let parts = |entry: &NewEntry| entry.head.shape.calls.len() + entry.head.shape.results.len();
    writes.iter().flat_map(|write| write.entries).map(|entry| entry.item.len() + PART_BYTES * parts(entry)).sum()
}

fn statement(patience: Patience, is_plain: bool) -> &'static str {
    match (patience, is_plain) {
        (Patience::Full, true) => WRITE,
        (Patience::Full, false) => WRITE_MORE,
        (Patience::Short, true) => WRITE_SOON,
        (Patience::Short, false) => WRITE_MORE_SOON,
        (Patience::None, true) => WRITE_NOW,
        (Patience::None, false) => WRITE_MORE_NOW,
    }
}

/// Statement of a write: what follows from a head is inserted only where the head was updated. `ANY` adds no condition,
/// but leads the planner to the primary key, whatever it believes about the number of sessions. The length of a list
/// behind a `SELECT` is hidden from the planner; if it saw the length, it would plan again for every group. `$more` is
/// what few writes need: every table that a statement names costs, whether rows go there or not. `$sessions` is worked
/// out before any row is touched.
macro_rules! write_statement {
    ($first:literal, $sessions:literal, $more:expr, $told:literal) => {
        concat!(
            "WITH ",
            $first,
            "head AS (
    UPDATE sessions s SET version = s.version + 1, next_seq = h.next_seq, next_branch = h.next_branch,
        entry_count = h.entry_count, leaf_branch = h.leaf_branch, leaf_depth = h.leaf_depth, leaf_id = h.leaf_id,
        state = h.state, fill_state = h.fill_state, tokens = h.tokens, guard_tripped = h.guard_tripped,
        updated_at = h.updated_at
    FROM unnest((SELECT $3::head_write_2[])) h
    WHERE s.tenant_id = $1 AND s.id = ANY(",
            $sessions,
            "::uuid[]) AND s.id = h.session_id AND s.version = h.version
      AND s.deleted_at IS NULL
    RETURNING s.id
 ), new_entries AS (
    INSERT INTO entries (tenant_id, session_id, seq, branch, depth, id, parent_id, kind, role, tokens, path_tokens,
        path_result_tokens, usage, source_format, source_id, source_key, shape, record, item, created_at)
    SELECT $1, e.* FROM head JOIN unnest((SELECT $4::entry_write[])) e ON e.session_id = head.id
 )",
            $more,
            $told
        )
    };
}

/// Each [`Patience`] in SQL. The timeout of `Short` ends with the statement, where that is its own transaction.
macro_rules! with_patience {
    (full, $more:expr) => {
        write_statement!("", "(SELECT $2::uuid[])", $more, " SELECT id, true FROM head")
    };
    (short, $more:expr) => {
        write_statement!(
            "",
            "(SELECT $2::uuid[] FROM set_config('lock_timeout', '25ms', true))",
            $more,
            " SELECT id, true FROM head"
        )
    };
    (none, $more:expr) => {
        write_statement!(
            "free AS MATERIALIZED (
    SELECT s.id FROM sessions s WHERE s.tenant_id = $1 AND s.id = ANY((SELECT $2::uuid[])::uuid[])
    FOR NO KEY UPDATE SKIP LOCKED
 ), ",
            "ARRAY(SELECT id FROM free)",
            $more,
            " SELECT free.id, head.id IS NOT NULL FROM free LEFT JOIN head ON head.id = free.id"
        )
    };
}

macro_rules! calls_and_branches {
    () => {
        ", new_calls AS (
    INSERT INTO tool_calls (tenant_id, session_id, call_key, seq, ordinal, is_result)
    SELECT $1, c.* FROM head JOIN unnest($5::uuid[], $6::uuid[], $7::bigint[], $8::int[], $9::bool[]) c(session_id)
        ON c.session_id = head.id
 ), new_branches AS (
    INSERT INTO branches (tenant_id, session_id, branch, parent_session, parent_branch, fork_depth)
    SELECT $1, b.* FROM head JOIN unnest($10::uuid[], $11::int[], $12::uuid[], $13::int[], $14::bigint[]) b(session_id)
        ON b.session_id = head.id
 )"
    };
}

const WRITE: &str = with_patience!(full, "");
const WRITE_MORE: &str = with_patience!(full, calls_and_branches!());
const WRITE_SOON: &str = with_patience!(short, "");
const WRITE_MORE_SOON: &str = with_patience!(short, calls_and_branches!());
const WRITE_NOW: &str = with_patience!(none, "");
const WRITE_MORE_NOW: &str = with_patience!(none, calls_and_branches!());
