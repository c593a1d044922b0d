//! Deliveries, sent and still to be sent: one table is the queue and the log. A claim gives a lease, as in
//! [`crate::store::queue`]; what is not finished within it is sent again.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{PgExecutor, Result};
use uuid::Uuid;

use crate::trace::TraceContext;

/// Deliveries at a time to one hook.
const PER_HOOK: i64 = 4;

/// A delivery as the log shows it. `status`: `pending`, `running`, `delivered` or `failed`.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct DeliveryRow {
    pub id: Uuid,
    pub session_id: Uuid,
    pub compaction_id: Option<Uuid>,
    pub event: String,
    pub status: String,
    pub attempts: i32,
    pub next_at: DateTime<Utc>,
    pub response_status: Option<i32>,
    pub response: Option<String>,
    pub error: Option<String>,
    pub duration_ms: Option<i64>,
    /// Outcome of the answer, in the words of the domain; `None` where it is not known, or not asked for.
    pub outcome: Option<String>,
    pub outcome_detail: Option<String>,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// Delivery that is to be sent, or was sent just now.
#[derive(Debug, Clone)]
pub struct NewDelivery<'a> {
    pub id: Uuid,
    pub hook_id: Uuid,
    pub session_id: Uuid,
    pub compaction_id: Option<Uuid>,
    pub event: &'static str,
    /// `None`: too large to be kept.
    pub body: Option<&'a str>,
    pub now: DateTime<Utc>,
    /// Of the work that it tells of.
    pub cause: Option<TraceContext>,
}

/// How an attempt went.
#[derive(Debug, Clone, Default)]
pub struct Attempted {
    pub response_status: Option<i32>,
    /// The beginning of the answer.
    pub response: Option<String>,
    /// `None`: the hook took the message.
    pub error: Option<String>,
    pub duration_ms: i64,
}

/// A claimed delivery and where it goes.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Due {
    pub tenant_id: Uuid,
    pub id: Uuid,
    pub event: String,
    pub body: String,
    /// This attempt's number, from 1.
    pub attempts: i32,
    pub lease_token: Uuid,
    pub url: String,
    pub secret: String,
    pub timeout_ms: i32,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl Due {
    /// Trace context of the work that it tells of.
    pub fn cause(&self) -> Option<TraceContext> {
        TraceContext::parse(self.traceparent.as_deref()?, self.tracestate.as_deref())
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, session_id, compaction_id, event, status, attempts, next_at, response_status, response,
                error, duration_ms, outcome, outcome_detail, created_at, finished_at
             FROM hook_deliveries WHERE tenant_id = $1 AND ",
            $rest
        )
    };
}

/// Queues a delivery: it is due when the transaction commits.
pub async fn enqueue(executor: impl PgExecutor<'_>, tenant: Uuid, new: &NewDelivery<'_>) -> Result<()> {
    insert(executor, tenant, new, "pending", 0, None).await
}

/// Logs a delivery that was made, in `attempts` attempts.
pub async fn log(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    new: &NewDelivery<'_>,
    attempts: i32,
    last: &Attempted,
) -> Result<()> {
    let status = if last.error.is_none() { "delivered" } else { "failed" };
    insert(executor, tenant, new, status, attempts, Some(last)).await
}

async fn insert(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    new: &NewDelivery<'_>,
    status: &str,
    attempts: i32,
    last: Option<&Attempted>,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO hook_deliveries (tenant_id, id, hook_id, session_id, compaction_id, event, body, status, attempts,
            next_at, response_status, response, error, duration_ms, created_at, finished_at,
            traceparent, tracestate)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now(), $10, $11, $12, $13, $14, CASE WHEN $15 THEN now() END, $16, $17)",
    )
    .bind(tenant)
    .bind(new.id)
    .bind(new.hook_id)
    .bind(new.session_id)
    .bind(new.compaction_id)
    .bind(new.event)
    .bind(new.body)
    .bind(status)
    .bind(attempts)
    .bind(last.and_then(|last| last.response_status))
    .bind(last.and_then(|last| last.response.as_deref()))
    .bind(last.and_then(|last| last.error.as_deref()))
    .bind(last.map(|last| last.duration_ms))
    .bind(new.now)
    .bind(last.is_some())
    .bind(new.cause.as_ref().map(TraceContext::traceparent))
    .bind(new.cause.as_ref().and_then(TraceContext::tracestate))
    .execute(executor)
    .await?;
    Ok(())
}

/// Notes what became of the answer to a question.
pub async fn conclude(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    id: Uuid,
    outcome: &str,
    detail: Option<&str>,
) -> Result<()> {
    sqlx::query("UPDATE hook_deliveries SET outcome = $3, outcome_detail = $4 WHERE tenant_id = $1 AND id = $2")
        .bind(tenant)
        .bind(id)
        .bind(outcome)
        .bind(detail)
        .execute(executor)
        .await?;
    Ok(())
}

