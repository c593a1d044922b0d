//! The few entries of a path that this service wrote, found by their own index.

use futures::TryStreamExt as _;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::store::path::{self, Segment};

/// The depth of the newest compaction on a path above this depth.
pub async fn compaction_before(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    path: &[Segment],
    depth: i64,
) -> sqlx::Result<Option<i64>> {
    let mut found = sqlx::query_as::<_, (Uuid, i32, i64)>(
        "SELECT session_id, branch, depth FROM entries
         WHERE tenant_id = $1 AND session_id = ANY ($2) AND kind IN ('compaction', 'chapter', 'branch_summary')
           AND kind = 'compaction' AND depth < $3
         ORDER BY depth DESC",
    )
    .bind(tenant)
    .bind(path::sessions_of(path))
    .bind(depth)
    .fetch(executor);
    while let Some((session_id, branch, depth)) = found.try_next().await? {
        if path::holds(path, session_id, branch, depth) {
            return Ok(Some(depth));
        }
    }
    Ok(None)
}
