//! A tenant at a glance.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::service::core::clock;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::queries::Queries;
use crate::service::core::tenant::Tenant;
use crate::service::ops::figures::stored;
use crate::store::censuses::{self, SessionFigures};
use crate::store::stats::{self, BucketRow, MOST_COMPACTIONS, MOST_SESSIONS, QueueRow, UpstreamRow, WorthRow};

const DEFAULT_HOURS: i64 = 24;
/// Buckets where none are asked for.
const DEFAULT_BUCKETS: i64 = 24;
const MOST_BUCKETS: i64 = 500;
const LEAST_BUCKET_SECONDS: i64 = 60;

/// A tenant at a glance: its sessions, its queue as it is, and the newest 100,000 compactions that ended since a time. Up
/// to 50,000 sessions are counted for this answer, more of them in the background (`census_at`). Those that ended before this version was installed count, but have no figures.
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

/// Compactions that ended. `by_reason`: those that were skipped, by their `skip_reason`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompactionCounts {
    pub by_status: BTreeMap<String, i64>,
    pub by_strategy: BTreeMap<String, i64>,
    pub by_reason: BTreeMap<String, i64>,
}

/// What compactions brought. `net_tokens` is without the tokens that models took and wrote for summaries. `net_usd` is
/// what was saved by calls between two compactions of a session less what all of them cost, lost prompt caches
/// included; null where no price of a session's model is known.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Savings {
    pub gross_tokens: i64,
    pub net_tokens: i64,
    pub cost_usd: f64,
    pub net_usd: Option<f64>,
}

/// A model that was asked for summaries. `errors`: compactions for which another had to stand in. `cost_usd` includes
/// what the summaries made the sessions' prompt caches lose; the times are those of all calls of a compaction together.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UpstreamStats {
    pub name: String,
    pub model: Option<String>,
    pub calls: i64,
    pub errors: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cached_tokens: i64,
    pub cost_usd: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// The tenant's jobs; `oldest_age_seconds`: how long the oldest due one has waited.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QueueStats {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    pub oldest_age_seconds: f64,
}

/// Compactions that ended within `bucket_seconds` from `at` on.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StatsBucket {
    pub at: DateTime<Utc>,
    pub succeeded: i64,
    pub skipped: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub tokens_shed: i64,
    pub cost_usd: f64,
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
        let worth = stats::worth(&mut *connection, tenant.0, since).await?;
        let upstreams = stats::upstreams(&mut *connection, tenant.0, since).await?;
        let queue = stats::queue(&mut *connection, tenant.0).await?;
        drop(connection);
        let tokens_shed = rows.iter().map(|row| row.tokens_shed).sum();
        let count = |is_strategy: bool| {
            let rows = words.iter().filter(|row| row.is_strategy == is_strategy);
            rows.map(|row| (row.word.clone(), row.compactions)).collect()
        };
        let mut compactions =
            CompactionCounts { by_strategy: count(true), by_reason: count(false), ..Default::default() };
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
            savings: savings(tokens_shed, &worth),
            upstreams: upstreams.into_iter().map(Into::into).collect(),
            queue: queue.into(),
            series: series(&rows, since, bucket_seconds, buckets),
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

fn savings(gross_tokens: i64, worth: &WorthRow) -> Savings {
    Savings {
        gross_tokens,
        net_tokens: gross_tokens - worth.model_tokens,
        cost_usd: worth.cost_usd,
        net_usd: worth.saved_usd.map(|saved| saved - worth.cost_usd),
    }
}

fn series(rows: &[BucketRow], since: DateTime<Utc>, bucket_seconds: i64, buckets: i64) -> Vec<StatsBucket> {
    let bucket = |place: i64| {
        // What ends while this is added up is in the last bucket.
        let own = || rows.iter().filter(move |row| row.bucket.min(buckets - 1) == place);
        let of = |status: &str| own().filter(|row| row.status == status).map(|row| row.compactions).sum();
        StatsBucket {
            at: since + TimeDelta::seconds(place * bucket_seconds),
            succeeded: of("succeeded"),
            skipped: of("skipped"),
            failed: of("failed"),
            cancelled: of("cancelled"),
            tokens_shed: own().map(|row| row.tokens_shed).sum(),
            cost_usd: own().fold(0.0, |sum, row| sum + row.cost_usd),
        }
    };
    (0..buckets).map(bucket).collect()
}

impl From<UpstreamRow> for UpstreamStats {
    fn from(row: UpstreamRow) -> UpstreamStats {
        let UpstreamRow { name, model, calls, errors, input_tokens, output_tokens, cached_tokens, cost_usd, .. } = row;
        let (p50_ms, p95_ms) = (row.p50_ms, row.p95_ms);
        UpstreamStats {
            name,
            model,
            calls,
            errors,
            input_tokens,
            output_tokens,
            cached_tokens,
            cost_usd,
            p50_ms,
            p95_ms,
        }
    }
}

impl From<QueueRow> for QueueStats {
    fn from(row: QueueRow) -> QueueStats {
        let QueueRow { pending, running, dead, oldest_age_seconds } = row;
        QueueStats { pending, running, dead, oldest_age_seconds }
    }
}
