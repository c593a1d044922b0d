//! Sums over a tenant's compactions, sessions and jobs. Every statement looks at a bounded number of rows.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor};
use uuid::Uuid;

/// Most compactions that are added up, the newest.
pub const MOST_COMPACTIONS: i64 = 100_000;
/// Most sessions that are counted, the newest.
pub const MOST_SESSIONS: i64 = 50_000;
/// Most jobs that are counted.
pub const MOST_JOBS: i64 = 100_000;

/// Compactions `c` of the tenant `$1` that ended from `$2` on.
macro_rules! ended {
    ($rest:literal) => {
        concat!(
            "WITH c AS (
                SELECT * FROM compactions WHERE tenant_id = $1 AND finished_at >= $2 ORDER BY finished_at DESC LIMIT $3
            ) ",
            $rest
        )
    };
}

/// Compactions of one bucket of time and one status.
#[derive(Debug, Clone, FromRow)]
pub struct BucketRow {
    pub bucket: i64,
    pub status: String,
    pub compactions: i64,
    pub tokens_shed: i64,
    /// What the provider's prompt cache lost.
    pub cache_usd: f64,
}

/// The compactions that ended from a time on, by buckets of so many seconds. What was taken back has shed nothing.
pub async fn buckets(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    since: DateTime<Utc>,
    seconds: i64,
) -> sqlx::Result<Vec<BucketRow>> {
    sqlx::query_as(ended!(
        "SELECT floor(extract(epoch FROM c.finished_at - $2) / $4)::bigint AS bucket, c.status, count(*) AS compactions,
            coalesce(sum(c.tokens_shed) FILTER (WHERE c.status = 'succeeded' AND c.reverted_at IS NULL), 0)::bigint
                AS tokens_shed,
            coalesce(sum(c.cache_usd), 0) AS cache_usd
         FROM c GROUP BY 1, 2 ORDER BY 1, 2"
    ))
    .bind(tenant)
    .bind(since)
    .bind(MOST_COMPACTIONS)
    .bind(seconds)
    .fetch_all(executor)
    .await
}

/// How many compactions have a word in a column.
#[derive(Debug, Clone, FromRow)]
pub struct WordRow {
    /// A strategy, or the reason of a skip.
    pub is_strategy: bool,
    pub word: String,
    pub compactions: i64,
}

/// The same by strategy, and those that were skipped by reason.
pub async fn words(executor: impl PgExecutor<'_>, tenant: Uuid, since: DateTime<Utc>) -> sqlx::Result<Vec<WordRow>> {
    sqlx::query_as(ended!(
        "SELECT true AS is_strategy, c.strategy AS word, count(*) AS compactions FROM c GROUP BY c.strategy
         UNION ALL
         SELECT false, c.skip_reason, count(*) FROM c WHERE c.skip_reason IS NOT NULL GROUP BY c.skip_reason"
    ))
    .bind(tenant)
    .bind(since)
    .bind(MOST_COMPACTIONS)
    .fetch_all(executor)
    .await
}

/// What compactions saved by the next one of their session, in US dollars: what a call saves is known of the compaction
/// before, how many calls came since of the one behind. `None`: not known.
pub async fn saved(executor: impl PgExecutor<'_>, tenant: Uuid, since: DateTime<Utc>) -> sqlx::Result<Option<f64>> {
    sqlx::query_scalar(ended!(
        ", landed AS (
            SELECT calls_before * lag(saved_usd) OVER (PARTITION BY session_id ORDER BY finished_at, id) AS saved_usd
            FROM c WHERE status = 'succeeded' AND reverted_at IS NULL
        )
        SELECT (SELECT sum(saved_usd) FROM landed)::float8 AS saved_usd"
    ))
    .bind(tenant)
    .bind(since)
    .bind(MOST_COMPACTIONS)
    .fetch_one(executor)
    .await
}

/// How many compactions are written and wait for their context to turn red.
pub async fn prepared(executor: impl PgExecutor<'_>, tenant: Uuid) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT count(*) FROM compactions
         WHERE tenant_id = $1 AND status IN ('queued', 'running') AND candidate IS NOT NULL",
    )
    .bind(tenant)
    .fetch_one(executor)
    .await
}

/// Sessions of one fill state.
#[derive(Debug, Clone, FromRow)]
pub struct StateRow {
    pub state: String,
    pub sessions: i64,
    pub tokens: i64,
    pub guard_tripped: i64,
}

/// The newest sessions by fill state.
pub async fn states(executor: impl PgExecutor<'_>, tenant: Uuid) -> sqlx::Result<Vec<StateRow>> {
    sqlx::query_as(
        "SELECT fill_state AS state, count(*) AS sessions,
            least(coalesce(sum(tokens), 0), 9223372036854775807)::bigint AS tokens,
            count(*) FILTER (WHERE guard_tripped) AS guard_tripped
         FROM (
            SELECT fill_state, tokens, guard_tripped FROM sessions WHERE tenant_id = $1 AND deleted_at IS NULL
            ORDER BY id DESC LIMIT $2
         ) s GROUP BY fill_state",
    )
    .bind(tenant)
    .bind(MOST_SESSIONS)
    .fetch_all(executor)
    .await
}

/// A tenant's jobs.
#[derive(Debug, Clone, FromRow)]
pub struct QueueRow {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    pub oldest_age_seconds: f64,
}

/// How full a tenant's queue is.
pub async fn queue(executor: impl PgExecutor<'_>, tenant: Uuid) -> sqlx::Result<QueueRow> {
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE status = 'pending') AS pending,
            count(*) FILTER (WHERE status = 'running') AS running,
            count(*) FILTER (WHERE status = 'dead') AS dead,
            coalesce(greatest(0, extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'pending'))), 0)::float8
                AS oldest_age_seconds
         FROM (SELECT status, run_at FROM jobs WHERE tenant_id = $1 LIMIT $2) j",
    )
    .bind(tenant)
    .bind(MOST_JOBS)
    .fetch_one(executor)
    .await
}
