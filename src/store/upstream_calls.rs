//! Calls of upstreams, a row each, and their sums by day, which stay when the rows go.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgExecutor, PgPool, Result};
use uuid::Uuid;

/// How many rows one statement removes.
const BATCH: i64 = 1_000;

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct NewCall {
    pub id: Uuid,
    pub session_id: Option<Uuid>,
    pub compaction_id: Option<Uuid>,
    pub upstream: String,
    pub model: String,
    pub at: DateTime<Utc>,
    pub outcome: &'static str,
    pub is_error: bool,
    pub took_ms: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cached_tokens: i64,
    pub cache_write_tokens: i64,
    pub nano_usd: i64,
}

/// The row, the day and the compaction's own figures, all or none. Of an erased session no row is written, but the day
/// counts. The session's row is locked before the compaction's, as whoever ends a compaction locks them. Once more, it does
/// nothing.
const INSERT: &str = "
    WITH session AS (
        SELECT id FROM sessions WHERE tenant_id = $1 AND id = $3 AND deleted_at IS NULL FOR KEY SHARE
    ), place AS (
        SELECT 1 AS one FROM (SELECT id FROM session UNION ALL SELECT NULL WHERE $3::uuid IS NULL) there
         WHERE NOT EXISTS (SELECT FROM upstream_calls WHERE tenant_id = $1 AND id = $2)
    ), call AS (
        INSERT INTO upstream_calls (tenant_id, id, session_id, compaction_id, upstream, model, at, outcome, took_ms,
            input_tokens, output_tokens, cached_tokens, cache_write_tokens, nano_usd)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $10, $11, $12, $13, $14, $15 FROM place
    ), day AS (
        INSERT INTO upstream_days AS d (tenant_id, day, upstream, model, calls, errors, input_tokens, output_tokens,
            cached_tokens, cache_write_tokens, nano_usd)
        SELECT $1, date_trunc('day', $7 AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', $5, $6, 1, $9, $11, $12, $13, $14, $15
         WHERE NOT EXISTS (SELECT FROM upstream_calls WHERE tenant_id = $1 AND id = $2)
        ON CONFLICT (tenant_id, day, upstream, model) DO UPDATE
           SET calls = d.calls + excluded.calls, errors = d.errors + excluded.errors,
               input_tokens = d.input_tokens + excluded.input_tokens,
               output_tokens = d.output_tokens + excluded.output_tokens,
               cached_tokens = d.cached_tokens + excluded.cached_tokens,
               cache_write_tokens = d.cache_write_tokens + excluded.cache_write_tokens,
               nano_usd = d.nano_usd + excluded.nano_usd
    )
    UPDATE compactions c
       SET calls = coalesce(c.calls, 0) + 1, errors = coalesce(c.errors, 0) + $9::int,
           input_tokens = coalesce(c.input_tokens, 0) + $11, output_tokens = coalesce(c.output_tokens, 0) + $12,
           cached_tokens = coalesce(c.cached_tokens, 0) + $13,
           cache_write_tokens = coalesce(c.cache_write_tokens, 0) + $14, nano_usd = coalesce(c.nano_usd, 0) + $15,
           upstream = coalesce(c.upstream, $5)
      FROM place WHERE c.tenant_id = $1 AND c.session_id = $3 AND c.id = $4";

/// Keeps a call.
pub async fn insert(executor: impl PgExecutor<'_>, tenant: Uuid, call: &NewCall) -> Result<()> {
    sqlx::query(INSERT)
        .bind(tenant)
        .bind(call.id)
        .bind(call.session_id)
        .bind(call.compaction_id)
        .bind(&call.upstream)
        .bind(&call.model)
        .bind(call.at)
        .bind(call.outcome)
        .bind(i64::from(call.is_error))
        .bind(call.took_ms)
        .bind(call.input_tokens)
        .bind(call.output_tokens)
        .bind(call.cached_tokens)
        .bind(call.cache_write_tokens)
        .bind(call.nano_usd)
        .execute(executor)
        .await?;
    Ok(())
}

/// Gives the calls of a compaction that was made before its session was there to that session, and the compaction its
/// figures.
pub async fn adopt(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid, compaction_id: Uuid) -> Result<()> {
    sqlx::query(
        "WITH adopted AS (
            UPDATE upstream_calls SET session_id = $2 WHERE tenant_id = $1 AND compaction_id = $3
            RETURNING outcome, upstream, input_tokens, output_tokens, cached_tokens, cache_write_tokens, nano_usd
         ), sums AS (
            SELECT count(*) AS calls, count(*) FILTER (WHERE outcome <> 'ok') AS errors,
                coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
                coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
                coalesce(sum(cached_tokens), 0)::bigint AS cached_tokens,
                coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
                coalesce(sum(nano_usd), 0)::bigint AS nano_usd, min(upstream) AS upstream
              FROM adopted
         )
         UPDATE compactions c
            SET calls = s.calls, errors = s.errors, input_tokens = s.input_tokens, output_tokens = s.output_tokens,
                cached_tokens = s.cached_tokens, cache_write_tokens = s.cache_write_tokens, nano_usd = s.nano_usd,
                upstream = coalesce(c.upstream, s.upstream)
           FROM sums s WHERE c.tenant_id = $1 AND c.session_id = $2 AND c.id = $3",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(compaction_id)
    .execute(executor)
    .await?;
    Ok(())
}

/// Sums of the calls of one upstream and model in one bucket of time.
#[derive(Debug, Clone, FromRow)]
pub struct CallSums {
    pub bucket: i64,
    pub upstream: String,
    pub model: String,
    pub calls: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cached_tokens: i64,
    pub cache_write_tokens: i64,
    pub nano_usd: i64,
}

/// Sums from a time on, by buckets of so many seconds, of the newest `$4` rows; what a day counts beyond its rows, those of
/// erased sessions and those that are older than rows are kept, is in the bucket in which the day begins, or the first.
const SUMS: &str = "
    WITH c AS (
        SELECT *, date_trunc('day', at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS day FROM upstream_calls
         WHERE tenant_id = $1 AND at >= date_trunc('day', $2 AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
         ORDER BY at DESC LIMIT $4
    ), known AS (
        SELECT day, upstream, model, count(*) AS calls, count(*) FILTER (WHERE outcome <> 'ok') AS errors,
            sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cached_tokens) AS cached_tokens,
            sum(cache_write_tokens) AS cache_write_tokens, sum(nano_usd) AS nano_usd
          FROM c GROUP BY day, upstream, model
    ), rest AS (
        SELECT greatest(d.day, $2) AS at, d.upstream, d.model, d.calls - coalesce(k.calls, 0) AS calls,
            d.errors - coalesce(k.errors, 0) AS errors, d.input_tokens - coalesce(k.input_tokens, 0) AS input_tokens,
            d.output_tokens - coalesce(k.output_tokens, 0) AS output_tokens,
            d.cached_tokens - coalesce(k.cached_tokens, 0) AS cached_tokens,
            d.cache_write_tokens - coalesce(k.cache_write_tokens, 0) AS cache_write_tokens,
            d.nano_usd - coalesce(k.nano_usd, 0) AS nano_usd
          FROM upstream_days d LEFT JOIN known k USING (day, upstream, model)
         WHERE d.tenant_id = $1 AND d.day >= date_trunc('day', $2 AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
           AND d.calls > coalesce(k.calls, 0)
    ), parts AS (
        SELECT at, upstream, model, 1 AS calls, (outcome <> 'ok')::int AS errors, input_tokens, output_tokens,
            cached_tokens, cache_write_tokens, nano_usd
          FROM c WHERE at >= $2
        UNION ALL SELECT * FROM rest
    )
    SELECT floor(extract(epoch FROM at - $2) / $3)::bigint AS bucket, upstream, model, sum(calls)::bigint AS calls,
        sum(errors)::bigint AS errors, sum(input_tokens)::bigint AS input_tokens,
        sum(output_tokens)::bigint AS output_tokens, sum(cached_tokens)::bigint AS cached_tokens,
        sum(cache_write_tokens)::bigint AS cache_write_tokens, sum(nano_usd)::bigint AS nano_usd
      FROM parts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

/// The sums of a tenant's calls. One statement, so that rows and days are of one moment.
pub async fn sums(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    since: DateTime<Utc>,
    seconds: i64,
    most_rows: i64,
) -> Result<Vec<CallSums>> {
    sqlx::query_as(SUMS).bind(tenant).bind(since).bind(seconds).bind(most_rows).fetch_all(executor).await
}

/// How long calls took.
#[derive(Debug, Clone, FromRow)]
pub struct CallTimes {
    pub upstream: String,
    pub model: String,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// The times of the newest calls from a time on, by upstream and model.
pub async fn times(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    since: DateTime<Utc>,
    most_rows: i64,
) -> Result<Vec<CallTimes>> {
    sqlx::query_as(
        "SELECT upstream, model, percentile_cont(0.5) WITHIN GROUP (ORDER BY took_ms) AS p50_ms,
            percentile_cont(0.95) WITHIN GROUP (ORDER BY took_ms) AS p95_ms
         FROM (
            SELECT upstream, model, took_ms FROM upstream_calls WHERE tenant_id = $1 AND at >= $2
            ORDER BY at DESC LIMIT $3
         ) c GROUP BY upstream, model",
    )
    .bind(tenant)
    .bind(since)
    .bind(most_rows)
    .fetch_all(executor)
    .await
}

/// Tenants in the order of their ids.
pub async fn tenants(executor: impl PgExecutor<'_>, after: Uuid, limit: i64) -> Result<Vec<Uuid>> {
    sqlx::query_scalar("SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT $2")
        .bind(after)
        .bind(limit)
        .fetch_all(executor)
        .await
}

const PURGE_CALLS: &str = "
    DELETE FROM upstream_calls WHERE tenant_id = $1 AND id IN (
        SELECT id FROM upstream_calls WHERE tenant_id = $1 AND at < $2 ORDER BY at LIMIT $3)";

const PURGE_TEXTS: &str = "
    DELETE FROM refused_texts WHERE tenant_id = $1 AND compaction_id IN (
        SELECT compaction_id FROM refused_texts WHERE tenant_id = $1 AND at < $2 ORDER BY at LIMIT $3) AND at < $2";

/// Removes a tenant's calls that ended before a time, in batches; returns how many.
pub async fn purge(pool: &PgPool, tenant: Uuid, before: DateTime<Utc>) -> Result<u64> {
    in_batches(pool, PURGE_CALLS, tenant, before).await
}

/// Removes a tenant's refused texts of before a time, in batches; returns how many.
pub async fn purge_texts(pool: &PgPool, tenant: Uuid, before: DateTime<Utc>) -> Result<u64> {
    in_batches(pool, PURGE_TEXTS, tenant, before).await
}

async fn in_batches(pool: &PgPool, statement: &'static str, tenant: Uuid, before: DateTime<Utc>) -> Result<u64> {
    let mut all = 0;
    loop {
        let gone = sqlx::query(statement).bind(tenant).bind(before).bind(BATCH).execute(pool).await?.rows_affected();
        all += gone;
        if gone < BATCH.unsigned_abs() {
            return Ok(all);
        }
    }
}