/// Claims due deliveries, of each hook a few, the longest due first, whoever the tenants are. The first part steps from
/// hook to hook through the index, so that a hook with a million deliveries costs no more than one with a single one.
pub async fn claim(executor: impl PgExecutor<'_>, limit: i64, lease: Duration) -> Result<Vec<Due>> {
    sqlx::query_as(
        "WITH RECURSIVE waiting (tenant_id, hook_id) AS (
            (SELECT tenant_id, hook_id FROM hook_deliveries WHERE status = 'pending'
              ORDER BY tenant_id, hook_id LIMIT 1)
            UNION ALL
            SELECT next.tenant_id, next.hook_id FROM waiting CROSS JOIN LATERAL (
                SELECT tenant_id, hook_id FROM hook_deliveries
                 WHERE status = 'pending' AND (tenant_id, hook_id) > (waiting.tenant_id, waiting.hook_id)
                 ORDER BY tenant_id, hook_id LIMIT 1) next
         ), due AS (
            SELECT first.* FROM waiting CROSS JOIN LATERAL (
                SELECT tenant_id, id, next_at FROM hook_deliveries
                 WHERE tenant_id = waiting.tenant_id AND hook_id = waiting.hook_id AND status = 'pending'
                   AND next_at <= now()
                 ORDER BY next_at, id
                 LIMIT greatest(0, $3 - (
                    SELECT count(*) FROM hook_deliveries
                     WHERE tenant_id = waiting.tenant_id AND hook_id = waiting.hook_id AND status = 'running'))) first
         ), picked AS (
            SELECT d.tenant_id, d.id, h.url, h.secret, h.timeout_ms
              FROM due JOIN hook_deliveries d ON d.tenant_id = due.tenant_id AND d.id = due.id
                       JOIN hooks h ON h.tenant_id = d.tenant_id AND h.id = d.hook_id
             WHERE d.status = 'pending' AND h.enabled
             ORDER BY due.next_at, due.id LIMIT $1
               FOR UPDATE OF d SKIP LOCKED
         )
         UPDATE hook_deliveries d
            SET status = 'running', attempts = d.attempts + 1, lease_token = gen_random_uuid(),
                lease_until = now() + make_interval(secs => $2)
           FROM picked p WHERE d.tenant_id = p.tenant_id AND d.id = p.id
         RETURNING d.tenant_id, d.id, d.event, coalesce(d.body, '') AS body, d.attempts, d.lease_token, p.url, p.secret,
            p.timeout_ms, d.traceparent, d.tracestate",
    )
    .bind(limit)
    .bind(lease.as_secs_f64())
    .bind(PER_HOOK)
    .fetch_all(executor)
    .await
}

/// Records an attempt: the delivery has ended, or is due again after `retry_in`. Without the lease nothing is written.
pub async fn settle(
    executor: impl PgExecutor<'_>,
    due: &Due,
    attempted: &Attempted,
    retry_in: Option<Duration>,
) -> Result<()> {
    let status = match (&attempted.error, retry_in) {
        (None, _) => "delivered",
        (Some(_), Some(_)) => "pending",
        (Some(_), None) => "failed",
    };
    sqlx::query(
        "UPDATE hook_deliveries
            SET status = $4, next_at = now() + make_interval(secs => $5), lease_token = NULL, lease_until = NULL,
                response_status = $6, response = $7, error = $8, duration_ms = $9,
                finished_at = CASE WHEN $4 <> 'pending' THEN now() END
          WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND status = 'running'",
    )
    .bind(due.tenant_id)
    .bind(due.id)
    .bind(due.lease_token)
    .bind(status)
    .bind(retry_in.unwrap_or_default().as_secs_f64())
    .bind(attempted.response_status)
    .bind(&attempted.response)
    .bind(&attempted.error)
    .bind(attempted.duration_ms)
    .execute(executor)
    .await?;
    Ok(())
}

/// Returns deliveries whose lease has ended to the queue; with `all`, those too whose lease has not.
pub async fn requeue(executor: impl PgExecutor<'_>, all: bool) -> Result<u64> {
    let done = sqlx::query(
        "UPDATE hook_deliveries SET status = 'pending', next_at = now(), lease_token = NULL, lease_until = NULL
          WHERE status = 'running' AND ($1 OR lease_until < now())",
    )
    .bind(all)
    .execute(executor)
    .await?;
    Ok(done.rows_affected())
}

/// A hook's deliveries, newest first; `before` is exclusive.
pub async fn list(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    hook_id: Uuid,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<DeliveryRow>> {
    sqlx::query_as(select!("hook_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"))
        .bind(tenant)
        .bind(hook_id)
        .bind(before)
        .bind(limit)
        .fetch_all(executor)
        .await
}

pub async fn get(executor: impl PgExecutor<'_>, tenant: Uuid, hook_id: Uuid, id: Uuid) -> Result<Option<DeliveryRow>> {
    sqlx::query_as(select!("hook_id = $2 AND id = $3"))
        .bind(tenant)
        .bind(hook_id)
        .bind(id)
        .fetch_optional(executor)
        .await
}

/// Makes an ended delivery due again, its attempts unspent. False: it has not ended, or what was sent was not kept.
pub async fn again(executor: impl PgExecutor<'_>, tenant: Uuid, id: Uuid) -> Result<bool> {
    let done = sqlx::query(
        "UPDATE hook_deliveries SET status = 'pending', attempts = 0, next_at = now(), finished_at = NULL
          WHERE tenant_id = $1 AND id = $2 AND status IN ('delivered', 'failed') AND body IS NOT NULL",
    )
    .bind(tenant)
    .bind(id)
    .execute(executor)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets deliveries that ended before this time, of all tenants.
pub async fn purge(executor: impl PgExecutor<'_>, before: DateTime<Utc>) -> Result<u64> {
    let done = sqlx::query("DELETE FROM hook_deliveries WHERE finished_at < $1").bind(before).execute(executor).await?;
    Ok(done.rows_affected())
}
