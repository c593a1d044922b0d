//! What a search reads: the entries that may hold its words.

use futures::stream::{BoxStream, StreamExt};
use sqlx::PgConnection;
use uuid::Uuid;

use super::path::{STATEMENT_ENTRIES, Segment};

/// An entry that may hold what is looked for.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct SearchCandidate {
    pub session_id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub seq: i64,
    pub kind: String,
    pub item: String,
}

/// What the raw text of an item, its ASCII letters lowered, must hold: each of `probes` or, without `every`, one of them.
/// An item with a `\u` escape passes in any case: the escape may stand for what is looked for. No probes: all pass.
#[derive(Debug, Clone)]
pub struct Sieve {
    pub probes: Vec<String>,
    pub every: bool,
}

const COLUMNS: &str = "e.session_id, e.branch, e.depth, e.seq, e.kind, e.item";

/// `"C"` lowers byte by byte, many times faster than a language's rules would.
const PASSES: &str = r#"CROSS JOIN LATERAL (SELECT lower(e.item COLLATE "C") AS item OFFSET 0) AS lowered
    WHERE cardinality($2::text[]) = 0 OR strpos(lowered.item, '\u') > 0
       OR (SELECT CASE WHEN $3 THEN bool_and(strpos(lowered.item, probe) > 0) ELSE bool_or(strpos(lowered.item, probe) > 0) END
           FROM unnest($2::text[]) AS probe)"#;

/// The candidates among a session's own entries, all branches, that follow `after` by `seq`, as far as one statement
/// reads; without those that other sessions share with it.
pub fn own<'c>(
    connection: &'c mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    after: i64,
    sieve: &Sieve,
) -> BoxStream<'c, sqlx::Result<SearchCandidate>> {
    sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM (
            SELECT * FROM entries WHERE tenant_id = $1 AND session_id = $4 AND seq > $5 AND seq <= $6 OFFSET 0
         ) AS e {PASSES}"
    )))
    .bind(tenant)
    .bind(sieve.probes.clone())
    .bind(sieve.every)
    .bind(session_id)
    .bind(after)
    .bind(after.saturating_add(STATEMENT_ENTRIES))
    .fetch(connection)
    .boxed()
}

/// The candidates among the entries of one portion of a path.
pub fn among<'c>(
    connection: &'c mut PgConnection,
    tenant: Uuid,
    portion: &[Segment],
    sieve: &Sieve,
) -> BoxStream<'c, sqlx::Result<SearchCandidate>> {
    sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS}
         FROM unnest($4::uuid[], $5::int[], $6::bigint[], $7::bigint[]) AS s(session_id, branch, low, high)
         CROSS JOIN LATERAL (
            SELECT * FROM entries e
            WHERE e.tenant_id = $1 AND e.session_id = s.session_id AND e.branch = s.branch
              AND e.depth BETWEEN s.low AND s.high OFFSET 0
         ) AS e
         {PASSES}"
    )))
    .bind(tenant)
    .bind(sieve.probes.clone())
    .bind(sieve.every)
    .bind(portion.iter().map(|s| s.session_id).collect::<Vec<_>>())
    .bind(portion.iter().map(|s| s.branch).collect::<Vec<_>>())
    .bind(portion.iter().map(|s| s.from).collect::<Vec<_>>())
    .bind(portion.iter().map(|s| s.to).collect::<Vec<_>>())
    .fetch(connection)
    .boxed()
}
