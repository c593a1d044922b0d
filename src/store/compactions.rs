//! Compaction jobs: the truth for status and result.

pub mod dead_letters;
mod figures;
mod spent;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::events::sql::{announced, status_data, status_events, status_kind, told_columns};
use crate::domain::compaction::result::Reason;
use crate::domain::model::strategy::Strategy;
use crate::domain::tokens::accounting::FillState;

pub use figures::note_figures;
pub use spent::SpentRow;

#[derive(Debug, Clone, sqlx::FromRow)]
pub struct CompactionRow {
    pub id: Uuid,
    pub session_id: Uuid,
    pub status: String,
    pub trigger: String,
    pub strategy: String,
    pub request: String,
    pub attempts: i32,
    pub error: Option<String>,
    pub result: Option<String>,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub reverted_at: Option<DateTime<Utc>>,
    pub snapshot_before: Option<String>,
    pub snapshot_after: Option<String>,
    /// A summary is ready and waits to be committed; see [`candidate`].
    pub prepared: bool,
    #[sqlx(flatten)]
    pub spent: SpentRow,
}

impl CompactionRow {
    /// Of a compaction that has no row.
    pub fn unqueued(id: Uuid, session_id: Uuid, strategy: &str, now: DateTime<Utc>) -> CompactionRow {
        CompactionRow {
            id,
            session_id,
            status: "running".to_owned(),
            trigger: "auto".to_owned(),
            strategy: strategy.to_owned(),
            request: "{}".to_owned(),
            attempts: 0,
            error: None,
            result: None,
            created_at: now,
            started_at: None,
            finished_at: None,
            reverted_at: None,
            snapshot_before: None,
            snapshot_after: None,
            prepared: false,
            spent: SpentRow::default(),
        }
    }
}

/// All columns but the candidate itself, which may be large.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, session_id, status, trigger, strategy, request, attempts, error, result, created_at, started_at,
                finished_at, reverted_at, snapshot_before, snapshot_after, candidate IS NOT NULL AS prepared, calls, errors,
                input_tokens, output_tokens, cached_tokens, cache_write_tokens, nano_usd
             FROM compactions WHERE tenant_id = $1 AND ",
            $rest
        )
    };
}

/// A compaction about to be queued.
#[derive(Debug, Clone)]
pub struct NewCompaction {
    pub id: Uuid,
    pub session_id: Uuid,
    pub trigger: &'static str,
    pub strategy: &'static str,
    pub request: String,
    /// The session's snapshot as JSON: why it is started.
    pub snapshot: String,
    pub now: DateTime<Utc>,
}

const INSERT: &str = concat!(
    "WITH queued AS (
        INSERT INTO compactions AS c (tenant_id, id, session_id, status, trigger, strategy, request, created_at,
            snapshot_before)
        VALUES ($1, $2, $3, 'queued', $4, $5, $6, $7, $8)
        ON CONFLICT (tenant_id, session_id) WHERE status IN ('queued', 'running') DO NOTHING
        RETURNING ",
    told_columns!(),
    "), told AS (",
    status_events!("queued"),
    ") SELECT count(*) FROM queued"
);

/// Inserts it and tells of it. False when the session has a live one already.
pub async fn insert(executor: impl PgExecutor<'_>, tenant: Uuid, new: &NewCompaction) -> sqlx::Result<bool> {
    let inserted: i64 = sqlx::query_scalar(INSERT)
        .bind(tenant)
        .bind(new.id)
        .bind(new.session_id)
        .bind(new.trigger)
        .bind(new.strategy)
        .bind(&new.request)
        .bind(new.now)
        .bind(&new.snapshot)
        .fetch_one(executor)
        .await?;
    Ok(inserted == 1)
}

/// A compaction that was carried out within the call that asked for it. `new.snapshot` is not read.
pub async fn insert_ended(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    new: &NewCompaction,
    ending: &Ending<'_>,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO compactions (tenant_id, id, session_id, status, trigger, strategy, request, attempts, result,
            created_at, started_at, finished_at, snapshot_before, snapshot_after)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $9, $10, $11, $12)",
    )
    .bind(tenant)
    .bind(new.id)
    .bind(new.session_id)
    .bind(ending.status)
    .bind(new.trigger)
    .bind(new.strategy)
    .bind(&new.request)
    .bind(ending.result)
    .bind(new.now)
    .bind(ending.now)
    .bind(ending.snapshots.map(|(before, _)| before))
    .bind(ending.snapshots.map(|(_, after)| after))
    .execute(executor)
    .await?;
    Ok(())
}

/// `None` too where its session is erased.
pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<CompactionRow>> {
    sqlx::query_as(select!(
        "id = $2 AND EXISTS (
            SELECT FROM sessions s WHERE s.tenant_id = $1 AND s.id = compactions.session_id AND s.deleted_at IS NULL)"
    ))
    .bind(tenant)
    .bind(id)
    .fetch_optional(executor)
    .await
}

