//! A tenant at a glance.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::domain::tokens::nano_usd::NanoUsd;
use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::ops::figures::stored;
use crate::store::censuses::{self, SessionFigures};
use crate::store::stats::{self, BucketRow, MOST_COMPACTIONS, MOST_SESSIONS, QueueRow};
use crate::store::upstream_calls::{self, CallSums, CallTimes};

const DEFAULT_HOURS: i64 = 24;
/// Buckets where none are asked for.
const DEFAULT_BUCKETS: i64 = 24;
const MOST_BUCKETS: i64 = 500;
const LEAST_BUCKET_SECONDS: i64 = 60;
/// Calls that are looked at one by one, the newest; older ones are known by their days.
const MOST_CALLS: i64 = 100_000;
/// Upstreams and their models that are told, those with the most calls.
const MOST_UPSTREAMS: usize = 100;

/// A tenant at a glance: its sessions, its queue as it is, and the newest 100,000 compactions that ended since a time. Up
/// to 50,000 sessions are counted for this answer, more of them in the background (`census_at`). `upstreams` and costs are of
/// all calls of models that ended since, whatever became of their compactions; those of erased sessions are known by the day
/// (UTC) alone, and count from that day's begin.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Stats {
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub bucket_seconds: i64,
    pub sessions: SessionCounts,
    /// When the sessions were counted: with this answer, or in the background.
    pub census_at: DateTime<Utc>,
    /// There are more compactions than were looked at, or more sessions, which nobody has counted yet.
    pub capped: bool,
    /// By the contexts of these sessions.
    pub tokens_held: i64,
    /// By compactions that succeeded and were not taken back.
    pub tokens_shed: i64,
    pub compactions: CompactionCounts,
    pub savings: Savings,
    pub upstreams: Vec<UpstreamStats>,
    pub queue: QueueStats,
    /// Oldest first, also those in which nothing happened.
    pub series: Vec<StatsBucket>,
}

/// Sessions by the state of their context. `guard_tripped`: those of them whose anti-thrash guard held compactions back
/// when they last changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct SessionCounts {
    pub green: i64,
    pub yellow: i64,
    pub red: i64,
    pub guard_tripped: i64,
}

/// Compactions that ended. `by_reason`: those that were skipped, by their `skip_reason`. `prepared` are none of them: written
/// by now, they wait for their context to turn red.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompactionCounts {
    pub by_status: BTreeMap<String, i64>,
    pub by_strategy: BTreeMap<String, i64>,
    pub by_reason: BTreeMap<String, i64>,
    pub prepared: i64,
}

/// What compactions brought. `net_tokens` is without the tokens that models took and wrote. `cost_usd` is what calls of models
/// cost, `cache_cost_usd` what the sessions' prompt caches lost. `net_usd` is what was saved by calls between two compactions
/// of a session less both; null where no price of a session's model is known.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Savings {
    pub gross_tokens: i64,
    pub net_tokens: i64,
    pub cost_usd: f64,
    pub cache_cost_usd: f64,
    pub net_usd: Option<f64>,
}

/// A model that was called. `calls`: requests that were sent, `errors` those of them that gave no answer. The times are those
/// of one call.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UpstreamStats {
    pub name: String,
    pub model: Option<String>,
    pub calls: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cached_tokens: i64,
    pub cache_write_tokens: i64,
    pub cost_usd: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// The tenant's jobs. `dead`: those out of attempts, whose compactions failed; `oldest_age_seconds`: how long the oldest due
/// one has waited.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QueueStats {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    pub oldest_age_seconds: f64,
}

/// Compactions that ended within `bucket_seconds` from `at` on, and what the calls of models that ended then cost.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StatsBucket {
    pub at: DateTime<Utc>,
    pub succeeded: i64,
    pub skipped: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub tokens_shed: i64,
    pub cost_usd: f64,
    pub cache_cost_usd: f64,
}

/// What is asked for: since when (a day ago), and how many seconds a bucket has (a 24th of that).
#[derive(Debug, Clone, Copy, Default)]
pub struct StatsRequest {
    pub since: Option<DateTime<Utc>>,
    pub bucket_seconds: Option<i64>,
}

