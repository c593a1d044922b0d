//! Figures over all sessions and all jobs: counted in bounded pages by one process at a time, kept in a small table, read by
//! everybody. Rows of the nil tenant are of all tenants together, and hold the lease of the process that counts.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{PgExecutor, PgPool, Result};
use uuid::Uuid;

use crate::domain::tokens::accounting::FillState;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type, strum::IntoStaticStr, strum::VariantArray)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Subject {
    Sessions,
    Queue,
}

/// Sessions and the tokens of their contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFigures {
    pub sessions: i64,
    pub tokens: i64,
}

/// Sessions by fill state, and those whose guard is tripped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFigures {
    pub green: StateFigures,
    pub yellow: StateFigures,
    pub red: StateFigures,
    pub guard_tripped: i64,
}

/// Jobs by status, and for how long the oldest due one had been due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueFigures {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    pub oldest_age_seconds: f64,
}

/// Figures and when they were taken: the time at which their count began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken<F> {
    pub at: DateTime<Utc>,
    pub figures: F,
}

impl SessionFigures {
    pub fn of(&self, state: FillState) -> StateFigures {
        match state {
            FillState::Green => self.green,
            FillState::Yellow => self.yellow,
            FillState::Red => self.red,
        }
    }

    pub fn sessions(&self) -> i64 {
        [self.green, self.yellow, self.red].iter().fold(0, |sum, state| sum.saturating_add(state.sessions))
    }

    pub fn tokens(&self) -> i64 {
        [self.green, self.yellow, self.red].iter().fold(0, |sum, state| sum.saturating_add(state.tokens))
    }

    /// Adds sessions of one state, by its word. One that is none of ours counts nowhere.
    pub fn add(&mut self, state: &str, sessions: i64, tokens: i64, guard_tripped: i64) {
        let state = match state.parse() {
            Ok(FillState::Green) => &mut self.green,
            Ok(FillState::Yellow) => &mut self.yellow,
            Ok(FillState::Red) => &mut self.red,
            Err(_) => return,
        };
        state.sessions = state.sessions.saturating_add(sessions);
        state.tokens = state.tokens.saturating_add(tokens);
        self.guard_tripped = self.guard_tripped.saturating_add(guard_tripped);
    }
}

/// Sessions of one tenant and one fill state within a page. Erased ones are looked at and not counted.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct SessionGroup {
    pub tenant_id: Uuid,
    pub state: String,
    pub sessions: i64,
    pub tokens: i64,
    pub guard_tripped: i64,
    pub looked_at: i64,
    pub last_id: Uuid,
}

/// The sessions behind a key, `limit` of them at most, in groups; the tenants in their order.
pub async fn sessions_page(
    executor: impl PgExecutor<'_>,
    after: (Uuid, Uuid),
    limit: i64,
) -> Result<Vec<SessionGroup>> {
    sqlx::query_as(
        "WITH page AS (
            SELECT tenant_id, id, fill_state, tokens, guard_tripped, deleted_at IS NULL AS counts FROM sessions
            WHERE (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT $3
         )
         SELECT tenant_id, fill_state AS state, count(*) FILTER (WHERE counts) AS sessions,
            least(coalesce(sum(tokens) FILTER (WHERE counts), 0), 9223372036854775807)::bigint AS tokens,
            count(*) FILTER (WHERE counts AND guard_tripped) AS guard_tripped, count(*) AS looked_at,
            (array_agg(id ORDER BY id DESC))[1] AS last_id
         FROM page GROUP BY tenant_id, fill_state ORDER BY tenant_id",
    )
    .bind(after.0)
    .bind(after.1)
    .bind(limit)
    .fetch_all(executor)
    .await
}

/// A page of the queue. `last`: its last job, where there is one.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct QueuePage {
    pub pending: i64,
    pub running: i64,
    pub dead: i64,
    pub looked_at: i64,
    pub oldest_run_at: Option<DateTime<Utc>>,
    pub last_tenant: Option<Uuid>,
    pub last_id: Option<Uuid>,
    pub now: DateTime<Utc>,
}

/// The jobs behind a key, `limit` of them at most.
pub async fn queue_page(executor: impl PgExecutor<'_>, after: (Uuid, Uuid), limit: i64) -> Result<QueuePage> {
    sqlx::query_as(
        "WITH page AS (
            SELECT tenant_id, id, status, run_at FROM jobs
            WHERE (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT $3
         ), last AS (SELECT tenant_id, id FROM page ORDER BY tenant_id DESC, id DESC LIMIT 1)
         SELECT count(*) FILTER (WHERE status = 'pending') AS pending,
            count(*) FILTER (WHERE status = 'running') AS running,
            count(*) FILTER (WHERE status = 'dead') AS dead, count(*) AS looked_at,
            min(run_at) FILTER (WHERE status = 'pending') AS oldest_run_at,
            (SELECT tenant_id FROM last) AS last_tenant, (SELECT id FROM last) AS last_id, now() AS now
         FROM page",
    )
    .bind(after.0)
    .bind(after.1)
    .bind(limit)
    .fetch_one(executor)
    .await
}

