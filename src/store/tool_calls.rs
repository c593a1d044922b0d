//! Where call ids occur.

use sqlx::{PgConnection, PgExecutor, Row};
use uuid::Uuid;

use super::path::{Segment, over, ranges};
use super::text_key::text_key;
use crate::domain::model::call_end::CallEnd;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::message::Role;
use crate::domain::model::shape::Shape;

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
    pub fn of(head: &EntryMeta) -> Vec<CallPlace> {
        CallPlace::of_shape(head.seq, &head.shape)
    }

    pub fn of_shape(seq: i64, shape: &Shape) -> Vec<CallPlace> {
        let place = |ordinal: usize, id: &str, is_result| CallPlace {
            key: text_key(id),
            seq,
            ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
            is_result,
        };
        let calls = shape.calls.iter().enumerate().map(|(n, call)| place(n, &call.id, false));
        let results = shape.results.iter().enumerate().map(|(n, result)| place(n, &result.call_id, true));
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

/// An occurrence of a call id, and the entry that it is in.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct FoundCall {
    pub call_key: Uuid,
    pub seq: i64,
    /// Among the calls, or the results, of its entry.
    pub ordinal: i32,
    pub is_result: bool,
    pub session_id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub entry_id: Uuid,
    pub kind: String,
    pub role: Option<String>,
    /// Of an entry with a result.
    shape: Option<String>,
}

impl FoundCall {
    /// Where its entry sits.
    pub fn segment(&self) -> Segment {
        Segment { session_id: self.session_id, branch: self.branch, from: self.depth, to: self.depth }
    }

    pub fn nth(&self) -> usize {
        usize::try_from(self.ordinal).unwrap_or(0)
    }

    /// How the call ended that this result answers.
    pub fn end(&self) -> CallEnd {
        let shape = self.shape.as_deref().and_then(|shape| serde_json::from_str::<Shape>(shape).ok());
        shape.and_then(|shape| shape.results.get(self.nth()).map(|result| result.end)).unwrap_or_default()
    }

    /// Returns true if its entry puts a message before the model by itself.
    pub fn is_visible(&self) -> bool {
        self.role.is_some() && self.kind.parse::<EntryType>().ok().is_some_and(EntryType::holds_message)
    }
}

/// Where a look-up of one key goes on: in this session, behind this `seq`.
#[derive(Debug, Clone, Copy)]
pub struct Onward {
    pub key: Uuid,
    pub session_id: Uuid,
    pub after: i64,
}

// Entries are looked up by a range and in the order of their primary key: of a table that was not analysed yet, the planner
// takes the index of paths for the one by `seq` otherwise, and reads the whole session for every entry.

/// The next occurrences of each of these keys, `most` of each and the rest of the last entry, in no order.
pub async fn onward(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    wanted: &[Onward],
    most: i64,
) -> sqlx::Result<Vec<FoundCall>> {
    sqlx::query_as(
        "SELECT t.call_key, t.seq, t.ordinal, t.is_result, e.session_id, e.branch, e.depth, e.id AS entry_id, e.kind,
            e.role, CASE WHEN t.is_result THEN e.shape END AS shape
         FROM unnest($2::uuid[], $3::uuid[], $4::bigint[]) k(call_key, session_id, after)
         CROSS JOIN LATERAL (
            SELECT * FROM tool_calls t
            WHERE t.tenant_id = $1 AND t.session_id = k.session_id AND t.call_key = k.call_key AND t.seq > k.after
            ORDER BY t.seq FETCH FIRST $5 ROWS WITH TIES
         ) t
         CROSS JOIN LATERAL (
            SELECT * FROM entries e
            WHERE e.tenant_id = $1 AND e.session_id = t.session_id AND e.seq BETWEEN t.seq AND t.seq
            ORDER BY e.tenant_id, e.session_id, e.seq LIMIT 1
         ) e",
    )
    .bind(tenant)
    .bind(wanted.iter().map(|one| one.key).collect::<Vec<_>>())
    .bind(wanted.iter().map(|one| one.session_id).collect::<Vec<_>>())
    .bind(wanted.iter().map(|one| one.after).collect::<Vec<_>>())
    .bind(most)
    .fetch_all(executor)
    .await
}

/// The entries of a session, before `seq`, that make a call of that id: (seq, branch, depth), newest first.
pub async fn calls_before(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    call_id: &str,
    seq: i64,
    most: i64,
) -> sqlx::Result<Vec<(i64, i32, i64)>> {
    sqlx::query_as(
        "SELECT t.seq, e.branch, e.depth
         FROM (
            SELECT t.seq FROM tool_calls t
            WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.call_key = $3 AND t.seq < $4 AND NOT t.is_result
            ORDER BY t.seq DESC LIMIT $5
         ) t
         CROSS JOIN LATERAL (
            SELECT * FROM entries e
            WHERE e.tenant_id = $1 AND e.session_id = $2 AND e.seq BETWEEN t.seq AND t.seq
            ORDER BY e.tenant_id, e.session_id, e.seq LIMIT 1
         ) e
         ORDER BY t.seq DESC",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(text_key(call_id))
    .bind(seq)
    .bind(most)
    .fetch_all(executor)
    .await
}

/// Returns the types of entries that are messages, and the agent's role: a message of any other role ends the wait of
/// calls for their results.
fn answers() -> (Vec<&'static str>, &'static str) {
    (EntryType::messages().map(|kind| kind.into_str()).collect(), Role::Assistant.into_str())
}

/// Returns true if anybody but the agent has a message in these ranges.
pub async fn is_answered(connection: &mut PgConnection, tenant: Uuid, segments: &[Segment]) -> sqlx::Result<bool> {
    let (kinds, agent) = answers();
    let found = ranges("AND e.kind = ANY($6) AND e.role <> $7");
    over(format!("SELECT EXISTS (SELECT 1 {found})"), tenant, segments)
        .bind(kinds)
        .bind(agent)
        .try_map(|row| row.try_get(0))
        .fetch_one(connection)
        .await
}

/// The depth of the agent's first message in a range.
pub async fn first_words(executor: impl PgExecutor<'_>, tenant: Uuid, segment: Segment) -> sqlx::Result<Option<i64>> {
    let first = "SELECT depth FROM entries
         WHERE tenant_id = $1 AND session_id = $2 AND branch = $3 AND depth BETWEEN $4 AND $5
           AND kind = ANY($6) AND role = $7
         ORDER BY depth LIMIT 1";
    depth_of(executor, tenant, segment, first).await
}

/// The depth of the last message in a range that is of anybody but the agent.
pub async fn last_answer(executor: impl PgExecutor<'_>, tenant: Uuid, segment: Segment) -> sqlx::Result<Option<i64>> {
    let last = "SELECT depth FROM entries
         WHERE tenant_id = $1 AND session_id = $2 AND branch = $3 AND depth BETWEEN $4 AND $5
           AND kind = ANY($6) AND role <> $7
         ORDER BY depth DESC LIMIT 1";
    depth_of(executor, tenant, segment, last).await
}

/// What a statement finds among the messages of a range that are, or are not, the agent's.
async fn depth_of(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    segment: Segment,
    statement: &'static str,
) -> sqlx::Result<Option<i64>> {
    let (kinds, agent) = answers();
    sqlx::query_scalar(statement)
        .bind(tenant)
        .bind(segment.session_id)
        .bind(segment.branch)
        .bind(segment.from)
        .bind(segment.to)
        .bind(kinds)
        .bind(agent)
        .fetch_optional(executor)
        .await
}