/// The session's queued or running compaction.
pub async fn live(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
) -> sqlx::Result<Option<CompactionRow>> {
    sqlx::query_as(select!("session_id = $2 AND status IN ('queued', 'running')"))
        .bind(tenant)
        .bind(session_id)
        .fetch_optional(executor)
        .await
}

/// Which compactions are listed: those that are all of what is named.
#[derive(Debug, Clone, Default)]
pub struct CompactionFilter {
    pub session_id: Option<Uuid>,
    pub status: Option<&'static str>,
    pub trigger: Option<&'static str>,
    pub strategy: Option<&'static str>,
    pub skip_reason: Option<&'static str>,
    /// Who was asked for the summary; where another stood in, the one that failed.
    pub upstream: Option<String>,
    /// Asked for at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Whether it is written and waits for the context to turn red.
    pub prepared: Option<bool>,
}

/// Those of sessions that are there, newest first; `before` is exclusive. Those that fit in `bytes`, at least one, and how
/// many there are within the limit.
pub async fn list(
    connection: &mut sqlx::PgConnection,
    tenant: Uuid,
    filter: &CompactionFilter,
    before: Option<Uuid>,
    limit: i64,
    bytes: i64,
) -> sqlx::Result<(Vec<CompactionRow>, usize)> {
    let mut query = sqlx::QueryBuilder::new(
        "SELECT c.id, octet_length(c.request)::bigint + coalesce(octet_length(c.result), 0)
         FROM compactions c JOIN sessions s ON s.tenant_id = c.tenant_id AND s.id = c.session_id
         WHERE s.deleted_at IS NULL AND c.tenant_id = ",
    );
    query.push_bind(tenant);
    for (condition, word) in [
        (" AND c.status = ", filter.status),
        (" AND c.trigger = ", filter.trigger),
        (" AND c.strategy = ", filter.strategy),
        (" AND c.skip_reason = ", filter.skip_reason),
        (" AND c.upstream = ", filter.upstream.as_deref()),
    ] {
        if let Some(word) = word {
            query.push(condition).push_bind(word);
        }
    }
    match filter.prepared {
        None => {}
        // Ended ones have none: read by the index of those that have not.
        Some(true) => drop(query.push(" AND c.status IN ('queued', 'running') AND c.candidate IS NOT NULL")),
        Some(false) => drop(query.push(" AND c.candidate IS NULL")),
    }
    if let Some(session_id) = filter.session_id {
        query.push(" AND c.session_id = ").push_bind(session_id);
    }
    if let Some(since) = filter.since {
        // The ids, in whose order they are read, begin with a time: bounded by it, no older row is read.
        query.push(" AND c.created_at >= ").push_bind(since);
        query.push(" AND c.id >= ").push_bind(least_id_since(since));
    }
    if let Some(before) = before {
        query.push(" AND c.id < ").push_bind(before);
    }
    query.push(" ORDER BY c.id DESC LIMIT ").push_bind(limit);
    let sizes: Vec<(Uuid, i64)> = query.build_query_as().fetch_all(&mut *connection).await?;
    let mut left = bytes;
    let fit = sizes.iter().enumerate().take_while(|(n, (_, size))| {
        left -= size;
        *n == 0 || left >= 0
    });
    let ids: Vec<Uuid> = fit.map(|(_, (id, _))| *id).collect();
    let rows =
        sqlx::query_as(select!("id = ANY ($2) ORDER BY id DESC")).bind(tenant).bind(ids).fetch_all(connection).await?;
    Ok((rows, sizes.len()))
}

/// The most by which the time in an id, in milliseconds, is before the row's `created_at`: the two are read from the
/// clock one after the other, and a busy machine may lie between.
const ID_LAG_MS: i64 = 60_000;

/// No compaction that was created at this time or later has a lesser id: a UUIDv7 begins with its milliseconds.
fn least_id_since(time: DateTime<Utc>) -> Uuid {
    let millis = time.timestamp_millis().saturating_sub(ID_LAG_MS);
    Uuid::from_u128(u128::from(u64::try_from(millis).unwrap_or(0)) << 80)
}

/// How a compaction ended.
#[derive(Debug, Clone)]
pub struct Ending<'a> {
    pub status: &'static str,
    pub strategy: Option<&'a str>,
    pub error: Option<&'a str>,
    pub result: Option<&'a str>,
    /// Snapshots as JSON, right before and right after; `None` leaves what is there.
    pub snapshots: Option<(&'a str, &'a str)>,
    pub now: DateTime<Utc>,
}

/// Result of a compaction as the event of its end tells it: all but the long parts.
#[derive(Serialize, Deserialize)]
struct EndedEvent {
    entry_id: Option<Uuid>,
    strategy_used: Strategy,
    tokens_before: u64,
    tokens_after: u64,
    tokens_saved: u64,
    savings_pct: f64,
    skip_reason: Option<Reason>,
    final_state: FillState,
    duration_ms: u64,
}

