//! The queue: one row of `jobs` per piece of background work.
//!
//! A claim gives a lease: a random token that ends at a time of the database's clock. Whatever a worker writes for
//! a job names the token, so a worker whose lease was lost changes nothing. Attempts are counted by the claim.
//! Lock order, here and in callers: session, job, compaction.

pub mod listed;
mod sql;

use std::time::Duration;

use crate::store::transaction;
use crate::trace::TraceContext;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, Result};
use strum::VariantArray as _;
use uuid::Uuid;

/// The channel on which a new job is announced. It saves latency; polling is what finds every job.
pub const CHANNEL: &str = "contextd_jobs";

/// Kind of work that a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type, strum::IntoStaticStr, strum::VariantArray)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum JobKind {
    /// Carries out the compaction that `compaction_id` names.
    Compact,
    /// Counts a session's tokens again under another estimator.
    Recount,
    /// Summarises the branch that a session is about to leave.
    Depart,
}

/// A job to be queued.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: Uuid,
    pub session_id: Uuid,
    pub kind: JobKind,
    pub compaction_id: Option<Uuid>,
    /// From now until the job is due.
    pub delay: Duration,
    /// Attempts before the job is dead.
    pub max_attempts: i32,
    /// Of the work that queues it.
    pub cause: Option<TraceContext>,
}

/// Outcome of queueing a [`NewJob`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    New,
    /// The session has a live job of this kind. `rerun`: it is running and will run once more after this.
    Existing {
        rerun: bool,
    },
}

/// A claimed job.
#[derive(Debug, Clone, FromRow)]
pub struct Job {
    pub tenant: Uuid,
    pub id: Uuid,
    pub session_id: Uuid,
    pub kind: JobKind,
    pub compaction_id: Option<Uuid>,
    /// This attempt's number, from 1.
    pub attempts: i32,
    pub token: Uuid,
    /// From when it was due until it was claimed.
    pub waited_seconds: f64,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

/// Proof of the lease, which a worker needs to finish a job: without the current token nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseProof {
    pub job_id: Uuid,
    pub token: Uuid,
}

impl Job {
    pub fn proof(&self) -> LeaseProof {
        LeaseProof { job_id: self.id, token: self.token }
    }

    /// Trace context of whoever asked for it last.
    pub fn cause(&self) -> Option<TraceContext> {
        TraceContext::parse(self.traceparent.as_deref()?, self.tracestate.as_deref())
    }
}

/// How a finished job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completed {
    /// The job is gone.
    Done,
    /// The job was asked for again while it ran: it is pending anew, its attempts unspent.
    Rerun,
    /// Somebody else has the job, or it was cancelled: roll back.
    LeaseLost,
}

/// Outcome of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retried {
    Pending,
    /// The attempts are spent; the job stays as a dead letter.
    Dead,
    LeaseLost,
}

/// A job whose lease had ended.
#[derive(Debug, Clone, FromRow)]
pub struct Reaped {
    status: String,
    /// Of its compaction, if it is of one.
    pub strategy: Option<String>,
    pub trigger: Option<String>,
}

impl Reaped {
    /// Its attempts are spent: its compaction has failed.
    pub fn is_dead(&self) -> bool {
        self.status == "dead"
    }
}

/// Queues a job within the caller's transaction: it exists, and is announced, when that commits.
pub async fn enqueue(connection: &mut PgConnection, tenant: Uuid, job: &NewJob) -> Result<Enqueued> {
    let (id, rerun): (Uuid, bool) = sqlx::query_as(sql::ENQUEUE)
        .bind(tenant)
        .bind(job.id)
        .bind(job.session_id)
        .bind(job.kind)
        .bind(job.compaction_id)
        .bind(job.delay.as_secs_f64())
        .bind(job.max_attempts)
        .bind(job.cause.as_ref().map(TraceContext::traceparent))
        .bind(job.cause.as_ref().and_then(TraceContext::tracestate))
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(connection).await?;
    Ok(if id == job.id { Enqueued::New } else { Enqueued::Existing { rerun } })
}

/// Makes a session's compaction due that was queued for later. A job between two attempts keeps its pause.
pub async fn make_due(connection: &mut PgConnection, tenant: Uuid, session_id: Uuid) -> Result<()> {
    let hurried = sqlx::query(sql::HURRY).bind(tenant).bind(session_id).execute(&mut *connection).await?;
    if hurried.rows_affected() > 0 {
        sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(connection).await?;
    }
    Ok(())
}

/// Claims up to `limit` due jobs, one tenant after the other in the order of their ids, beginning with `from` and
/// wrapping around; within a tenant the longest due first. No tenant gets a second job before each has its first.
pub async fn claim(pool: &PgPool, limit: i64, lease: Duration, from: Uuid) -> Result<Vec<Job>> {
    let mut tx = transaction::begin(pool).await?;
    let mut jobs = claim_from(&mut tx, limit, lease, from).await?;
    let open = limit - i64::try_from(jobs.len()).unwrap_or(limit);
    if open > 0 && !from.is_nil() {
        jobs.extend(claim_from(&mut tx, open, lease, Uuid::nil()).await?);
    }
    tx.commit().await?;
    Ok(jobs)
}

/// Where the claim after this one begins: behind the tenant served last.
pub fn next_tenant(claimed: &[Job], from: Uuid) -> Uuid {
    claimed.last().map_or(from, |job| Uuid::from_u128(job.tenant.as_u128().wrapping_add(1)))
}

