//! Paths: from a leaf back to the root as a few contiguous ranges.

use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};
use uuid::Uuid;

/// Entries `from..=to` (depths) of one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub session_id: Uuid,
    pub branch: i32,
    pub from: i64,
    pub to: i64,
}

/// A leaf: a branch and a depth on it or, when the branch is younger than that, on what it grew from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    pub session_id: Uuid,
    pub branch: i32,
    pub depth: i64,
}

/// The path of a leaf, root first. One query whatever the number of branches; none for an unbranched session
/// (`plain`: the leaf is on branch 0 of a session that is no fork).
pub async fn segments(
    connection: &mut PgConnection,
    tenant: Uuid,
    leaf: Leaf,
    plain: bool,
) -> sqlx::Result<Vec<Segment>> {
    if leaf.depth < 0 {
        return Ok(Vec::new());
    }
    if plain {
        return Ok(vec![Segment { session_id: leaf.session_id, branch: leaf.branch, from: 0, to: leaf.depth }]);
    }
    let rows: Vec<(Uuid, i32, i64, i64)> = sqlx::query_as(
        "WITH RECURSIVE chain AS (
            SELECT $2::uuid AS session_id, $3::int AS branch, $4::bigint AS high, 0 AS step
          UNION ALL
            SELECT b.parent_session, b.parent_branch, least(b.fork_depth, chain.high), chain.step + 1
            FROM chain JOIN branches b
              ON b.tenant_id = $1 AND b.session_id = chain.session_id AND b.branch = chain.branch
            WHERE b.fork_depth >= 0
         )
         SELECT chain.session_id, chain.branch, coalesce(b.fork_depth + 1, 0) AS low, chain.high
         FROM chain LEFT JOIN branches b
           ON b.tenant_id = $1 AND b.session_id = chain.session_id AND b.branch = chain.branch
         ORDER BY chain.step DESC",
    )
    .bind(tenant)
    .bind(leaf.session_id)
    .bind(leaf.branch)
    .bind(leaf.depth)
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .filter(|(_, _, from, to)| from <= to)
        .map(|(session_id, branch, from, to)| Segment { session_id, branch, from, to })
        .collect())
}

/// The parts of `path` whose depths lie in one of `wanted` (inclusive, ascending, disjoint). Both are walked once.
pub fn clip(path: &[Segment], wanted: &[(i64, i64)]) -> Vec<Segment> {
    let mut parts = Vec::new();
    let mut wanted = wanted;
    for segment in path {
        let passed = wanted.iter().take_while(|(_, high)| *high < segment.from).count();
        wanted = wanted.get(passed..).unwrap_or_default();
        for &(low, high) in wanted.iter().take_while(|(low, _)| *low <= segment.to) {
            let (from, to) = (segment.from.max(low), segment.to.min(high));
            if from <= to {
                parts.push(Segment { from, to, ..*segment });
            }
        }
    }
    parts
}

/// Most entries that one statement reads of a path or a session.
pub const STATEMENT_ENTRIES: i64 = 2_000;
/// Most ranges that one statement looks into.
pub const STATEMENT_RANGES: usize = 500;

/// A path in portions for one statement each, in path order; a long range is read in several.
pub fn portions(segments: &[Segment]) -> impl Iterator<Item = Vec<Segment>> {
    let mut rest = segments.iter().copied();
    let mut cut: Option<Segment> = None;
    std::iter::from_fn(move || {
        let (mut portion, mut room) = (Vec::new(), STATEMENT_ENTRIES);
        while room > 0
            && portion.len() < STATEMENT_RANGES
            && let Some(segment) = cut.take().or_else(|| rest.next())
        {
            let to = segment.to.min(segment.from.saturating_add(room - 1));
            portion.push(Segment { to, ..segment });
            room -= to - segment.from + 1;
            cut = (to < segment.to).then_some(Segment { from: to + 1, ..segment });
        }
        (!portion.is_empty()).then_some(portion)
    })
}

/// The entries `e` of the ranges `s` that are bound from `$2` on, each range looked up by itself. `OFFSET 0` keeps the
/// planner from turning the look-ups into one join by session and branch: all entries of a path are of one or a few of
/// those, so such a join compares every range with every entry.
pub(super) fn ranges(condition: &str) -> String {
    format!(
        "FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
            s(session_id, branch, low, high, place)
         CROSS JOIN LATERAL (
            SELECT * FROM entries e
            WHERE e.tenant_id = $1 AND e.session_id = s.session_id AND e.branch = s.branch
              AND e.depth BETWEEN s.low AND s.high {condition} OFFSET 0
         ) e"
    )
}

/// A statement over [`ranges`]: the tenant and these segments are bound as `$1` to `$5`.
pub(super) fn over(statement: String, tenant: Uuid, segments: &[Segment]) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(AssertSqlSafe(statement))
        .bind(tenant)
        .bind(segments.iter().map(|s| s.session_id).collect::<Vec<_>>())
        .bind(segments.iter().map(|s| s.branch).collect::<Vec<_>>())
        .bind(segments.iter().map(|s| s.from).collect::<Vec<_>>())
        .bind(segments.iter().map(|s| s.to).collect::<Vec<_>>())
}

