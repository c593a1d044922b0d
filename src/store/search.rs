//! Entries that a search reads: those that may hold its words.

pub mod all;

use futures::stream::{BoxStream, StreamExt};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::path::{STATEMENT_ENTRIES, Segment, over, ranges};

/// An entry that may hold what is looked for.
#[derive(Debug, Clone, FromRow)]
pub struct SearchCandidate {
    pub session_id: Uuid,
    pub branch: i32,
    pub depth: i64,
    pub seq: i64,
    pub kind: String,
    pub item: String,
}

/// Condition on an item's raw text, its ASCII letters lowered: it holds all `probes` or, without `every`, any of them.
/// An item with a `\u` escape passes in any case: the escape may stand for what is looked for. No probes: all pass.
#[derive(Debug, Clone)]
pub struct Sieve {
    pub probes: Vec<String>,
    pub every: bool,
}

const COLUMNS: &str = "e.session_id, e.branch, e.depth, e.seq, e.kind, e.item";

/// `"C"` lowers byte by byte, many times faster than a language's rules would.
fn passes(probes: &str, every: &str) -> String {
    format!("{} WHERE {}", lowered(), holds(probes, every))
}

fn lowered() -> &'static str {
    r#"CROSS JOIN LATERAL (SELECT lower(e.item COLLATE "C") AS item OFFSET 0) AS lowered"#
}

fn holds(probes: &str, every: &str) -> String {
    format!(
        r"cardinality({probes}::text[]) = 0 OR strpos(lowered.item, '\u') > 0
              OR (SELECT CASE WHEN {every} THEN bool_and(strpos(lowered.item, probe) > 0)
                              ELSE bool_or(strpos(lowered.item, probe) > 0) END
                  FROM unnest({probes}::text[]) AS probe)"
    )
}

/// The candidates among a session's own entries, all branches, that follow `after` by `seq` and come before `end`, as far
/// as one statement reads; without those that other sessions share with it.
pub fn own<'c>(
    connection: &'c mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    (after, end): (i64, i64),
    sieve: &Sieve,
) -> BoxStream<'c, sqlx::Result<SearchCandidate>> {
    sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM (
            SELECT * FROM entries WHERE tenant_id = $1 AND session_id = $2 AND seq > $3 AND seq <= $4 OFFSET 0
         ) AS e {}",
        passes("$5", "$6")
    )))
    .bind(tenant)
    .bind(session_id)
    .bind(after)
    .bind(after.saturating_add(STATEMENT_ENTRIES).min(end - 1))
    .bind(sieve.probes.clone())
    .bind(sieve.every)
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
    let statement = format!("SELECT {COLUMNS} {} {}", ranges(""), passes("$6", "$7"));
    over(statement, tenant, portion)
        .bind(sieve.probes.clone())
        .bind(sieve.every)
        .try_map(|row| SearchCandidate::from_row(&row))
        .fetch(connection)
}