impl Queries {
    /// A tenant at a glance.
    ///
    /// # Errors
    /// `Invalid`: `since` is not in the past, or there would be more than 500 buckets.
    pub async fn stats(&self, tenant: Tenant, asked: StatsRequest) -> Result<Stats> {
        let until = clock::now();
        let since = asked.since.unwrap_or(until - TimeDelta::hours(DEFAULT_HOURS));
        let seconds = (until - since).num_seconds();
        if since >= until {
            return Err(ServiceError::invalid("/query/since", "must be in the past"));
        }
        let parts = |of: i64| (seconds + of - 1) / of;
        let bucket_seconds = asked.bucket_seconds.unwrap_or_else(|| parts(DEFAULT_BUCKETS).max(LEAST_BUCKET_SECONDS));
        let buckets = parts(bucket_seconds).max(1);
        if buckets > MOST_BUCKETS {
            return Err(ServiceError::invalid("/query/bucket", format!("makes more than {MOST_BUCKETS} buckets")));
        }
        let mut connection = self.pool.acquire().await?;
        let counted = counted(&mut connection, tenant, until).await?;
        let rows = stats::buckets(&mut *connection, tenant.0, since, bucket_seconds).await?;
        let words = stats::words(&mut *connection, tenant.0, since).await?;
        let saved = stats::saved(&mut *connection, tenant.0, since).await?;
        let calls = upstream_calls::sums(&mut *connection, tenant.0, since, bucket_seconds, MOST_CALLS).await?;
        let times = upstream_calls::times(&mut *connection, tenant.0, since, MOST_CALLS).await?;
        let prepared = stats::prepared(&mut *connection, tenant.0).await?;
        let queue = stats::queue(&mut *connection, tenant.0).await?;
        drop(connection);
        let tokens_shed = rows.iter().map(|row| row.tokens_shed).sum();
        let count = |is_strategy: bool| {
            let rows = words.iter().filter(|row| row.is_strategy == is_strategy);
            rows.map(|row| (row.word.clone(), row.compactions)).collect()
        };
        let mut compactions =
            CompactionCounts { by_strategy: count(true), by_reason: count(false), prepared, ..Default::default() };
        for row in &rows {
            *compactions.by_status.entry(row.status.clone()).or_default() += row.compactions;
        }
        Ok(Stats {
            capped: counted.capped || compactions.by_status.values().sum::<i64>() >= MOST_COMPACTIONS,
            since,
            until,
            bucket_seconds,
            sessions: sessions(&counted.figures),
            census_at: counted.at,
            tokens_held: counted.figures.tokens(),
            tokens_shed,
            compactions,
            savings: savings(tokens_shed, &calls, &rows, saved),
            upstreams: upstreams(&calls, times),
            queue: queue.into(),
            series: series(&rows, &calls, since, bucket_seconds, buckets),
        })
    }
}

/// A tenant's sessions, counted.
struct Counted {
    at: DateTime<Utc>,
    figures: SessionFigures,
    /// There are more.
    capped: bool,
}

/// Counts a tenant's sessions; where they are too many for that, takes the last census.
async fn counted(connection: &mut PgConnection, tenant: Tenant, now: DateTime<Utc>) -> Result<Counted> {
    if let Some((at, text)) = censuses::of_tenant(&mut *connection, tenant.0).await? {
        let figures: SessionFigures = stored(&text)?;
        if figures.sessions() > MOST_SESSIONS {
            return Ok(Counted { at, figures, capped: false });
        }
    }
    let mut figures = SessionFigures::default();
    for row in stats::states(connection, tenant.0).await? {
        figures.add(&row.state, row.sessions, row.tokens, row.guard_tripped);
    }
    Ok(Counted { at: now, capped: figures.sessions() >= MOST_SESSIONS, figures })
}