/// Takes or keeps the right to count, and gives the database's time. `None`: another process has it. Nothing is written
/// while more than half of the lease is left.
pub async fn hold(pool: &PgPool, subject: Subject, token: Uuid, lease: Duration) -> Result<Option<DateTime<Utc>>> {
    let (now, is_taken, is_ours): (DateTime<Utc>, bool, bool) = sqlx::query_as(
        "SELECT now(), coalesce(bool_or(lease_token <> $3 AND lease_until > now()), false),
            coalesce(bool_or(lease_token = $3 AND lease_until > now() + make_interval(secs => $4) / 2), false)
         FROM censuses WHERE tenant_id = $1 AND subject = $2",
    )
    .bind(Uuid::nil())
    .bind(subject)
    .bind(token)
    .bind(lease.as_secs_f64())
    .fetch_one(pool)
    .await?;
    if is_taken || is_ours {
        return Ok((!is_taken).then_some(now));
    }
    sqlx::query_scalar(
        "INSERT INTO censuses (tenant_id, subject, lease_token, lease_until)
         VALUES ($1, $2, $3, now() + make_interval(secs => $4))
         ON CONFLICT (tenant_id, subject) DO UPDATE
            SET lease_token = excluded.lease_token, lease_until = excluded.lease_until
            WHERE censuses.lease_token = excluded.lease_token OR censuses.lease_until <= now()
               OR censuses.lease_until IS NULL
         RETURNING now()",
    )
    .bind(Uuid::nil())
    .bind(subject)
    .bind(token)
    .bind(lease.as_secs_f64())
    .fetch_optional(pool)
    .await
}

/// Gives the right to count back.
pub async fn release(executor: impl PgExecutor<'_>, token: Uuid) -> Result<()> {
    sqlx::query("UPDATE censuses SET lease_token = NULL, lease_until = NULL WHERE tenant_id = $1 AND lease_token = $2")
        .bind(Uuid::nil())
        .bind(token)
        .execute(executor)
        .await?;
    Ok(())
}

/// Keeps figures of tenants, or of all (nil). The commit is not waited for: what a crash loses is counted anew.
pub async fn put(
    executor: impl PgExecutor<'_>,
    subject: Subject,
    taken_at: DateTime<Utc>,
    figures: &[(Uuid, String)],
) -> Result<()> {
    let (tenants, texts): (Vec<Uuid>, Vec<&str>) = figures.iter().map(|(tenant, text)| (tenant, text.as_str())).unzip();
    sqlx::query(
        "INSERT INTO censuses (tenant_id, subject, taken_at, figures)
         SELECT c.tenant_id, $1, $2, c.figures
         FROM unnest($3::uuid[], $4::text[]) c (tenant_id, figures), set_config('synchronous_commit', 'off', true)
         ON CONFLICT (tenant_id, subject) DO UPDATE SET taken_at = excluded.taken_at, figures = excluded.figures
            WHERE censuses.taken_at IS NULL OR censuses.taken_at <= excluded.taken_at",
    )
    .bind(subject)
    .bind(taken_at)
    .bind(tenants)
    .bind(texts)
    .execute(executor)
    .await?;
    Ok(())
}

/// Forgets the figures of tenants without sessions: those after `after`, before `before` where it is given, that this
/// count has not come upon.
pub async fn forget_between(
    executor: impl PgExecutor<'_>,
    after: Uuid,
    before: Option<Uuid>,
    taken_at: DateTime<Utc>,
) -> Result<()> {
    sqlx::query(
        "DELETE FROM censuses
         WHERE subject = $1 AND tenant_id > $2 AND ($3::uuid IS NULL OR tenant_id < $3) AND taken_at < $4",
    )
    .bind(Subject::Sessions)
    .bind(after)
    .bind(before)
    .bind(taken_at)
    .execute(executor)
    .await?;
    Ok(())
}

/// The figures over all tenants as far as they were ever taken, as they are stored.
pub async fn totals(executor: impl PgExecutor<'_>) -> Result<Vec<(Subject, DateTime<Utc>, String)>> {
    sqlx::query_as(
        "SELECT subject, taken_at, figures FROM censuses
         WHERE tenant_id = $1 AND taken_at IS NOT NULL AND figures IS NOT NULL",
    )
    .bind(Uuid::nil())
    .fetch_all(executor)
    .await
}

/// The figures of a tenant's sessions, if they were ever taken, as they are stored.
pub async fn of_tenant(executor: impl PgExecutor<'_>, tenant: Uuid) -> Result<Option<(DateTime<Utc>, String)>> {
    sqlx::query_as(
        "SELECT taken_at, figures FROM censuses
         WHERE tenant_id = $1 AND subject = $2 AND taken_at IS NOT NULL AND figures IS NOT NULL",
    )
    .bind(tenant)
    .bind(Subject::Sessions)
    .fetch_optional(executor)
    .await
}
