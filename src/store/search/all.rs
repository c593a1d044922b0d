//! What a search over all sessions reads: sessions from the newest on, and of each its entries from the newest on.

use sqlx::{AssertSqlSafe, PgExecutor, Result};
use uuid::Uuid;

use super::{Sieve, holds, lowered};
use crate::store::path::STATEMENT_RANGES;

pub use crate::store::path::STATEMENT_ENTRIES;

/// A session on the way of the search.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct SessionOnTheWay {
    pub id: Uuid,
    pub is_there: bool,
    /// The seqs of its own entries.
    pub first_seq: i64,
    pub next_seq: i64,
    /// It shares entries of a session that was erased: nobody else shows them.
    pub has_hidden_parent: bool,
}

/// The next sessions from one on, hidden ones too.
pub async fn sessions(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    from: Uuid,
    limit: i64,
) -> Result<Vec<SessionOnTheWay>> {
    sqlx::query_as(
        "SELECT s.id, s.deleted_at IS NULL AS is_there, s.next_seq,
            CASE WHEN s.parent_session IS NULL THEN 0 ELSE coalesce((
                SELECT min(seq) FROM entries e WHERE e.tenant_id = $1 AND e.session_id = s.id), s.next_seq)
            END AS first_seq,
            s.parent_session IS NOT NULL AND EXISTS (
                SELECT FROM sessions p
                 WHERE p.tenant_id = $1 AND p.id = s.parent_session AND p.deleted_at IS NOT NULL) AS has_hidden_parent
         FROM (SELECT * FROM sessions WHERE tenant_id = $1 AND id <= $2 ORDER BY id DESC LIMIT $3) s
         ORDER BY s.id DESC",
    )
    .bind(tenant)
    .bind(from)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// Those of these sessions that were erased.
pub async fn hidden(executor: impl PgExecutor<'_>, tenant: Uuid, ids: &[Uuid]) -> Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM sessions WHERE tenant_id = $1 AND id = ANY ($2) AND deleted_at IS NOT NULL")
        .bind(tenant)
        .bind(ids)
        .fetch_all(executor)
        .await
}

/// A stretch of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The session that shows them.
    pub shown_in: Uuid,
    /// The session that holds them.
    pub session_id: Uuid,
    /// `None`: `low` and `high` are seqs, of any branch. Else depths of this one.
    pub branch: Option<i32>,
    pub low: i64,
    pub high: i64,
    /// Only those with a lower seq.
    pub below: i64,
}

/// Cuts stretches, each read from its end on, into portions for one statement each.
pub fn portions(stretches: &[Stretch]) -> Vec<Vec<Stretch>> {
    let (mut portions, mut portion, mut room) = (Vec::new(), Vec::new(), STATEMENT_ENTRIES);
    for stretch in stretches {
        let mut high = stretch.high;
        while high >= stretch.low {
            let low = stretch.low.max(high - room + 1);
            portion.push(Stretch { low, high, ..*stretch });
            room -= high - low + 1;
            high = low - 1;
            if room == 0 || portion.len() == STATEMENT_RANGES {
                portions.push(std::mem::take(&mut portion));
                room = STATEMENT_ENTRIES;
            }
        }
    }
    if !portion.is_empty() {
        portions.push(portion);
    }
    portions
}

/// An entry that may hold what is looked for, or the last one that was looked at.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Candidate {
    /// Place of its stretch, from 1.
    pub place: i64,
    pub id: Uuid,
    pub seq: i64,
    pub kind: String,
    pub role: Option<String>,
    pub is_last: bool,
    /// Of the last one: how many entries and bytes were looked at.
    pub entries: i64,
    pub bytes: i64,
    /// `None`: it can't hold it.
    pub item: Option<String>,
}

/// The candidates of a portion in its order, the newest of each stretch first, as far as their bytes go: what comes after
/// the last one is not looked at where that many were reached.
pub async fn candidates(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    portion: &[Stretch],
    sieve: &Sieve,
    bytes: i64,
) -> Result<Vec<Candidate>> {
    let statement = format!(
        "WITH looked AS (
            SELECT p.place, e.*, octet_length(e.item)::bigint AS size
              FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[]) WITH ORDINALITY
                p(session_id, branch, low, high, below, place)
             CROSS JOIN LATERAL (
                SELECT id, seq, kind, role, item FROM entries
                 WHERE tenant_id = $1 AND session_id = p.session_id AND p.branch < 0 AND seq BETWEEN p.low AND p.high
                   AND seq < p.below
              UNION ALL
                SELECT id, seq, kind, role, item FROM entries
                 WHERE tenant_id = $1 AND session_id = p.session_id AND branch = p.branch
                   AND depth BETWEEN p.low AND p.high AND seq < p.below) e
         ), sized AS (
            SELECT *, (sum(size) OVER (ORDER BY place, seq DESC))::bigint AS bytes FROM looked
         ), within AS (
            SELECT *, lead(seq) OVER newest IS NULL AS is_last, row_number() OVER newest AS entries
              FROM sized WHERE bytes - size < $9 WINDOW newest AS (ORDER BY place, seq DESC)
         ), judged AS (
            SELECT e.*, ({}) AS fits FROM within e {} OFFSET 0
         )
         SELECT place, id, seq, kind, role, is_last, entries, bytes, CASE WHEN fits THEN item END AS item
           FROM judged WHERE fits OR is_last ORDER BY place, seq DESC",
        holds("$7", "$8"),
        lowered(),
    );
    sqlx::query_as(AssertSqlSafe(statement))
        .bind(tenant)
        .bind(portion.iter().map(|one| one.session_id).collect::<Vec<_>>())
        .bind(portion.iter().map(|one| one.branch.unwrap_or(-1)).collect::<Vec<_>>())
        .bind(portion.iter().map(|one| one.low).collect::<Vec<_>>())
        .bind(portion.iter().map(|one| one.high).collect::<Vec<_>>())
        .bind(portion.iter().map(|one| one.below).collect::<Vec<_>>())
        .bind(&sieve.probes)
        .bind(sieve.every)
        .bind(bytes)
        .fetch_all(executor)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(n: u128, low: i64, high: i64) -> Stretch {
        let id = Uuid::from_u128(n);
        Stretch { shown_in: id, session_id: id, branch: None, low, high, below: i64::MAX }
    }

    #[test]
    fn portions_hold_every_entry_once_from_the_end_on() {
        let stretches: Vec<Stretch> = (0..1_200).map(|n| stretch(n, 0, i64::try_from(n % 7).unwrap() - 1)).collect();
        let long = [vec![stretch(5_000, 3, 5_004)], stretches].concat();
        let portions = portions(&long);
        let entries = |part: &Stretch| part.high - part.low + 1;
        for portion in &portions {
            assert!(portion.iter().map(entries).sum::<i64>() <= STATEMENT_ENTRIES);
            assert!(portion.len() <= STATEMENT_RANGES && portion.iter().all(|part| entries(part) > 0));
        }
        assert_eq!(portions.concat().iter().map(entries).sum::<i64>(), long.iter().map(entries).sum::<i64>());
        assert_eq!((portions[0][0].low, portions[0][0].high), (3_005, 5_004));
        assert_eq!((portions[1][0].low, portions[1][0].high), (1_005, 3_004));
    }
}
