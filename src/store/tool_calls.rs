//! Where call ids occur.

use sqlx::PgExecutor;
use uuid::Uuid;

use super::entries::text_key;
use crate::domain::entry::EntryHead;

/// One occurrence of a call id, as a call or as a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlace {
    pub key: Uuid,
    pub seq: i64,
    pub ordinal: i32,
    pub is_result: bool,
}

impl CallPlace {
    /// Every occurrence in one entry.
    pub fn of(head: &EntryHead) -> Vec<CallPlace> {
        let place = |ordinal: usize, id: &str, is_result| CallPlace {
            key: text_key(id),
            seq: head.seq,
            ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
            is_result,
        };
        let calls = head.shape.calls.iter().enumerate().map(|(n, call)| place(n, &call.id, false));
        let results = head.shape.results.iter().enumerate().map(|(n, result)| place(n, &result.call_id, true));
        calls.chain(results).collect()
    }
}

/// The entries of these sessions in which a call id occurs: (session, branch, depth, is_result), by seq.
pub async fn occurrences(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    sessions: &[Uuid],
    call_id: &str,
) -> sqlx::Result<Vec<(Uuid, i32, i64, bool)>> {
    sqlx::query_as(
        "SELECT e.session_id, e.branch, e.depth, t.is_result
         FROM tool_calls t JOIN entries e ON e.tenant_id = t.tenant_id AND e.session_id = t.session_id AND e.seq = t.seq
         WHERE t.tenant_id = $1 AND t.session_id = ANY($2) AND t.call_key = $3
         ORDER BY e.seq",
    )
    .bind(tenant)
    .bind(sessions)
    .bind(text_key(call_id))
    .fetch_all(executor)
    .await
}
