//! Sizes of entries, and the totals up to them, told without reading the entries: the database knows the length of a
//! text that it has put aside.

use std::collections::HashMap;

use sqlx::{FromRow, PgConnection, PgExecutor, Row};
use uuid::Uuid;

use crate::store::path::{Segment, over, portions, ranges};

const BYTES: &str = "octet_length(e.item)::bigint + coalesce(octet_length(e.record), 0)";

/// A place, a depth or a `seq`, and the bytes of what is stored there.
#[derive(Debug, Clone, Copy, FromRow)]
pub struct Size {
    pub place: i64,
    pub bytes: i64,
}

/// The sizes of the entries of a path's segments by depth, in path order.
pub async fn sizes(executor: impl PgExecutor<'_>, tenant: Uuid, segments: &[Segment]) -> sqlx::Result<Vec<Size>> {
    if segments.is_empty() {
        return Ok(Vec::new());
    }
    let statement = format!("SELECT e.depth AS place, {BYTES} AS bytes {} ORDER BY e.depth", ranges(""));
    over(statement, tenant, segments).try_map(|row| Size::from_row(&row)).fetch_all(executor).await
}

/// The bytes of all entries of a path's segments.
pub async fn bytes(connection: &mut PgConnection, tenant: Uuid, segments: &[Segment]) -> sqlx::Result<i64> {
    let mut sum = 0;
    for portion in portions(segments) {
        let statement = format!("SELECT coalesce(sum({BYTES}), 0)::bigint {}", ranges(""));
        let row = over(statement, tenant, &portion).fetch_one(&mut *connection).await?;
        sum += row.try_get::<i64, _>(0)?;
    }
    Ok(sum)
}

/// The sizes of the session's own entries by `seq`; `after` is exclusive.
pub async fn sizes_by_seq(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
    limit: i64,
) -> sqlx::Result<Vec<Size>> {
    sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT e.seq AS place, {BYTES} AS bytes FROM entries e
         WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq > $3 ORDER BY e.seq LIMIT $4"
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// How many of these sizes fit into `bytes`, and into `most`: at least one, where there is one.
pub fn fill(sizes: impl Iterator<Item = i64>, most: usize, bytes: i64) -> usize {
    let mut left = bytes;
    let mut fit = 0;
    for size in sizes.take(most) {
        if fit > 0 && size > left {
            break;
        }
        (fit, left) = (fit + 1, left - size);
    }
    fit
}

/// The sizes of entries of these sessions, by id.
pub async fn sizes_of(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    ids: &[Uuid],
) -> sqlx::Result<Vec<(Uuid, i64)>> {
    sqlx::query_as(
        "SELECT id, octet_length(item)::bigint FROM entries
         WHERE tenant_id = $1 AND session_id = ANY ($2) AND seq = ANY ($3) AND id = ANY ($4)",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seqs(ids))
    .bind(ids)
    .fetch_all(executor)
    .await
}

/// The totals up to entries of these sessions, themselves included: tokens, and those of tool results.
pub async fn totals(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    ids: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, (i64, i64)>> {
    let rows: Vec<(Uuid, i64, i64)> = sqlx::query_as(
        "SELECT id, path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = ANY ($2) AND seq = ANY ($3) AND id = ANY ($4)",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(seqs(ids))
    .bind(ids)
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|(id, tokens, results)| (id, (tokens, results))).collect())
}

/// The same at the end of a path, of its last segment.
pub async fn totals_at(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    last: Option<&Segment>,
) -> sqlx::Result<Option<(i64, i64)>> {
    let Some(last) = last else { return Ok(None) };
    sqlx::query_as(
        "SELECT path_tokens, path_result_tokens FROM entries
         WHERE tenant_id = $1 AND session_id = $2 AND branch = $3 AND depth = $4",
    )
    .bind(tenant)
    .bind(last.session_id)
    .bind(last.branch)
    .bind(last.to)
    .fetch_optional(executor)
    .await
}

/// The newest reported usage on a path, and the path's total there.
pub async fn newest_usage(
    connection: &mut sqlx::PgConnection,
    tenant: Uuid,
    segments: &[Segment],
) -> sqlx::Result<Option<(i64, i64)>> {
    for segment in segments.iter().rev() {
        let found = sqlx::query_as(
            "SELECT usage, path_tokens FROM entries
             WHERE tenant_id = $1 AND session_id = $2 AND branch = $3 AND depth BETWEEN $4 AND $5 AND usage IS NOT NULL
             ORDER BY depth DESC LIMIT 1",
        )
        .bind(tenant)
        .bind(segment.session_id)
        .bind(segment.branch)
        .bind(segment.from)
        .bind(segment.to)
        .fetch_optional(&mut *connection)
        .await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// An id carries its `seq`, which the primary key has.
pub(super) fn seqs(ids: &[Uuid]) -> Vec<i64> {
    ids.iter().map(|id| i64::from(id.as_u128() as u32)).collect()
}