fn sessions(figures: &SessionFigures) -> SessionCounts {
    let SessionFigures { green, yellow, red, guard_tripped } = *figures;
    SessionCounts { green: green.sessions, yellow: yellow.sessions, red: red.sessions, guard_tripped }
}

fn savings(gross_tokens: i64, calls: &[CallSums], rows: &[BucketRow], saved: Option<f64>) -> Savings {
    let model_tokens: i64 = calls.iter().map(|sums| sums.input_tokens + sums.output_tokens).sum();
    let cost_usd = cost(calls.iter());
    // A sum of no floats is a negative zero.
    let cache_cost_usd = rows.iter().fold(0.0, |sum, row| sum + row.cache_usd);
    let net_usd = saved.map(|saved| saved - cost_usd - cache_cost_usd);
    Savings { gross_tokens, net_tokens: gross_tokens - model_tokens, cost_usd, cache_cost_usd, net_usd }
}

fn cost<'a>(calls: impl Iterator<Item = &'a CallSums>) -> f64 {
    calls.fold(NanoUsd::default(), |sum, one| sum.plus(NanoUsd::new(one.nano_usd))).usd()
}

/// The buckets of each upstream and model together.
fn upstreams(calls: &[CallSums], times: Vec<CallTimes>) -> Vec<UpstreamStats> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&CallSums>> = BTreeMap::new();
    for sums in calls {
        by_name.entry((&sums.upstream, &sums.model)).or_default().push(sums);
    }
    let mut times: BTreeMap<(String, String), CallTimes> =
        times.into_iter().map(|times| ((times.upstream.clone(), times.model.clone()), times)).collect();
    let of = |((name, model), sums): ((&str, &str), Vec<&CallSums>)| {
        let times = times.remove(&(name.to_owned(), model.to_owned()));
        let sum = |figure: fn(&CallSums) -> i64| sums.iter().map(|one| figure(one)).sum();
        UpstreamStats {
            name: name.to_owned(),
            model: (!model.is_empty()).then(|| model.to_owned()),
            calls: sum(|one| one.calls),
            errors: sum(|one| one.errors),
            input_tokens: sum(|one| one.input_tokens),
            output_tokens: sum(|one| one.output_tokens),
            cached_tokens: sum(|one| one.cached_tokens),
            cache_write_tokens: sum(|one| one.cache_write_tokens),
            cost_usd: cost(sums.iter().copied()),
            p50_ms: times.as_ref().and_then(|times| times.p50_ms),
            p95_ms: times.as_ref().and_then(|times| times.p95_ms),
        }
    };
    let mut upstreams: Vec<UpstreamStats> = by_name.into_iter().map(of).collect();
    upstreams.sort_by_key(|one| std::cmp::Reverse(one.calls));
    upstreams.truncate(MOST_UPSTREAMS);
    upstreams
}

fn series(
    rows: &[BucketRow],
    calls: &[CallSums],
    since: DateTime<Utc>,
    bucket_seconds: i64,
    buckets: i64,
) -> Vec<StatsBucket> {
    let bucket = |place: i64| {
        // What ends while this is added up is in the last bucket.
        let own = || rows.iter().filter(move |row| row.bucket.min(buckets - 1) == place);
        let made = calls.iter().filter(move |sums| sums.bucket.min(buckets - 1) == place);
        let of = |status: &str| own().filter(|row| row.status == status).map(|row| row.compactions).sum();
        StatsBucket {
            at: since + TimeDelta::seconds(place * bucket_seconds),
            succeeded: of("succeeded"),
            skipped: of("skipped"),
            failed: of("failed"),
            cancelled: of("cancelled"),
            tokens_shed: own().map(|row| row.tokens_shed).sum(),
            cost_usd: cost(made),
            cache_cost_usd: own().fold(0.0, |sum, row| sum + row.cache_usd),
        }
    };
    (0..buckets).map(bucket).collect()
}

impl From<QueueRow> for QueueStats {
    fn from(row: QueueRow) -> QueueStats {
        let QueueRow { pending, running, dead, oldest_age_seconds } = row;
        QueueStats { pending, running, dead, oldest_age_seconds }
    }
}
