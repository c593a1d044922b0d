//! Erasing sessions: hidden first, at once; then emptied in stretches, each a transaction of its own, so that no lock
//! and no statement lasts longer for a large session than for a small one.
//!
//! Of an erased session, entries stay that a fork shares: those on the way from a fork's beginning to the root.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgExecutor, Result};
use uuid::Uuid;

use super::tool_calls::CallPlace;
use crate::domain::model::shape::Shape;

/// A stretch ends where it has removed so many rows, or so many bytes of text.
const ROWS: i64 = 1_000;
const BYTES: i64 = 16 << 20;

/// The entries of a branch that a fork needs, down to this depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Needed {
    pub branch: i32,
    pub depth: i64,
}

/// Hides a session and removes its texts. False where there is none. The lock is stronger than the update's own:
/// whoever is about to write a row for the session ends first.
pub async fn hide(connection: &mut PgConnection, tenant: Uuid, id: Uuid, now: DateTime<Utc>) -> Result<bool> {
    if super::sessions::lock(&mut *connection, tenant, id).await?.is_none() {
        return Ok(false);
    }
    sqlx::query(
        "UPDATE sessions SET deleted_at = $3, erase_due = true, version = version + 1, external_id = NULL, title = NULL,
            metadata = '{}', model = NULL, system = NULL, tools = NULL, settings = '{}', state = '{}',
            guard_tripped = false
         WHERE tenant_id = $1 AND id = $2",
    )
    .bind(tenant)
    .bind(id)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(true)
}

/// Notes that less of an erased session may be needed from now on.
pub async fn mark_due(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<()> {
    sqlx::query(
        "UPDATE sessions SET erase_due = true, version = version + 1
         WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NOT NULL",
    )
    .bind(tenant)
    .bind(id)
    .execute(executor)
    .await?;
    Ok(())
}

/// The version of an erased session, its row locked: one at a time empties it.
pub async fn lock(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT version FROM sessions WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NOT NULL FOR UPDATE",
    )
    .bind(tenant)
    .bind(id)
    .fetch_optional(executor)
    .await
}