impl EndedEvent {
    fn of(result: &str) -> Option<String> {
        let outcome: EndedEvent = serde_json::from_str(result).ok()?;
        serde_json::to_string(&outcome).ok()
    }
}

/// The snapshots come before the end that they belong to.
const FINISH: &str = concat!(
    "WITH ended AS (
        UPDATE compactions c SET status = $3, error = $4, result = $5, finished_at = $6,
            started_at = coalesce(started_at, $6), strategy = coalesce($7, strategy), candidate = NULL,
            snapshot_before = coalesce($8, snapshot_before), snapshot_after = coalesce($9, snapshot_after)
         WHERE tenant_id = $1 AND id = $2 AND status IN ('queued', 'running')
        RETURNING ",
    told_columns!(),
    "), told AS (
        INSERT INTO events (tenant_id, session_id, compaction_id, kind, phase, data)
        SELECT c.tenant_id, c.session_id, c.id, event.kind, event.phase, event.data
          FROM ended c CROSS JOIN LATERAL (VALUES
               (1, 'snapshot', 'before', $8::text), (2, 'snapshot', 'after', $9::text), (3, ",
    status_kind!(),
    ", NULL, ",
    status_data!("$10::json"),
    ")) event (place, kind, phase, data)
         WHERE event.data IS NOT NULL ORDER BY event.place",
    announced!(),
    ") SELECT count(*) FROM ended"
);

/// Ends a live compaction and tells of it. False when it has ended already.
pub async fn finish(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid, ending: &Ending<'_>) -> sqlx::Result<bool> {
    let outcome = ending.result.and_then(EndedEvent::of);
    let ended: i64 = sqlx::query_scalar(FINISH)
        .bind(tenant)
        .bind(id)
        .bind(ending.status)
        .bind(ending.error)
        .bind(ending.result)
        .bind(ending.now)
        .bind(ending.strategy)
        .bind(ending.snapshots.map(|(before, _)| before))
        .bind(ending.snapshots.map(|(_, after)| after))
        .bind(outcome)
        .fetch_one(executor)
        .await?;
    Ok(ended == 1)
}

/// Keeps the evidence of a compaction's summary, as JSON, with its row.
pub async fn keep_evidence(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid, evidence: &str) -> sqlx::Result<()> {
    sqlx::query("UPDATE compactions SET evidence = $3 WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .bind(evidence)
        .execute(executor)
        .await?;
    Ok(())
}

/// The evidence that [`keep_evidence`] kept.
pub async fn evidence(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<String>> {
    let kept: Option<Option<String>> =
        sqlx::query_scalar("SELECT evidence FROM compactions WHERE tenant_id = $1 AND id = $2")
            .bind(tenant)
            .bind(id)
            .fetch_optional(executor)
            .await?;
    Ok(kept.flatten())
}

/// Keeps a prepared compaction, as JSON, with its row. False when it has ended already.
pub async fn keep_candidate(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    candidate: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "UPDATE compactions SET candidate = $3, error = NULL
         WHERE tenant_id = $1 AND id = $2 AND status IN ('queued', 'running')",
    )
    .bind(tenant)
    .bind(id)
    .bind(candidate)
    .execute(executor)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Reads the candidate that [`keep_candidate`] kept, and locks the row until the transaction ends. `None`: the
/// compaction has ended, or has no candidate yet.
pub async fn candidate(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<String>> {
    let kept: Option<Option<String>> = sqlx::query_scalar(
        "SELECT candidate FROM compactions
         WHERE tenant_id = $1 AND id = $2 AND status IN ('queued', 'running') FOR UPDATE",
    )
    .bind(tenant)
    .bind(id)
    .fetch_optional(executor)
    .await?;
    Ok(kept.flatten())
}

/// Notes when a compaction was last taken back.
pub async fn mark_reverted(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE compactions SET reverted_at = $3 WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .bind(now)
        .execute(executor)
        .await?;
    Ok(())
}

/// Returns true if the session's last compaction failed after this time with all its attempts spent.
pub async fn died_lately(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    max_attempts: i32,
    since: DateTime<Utc>,
) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM (
            SELECT status, attempts, finished_at FROM compactions WHERE tenant_id = $1 AND session_id = $2
            ORDER BY id DESC LIMIT 1) last
         WHERE status = 'failed' AND attempts >= $3 AND finished_at > $4)",
    )
    .bind(tenant)
    .bind(session_id)
    .bind(max_attempts)
    .bind(since)
    .fetch_one(executor)
    .await
}

/// The statuses of one tenant's compaction, polled by those who wait.
pub async fn status(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar("SELECT status FROM compactions WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .fetch_optional(executor)
        .await
}