async fn claim_from(connection: &mut PgConnection, limit: i64, lease: Duration, from: Uuid) -> Result<Vec<Job>> {
    let kinds: Vec<&str> = JobKind::VARIANTS.iter().map(|kind| kind.into_str()).collect();
    sqlx::query_as(sql::CLAIM)
        .bind(from)
        .bind(limit + sql::WINDOW)
        .bind(limit)
        .bind(kinds)
        .bind(lease.as_secs_f64())
        .fetch_all(connection)
        .await
}

/// Extends the lease from now. False: the lease is lost, the work is in vain.
pub async fn heartbeat(executor: impl PgExecutor<'_>, job: &Job, lease: Duration) -> Result<bool> {
    let result = sqlx::query(sql::HEARTBEAT)
        .bind(job.tenant)
        .bind(job.id)
        .bind(job.token)
        .bind(lease.as_secs_f64())
        .execute(executor)
        .await?;
    Ok(result.rows_affected() == 1)
}

/// Gives a job back unfinished; the attempt is not spent. False: the lease was lost.
pub async fn release(executor: impl PgExecutor<'_>, job: &Job) -> Result<bool> {
    let moved: Option<String> =
        sqlx::query_scalar(sql::RELEASE).bind(job.tenant).bind(job.id).bind(job.token).fetch_optional(executor).await?;
    Ok(moved.is_some())
}

/// Records a failed attempt: the job is due again after `delay`, or dead when its attempts are spent; its
/// compaction is queued again or failed. `error` is a sentence for people.
pub async fn retry(executor: impl PgExecutor<'_>, job: &Job, error: &str, delay: Duration) -> Result<Retried> {
    let moved: Option<String> = sqlx::query_scalar(sql::RETRY)
        .bind(job.tenant)
        .bind(job.id)
        .bind(job.token)
        .bind(error.replace('\0', ""))
        .bind(delay.as_secs_f64())
        .fetch_optional(executor)
        .await?;
    Ok(match moved.as_deref() {
        None => Retried::LeaseLost,
        Some("dead") => Retried::Dead,
        Some(_) => Retried::Pending,
    })
}

/// How far the job had come when its progress was last noted.
pub async fn progress(executor: impl PgExecutor<'_>, tenant: Uuid, lease: LeaseProof) -> Result<Option<String>> {
    let noted: Option<Option<String>> = sqlx::query_scalar(sql::PROGRESS)
        .bind(tenant)
        .bind(lease.job_id)
        .bind(lease.token)
        .fetch_optional(executor)
        .await?;
    Ok(noted.flatten())
}

/// Notes how far the job has come, in its own words. False: the lease is lost.
pub async fn note_progress(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    lease: LeaseProof,
    progress: &str,
) -> Result<bool> {
    let done = sqlx::query(sql::NOTE_PROGRESS)
        .bind(tenant)
        .bind(lease.job_id)
        .bind(lease.token)
        .bind(progress)
        .execute(executor)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The tenants and sessions of recounts whose attempts are spent.
pub async fn dead_recounts(executor: impl PgExecutor<'_>, limit: i64) -> Result<Vec<(Uuid, Uuid)>> {
    sqlx::query_as(sql::DEAD_RECOUNTS).bind(limit).fetch_all(executor).await
}

/// Removes a session's recounts whose attempts are spent.
pub async fn forget_dead_recount(executor: impl PgExecutor<'_>, tenant: Uuid, session_id: Uuid) -> Result<()> {
    sqlx::query(sql::FORGET_DEAD_RECOUNT).bind(tenant).bind(session_id).execute(executor).await?;
    Ok(())
}

/// Finishes a job in the transaction that writes its result.
pub async fn complete(connection: &mut PgConnection, tenant: Uuid, lease: LeaseProof) -> Result<Completed> {
    // The lock comes first: a request for a rerun may be in the middle of its own transaction.
    let rerun: Option<bool> = sqlx::query_scalar(sql::LOCK)
        .bind(tenant)
        .bind(lease.job_id)
        .bind(lease.token)
        .fetch_optional(&mut *connection)
        .await?;
    let (statement, completed) = match rerun {
        None => return Ok(Completed::LeaseLost),
        Some(true) => (sql::RERUN, Completed::Rerun),
        Some(false) => (sql::FINISH, Completed::Done),
    };
    sqlx::query(statement).bind(tenant).bind(lease.job_id).execute(connection).await?;
    Ok(completed)
}

/// Removes the live job of a compaction; a worker that runs it learns so from its heartbeat or its commit.
pub async fn cancel(
    executor: impl PgExecutor<'_>,
    tenant: Uuid,
    session_id: Uuid,
    compaction_id: Uuid,
) -> Result<bool> {
    let result = sqlx::query(sql::CANCEL).bind(tenant).bind(session_id).bind(compaction_id).execute(executor).await?;
    Ok(result.rows_affected() > 0)
}

/// Returns jobs whose lease has ended to the queue, their attempt spent.
pub async fn reap(executor: impl PgExecutor<'_>) -> Result<Vec<Reaped>> {
    sqlx::query_as(sql::REAP).fetch_all(executor).await
}

/// Returns every running job, whatever its lease: for a start that finds no other worker alive. One that lives all
/// the same loses its lease and writes nothing.
pub async fn requeue(executor: impl PgExecutor<'_>) -> Result<u64> {
    let moved: Vec<String> = sqlx::query_scalar(sql::TAKE_BACK).fetch_all(executor).await?;
    Ok(moved.len() as u64)
}

/// A tenant's pending and running jobs.
pub async fn live(executor: impl PgExecutor<'_>, tenant: Uuid) -> Result<i64> {
    sqlx::query_scalar(sql::LIVE).bind(tenant).fetch_one(executor).await
}