/// Sessions whose erasure has not come to its end, of all tenants.
pub async fn due(executor: impl PgExecutor<'_>, before: DateTime<Utc>, limit: i64) -> Result<Vec<(Uuid, Uuid)>> {
    sqlx::query_as(
        "SELECT tenant_id, id FROM sessions WHERE erase_due AND deleted_at < $1 ORDER BY tenant_id, id DESC LIMIT $2",
    )
    .bind(before)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// Removes what few rows there are: jobs, the pending branch summary, digests, results that were fetched again.
pub async fn remove_small(connection: &mut PgConnection, tenant: Uuid, id: Uuid) -> Result<()> {
    for statement in [
        "DELETE FROM jobs WHERE tenant_id = $1 AND session_id = $2",
        "DELETE FROM departures WHERE tenant_id = $1 AND session_id = $2",
        "DELETE FROM rebuilds WHERE tenant_id = $1 AND session_id = $2",
        "DELETE FROM recalls WHERE tenant_id = $1 AND session_id = $2",
    ] {
        sqlx::query(statement).bind(tenant).bind(id).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Removes a stretch of a table's rows of a session and counts those that it found. `$key` is the rest of the primary
/// key behind the tenant: a row that is changed meanwhile is found by it all the same.
macro_rules! stretch {
    ($table:literal, $key:literal, $bytes:literal) => {
        concat!(
            "WITH found AS (
                SELECT ",
            $key,
            " AS key, (",
            $bytes,
            ")::bigint AS bytes FROM ",
            $table,
            "
                 WHERE tenant_id = $1 AND session_id = $2 LIMIT $3
             ), part AS (
                SELECT key FROM (SELECT key, sum(bytes) OVER (ORDER BY key) - bytes AS before FROM found) f
                 WHERE before < $4
             ), gone AS (
                DELETE FROM ",
            $table,
            " t USING part
                 WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.",
            $key,
            " = part.key
             ) SELECT count(*) FROM part"
        )
    };
}

/// The tables with many or large rows. Events come last: whoever changes a compaction writes one.
pub const TABLES: [&str; 6] = [
    stretch!("compactions", "id", "coalesce(octet_length(result), 0) + coalesce(octet_length(candidate), 0)"),
    stretch!("upstream_calls", "id", "0"),
    stretch!("refused_texts", "compaction_id", "octet_length(text)"),
    stretch!("hook_deliveries", "id", "coalesce(octet_length(body), 0)"),
    stretch!("idempotency_keys", "key", "octet_length(body)"),
    stretch!("events", "id", "octet_length(data)"),
];

/// Removes a stretch by one of the statements of [`TABLES`]. False: there was nothing left.
pub async fn remove_stretch(
    executor: impl PgExecutor<'_>,
    statement: &'static str,
    tenant: Uuid,
    id: Uuid,
) -> Result<bool> {
    let found: i64 =
        sqlx::query_scalar(statement).bind(tenant).bind(id).bind(ROWS).bind(BYTES).fetch_one(executor).await?;
    Ok(found > 0)
}

/// Reads what forks need of a session's own branches, each branch once.
pub async fn needed(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<Vec<Needed>> {
    sqlx::query_as(
        "WITH RECURSIVE need AS (
            SELECT parent_branch AS branch, fork_depth AS depth FROM branches
             WHERE tenant_id = $1 AND parent_session = $2 AND session_id <> parent_session
          UNION
            SELECT b.parent_branch, least(b.fork_depth, need.depth)
              FROM need JOIN branches b ON b.tenant_id = $1 AND b.session_id = $2 AND b.branch = need.branch
             WHERE b.parent_session = $2
         )
         SELECT branch, max(depth) AS depth FROM need GROUP BY branch",
    )
    .bind(tenant)
    .bind(id)
    .fetch_all(executor)
    .await
}

/// Removes a stretch of the entries that nobody needs, with their calls. False: there was none left. What it costs
/// follows what is removed and the number of branches, never what stays.
pub async fn remove_entries(connection: &mut PgConnection, tenant: Uuid, id: Uuid, needed: &[Needed]) -> Result<bool> {
    let rows: Vec<(i64, Option<String>)> = sqlx::query_as(
        "WITH own AS (
            SELECT 0 AS branch UNION SELECT branch FROM branches WHERE tenant_id = $1 AND session_id = $2
         ), found AS (
            SELECT e.* FROM own LEFT JOIN unnest($3::int[], $4::bigint[]) n(branch, depth) USING (branch)
              CROSS JOIN LATERAL (
                SELECT seq, shape, octet_length(item)::bigint AS bytes FROM entries
                 WHERE tenant_id = $1 AND session_id = $2 AND branch = own.branch AND depth > coalesce(n.depth, -1)
                 ORDER BY depth LIMIT $5) e
             LIMIT $5
         )
         SELECT seq, shape FROM (SELECT *, sum(bytes) OVER (ORDER BY seq) - bytes AS before FROM found) f
          WHERE before < $6",
    )
    .bind(tenant)
    .bind(id)
    .bind(needed.iter().map(|need| need.branch).collect::<Vec<_>>())
    .bind(needed.iter().map(|need| need.depth).collect::<Vec<_>>())
    .bind(ROWS)
    .bind(BYTES)
    .fetch_all(&mut *connection)
    .await?;
    let seqs: Vec<i64> = rows.iter().map(|(seq, _)| *seq).collect();
    let calls: Vec<CallPlace> = rows.into_iter().flat_map(|(seq, shape)| calls_of(seq, shape)).collect();
    sqlx::query("DELETE FROM entries WHERE tenant_id = $1 AND session_id = $2 AND seq = ANY ($3)")
        .bind(tenant)
        .bind(id)
        .bind(&seqs)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "DELETE FROM tool_calls t USING unnest($3::uuid[], $4::bigint[]) c(call_key, seq)
          WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.call_key = c.call_key AND t.seq = c.seq",
    )
    .bind(tenant)
    .bind(id)
    .bind(calls.iter().map(|call| call.key).collect::<Vec<_>>())
    .bind(calls.iter().map(|call| call.seq).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(!seqs.is_empty())
}

/// A shape that no longer reads leaves its calls, which are hashes, to the end of the session.
fn calls_of(seq: i64, shape: Option<String>) -> Vec<CallPlace> {
    let shape: Option<Shape> = shape.and_then(|text| serde_json::from_str(&text).ok());
    shape.map(|shape| CallPlace::of_shape(seq, &shape)).unwrap_or_default()
}

/// Ends an emptied session: its row goes where no fork needs it, and else the branches that lead nowhere. Nothing
/// happens to the mark where less is needed than when `version` was read.
pub async fn end(connection: &mut PgConnection, tenant: Uuid, id: Uuid, version: i64, needed: &[Needed]) -> Result<()> {
    // A fork's first branch says where the session comes from: kept, it needs nothing any more.
    for statement in [
        "DELETE FROM branches WHERE tenant_id = $1 AND session_id = $2 AND branch <> 0 AND branch <> ALL ($3)",
        "UPDATE branches SET fork_depth = -1
          WHERE tenant_id = $1 AND session_id = $2 AND branch = 0 AND branch <> ALL ($3) AND fork_depth >= 0",
    ] {
        sqlx::query(statement)
            .bind(tenant)
            .bind(id)
            .bind(needed.iter().map(|need| need.branch).collect::<Vec<_>>())
            .execute(&mut *connection)
            .await?;
    }
    let gone = sqlx::query(
        "DELETE FROM sessions gone WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NOT NULL AND NOT EXISTS (
            SELECT FROM branches b
             WHERE b.tenant_id = $1 AND b.parent_session = gone.id AND b.parent_session <> b.session_id)",
    )
    .bind(tenant)
    .bind(id)
    .execute(&mut *connection)
    .await?;
    if gone.rows_affected() == 0 {
        sqlx::query("UPDATE sessions SET erase_due = false WHERE tenant_id = $1 AND id = $2 AND version = $3")
            .bind(tenant)
            .bind(id)
            .bind(version)
            .execute(connection)
            .await?;
    }
    Ok(())
}