/// Returns true if a place lies on a path, whose segments ascend.
pub fn holds(path: &[Segment], session_id: Uuid, branch: i32, depth: i64) -> bool {
    let place = path.partition_point(|segment| segment.to < depth);
    path.get(place).is_some_and(|segment| {
        (segment.session_id, segment.branch) == (session_id, branch) && (segment.from..=segment.to).contains(&depth)
    })
}

/// The sessions that hold the entries of a path.
pub fn sessions_of(path: &[Segment]) -> Vec<Uuid> {
    let mut sessions: Vec<Uuid> = path.iter().map(|segment| segment.session_id).collect();
    sessions.dedup();
    sessions
}

/// The sessions whose entries a path shows, the leaf's first.
pub async fn sessions(connection: &mut PgConnection, tenant: Uuid, session_id: Uuid) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "WITH RECURSIVE line AS (
            SELECT $2::uuid AS id
          UNION
            SELECT s.parent_session FROM line JOIN sessions s ON s.tenant_id = $1 AND s.id = line.id
            WHERE s.parent_session IS NOT NULL
         ) SELECT id FROM line",
    )
    .bind(tenant)
    .bind(session_id)
    .fetch_all(connection)
    .await
}

/// The sessions with a branch that grows from an entry of this one.
pub async fn forks(connection: &mut PgConnection, tenant: Uuid, session_id: Uuid) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "SELECT DISTINCT session_id FROM branches
         WHERE tenant_id = $1 AND parent_session = $2 AND parent_session <> session_id",
    )
    .bind(tenant)
    .bind(session_id)
    .fetch_all(connection)
    .await
}

/// Records that a session's branch 0 grows from a leaf of another session.
pub async fn insert_fork(
    connection: &mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    leaf: Leaf,
) -> sqlx::Result<()> {
    insert_branch(connection, tenant, session_id, 0, leaf).await
}

/// Records that a branch grows from a leaf.
pub async fn insert_branch(
    connection: &mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
    branch: i32,
    from: Leaf,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO branches (tenant_id, session_id, branch, parent_session, parent_branch, fork_depth)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(branch)
    .bind(from.session_id)
    .bind(from.branch)
    .bind(from.depth)
    .execute(connection)
    .await?;
    Ok(())
}

/// Reads the path that a fork shares with its parent session: the parent's path up to the fork. Empty for a session
/// that is no fork.
pub async fn shared_history(
    connection: &mut PgConnection,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Vec<Segment>> {
    let origin: Option<(Uuid, i32, i64)> = sqlx::query_as(
        "SELECT parent_session, parent_branch, fork_depth FROM branches
         WHERE tenant_id = $1 AND session_id = $2 AND branch = 0",
    )
    .bind(tenant)
    .bind(session_id)
    .fetch_optional(&mut *connection)
    .await?;
    match origin {
        None => Ok(Vec::new()),
        Some((session_id, branch, depth)) => {
            segments(connection, tenant, Leaf { session_id, branch, depth }, false).await
        }
    }
}

/// Single entries of a path, in path order, neighbours joined into ranges.
pub fn join(segments: impl IntoIterator<Item = Segment>) -> Vec<Segment> {
    let mut joined: Vec<Segment> = Vec::new();
    for segment in segments {
        match joined.last_mut() {
            Some(last)
                if (last.session_id, last.branch) == (segment.session_id, segment.branch)
                    && (last.from..=last.to + 1).contains(&segment.from) =>
            {
                last.to = last.to.max(segment.to);
            }
            _ => joined.push(segment),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(branch: i32, from: i64, to: i64) -> Segment {
        Segment { session_id: Uuid::nil(), branch, from, to }
    }

    #[test]
    fn a_long_range_is_read_in_portions() {
        let found: Vec<_> = portions(&[range(0, 0, 4_500), range(1, 4_501, 4_510)]).collect();
        let last = vec![range(0, 4_000, 4_500), range(1, 4_501, 4_510)];
        assert_eq!(found, [vec![range(0, 0, 1_999)], vec![range(0, 2_000, 3_999)], last]);
        assert_eq!(portions(&[]).count(), 0);
    }

    #[test]
    fn many_ranges_are_read_in_portions() {
        let single = |depth| range(0, depth, depth);
        let ranges: Vec<Segment> = (0..1_100).map(|n| single(n * 2)).collect();
        let found: Vec<_> = portions(&ranges).collect();
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 100]);
        assert_eq!(found.concat(), ranges);
    }

    #[test]
    fn a_place_is_on_a_path_or_not() {
        let path = [range(0, 0, 4), range(2, 5, 5), range(7, 6, 9)];
        let on = |branch, depth| holds(&path, Uuid::nil(), branch, depth);
        assert!(on(0, 0) && on(0, 4) && on(2, 5) && on(7, 9));
        assert!(!on(0, 5) && !on(2, 4) && !on(7, 10) && !on(1, 5));
    }
}
