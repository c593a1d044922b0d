//! What the tests of the queue share: a tenant, sessions, jobs and compactions made by hand.

use std::time::Duration;

use contextd::service::core::clock::new_id;
use contextd::store::censuses;
use contextd::store::queue::{self, Enqueued, Job, JobKind, NewJob};
use sqlx::PgPool;
use uuid::Uuid;

pub const LEASE: Duration = Duration::from_secs(60);

pub async fn tenant(pool: &PgPool) -> Uuid {
    let id = new_id();
    sqlx::query("INSERT INTO tenants VALUES ($1, 'test', now())").bind(id).execute(pool).await.unwrap();
    id
}

pub async fn session(pool: &PgPool, tenant: Uuid) -> Uuid {
    let id = new_id();
    sqlx::query(
        "INSERT INTO sessions (tenant_id, id, metadata, settings, version, next_seq, next_branch, entry_count,
                               leaf_branch, leaf_depth, state, fill_state, tokens, created_at, updated_at)
         VALUES ($1, $2, '{}', '{}', 0, 0, 1, 0, 0, 0, '{}', 'green', 0, now(), now())",
    )
    .bind(tenant)
    .bind(id)
    .execute(pool)
    .await
    .unwrap();
    id
}

pub fn recount(session_id: Uuid) -> NewJob {
    NewJob {
        id: new_id(),
        session_id,
        kind: JobKind::Recount,
        compaction_id: None,
        delay: Duration::ZERO,
        max_attempts: 3,
        cause: None,
    }
}

pub async fn enqueue(pool: &PgPool, tenant: Uuid, job: &NewJob) -> Enqueued {
    let mut tx = pool.begin().await.unwrap();
    let enqueued = queue::enqueue(&mut tx, tenant, job).await.unwrap();
    tx.commit().await.unwrap();
    enqueued
}

/// `jobs` jobs, each of a session of its own. Gives their ids.
pub async fn fill(pool: &PgPool, tenant: Uuid, jobs: usize) -> Vec<Uuid> {
    let mut ids = Vec::new();
    for _ in 0..jobs {
        let job = recount(session(pool, tenant).await);
        assert_eq!(enqueue(pool, tenant, &job).await, Enqueued::New);
        ids.push(job.id);
    }
    ids
}

/// A queued compaction and its job.
pub async fn compaction(pool: &PgPool, tenant: Uuid, max_attempts: i32) -> NewJob {
    let session_id = session(pool, tenant).await;
    let id = new_id();
    sqlx::query(
        "INSERT INTO compactions (tenant_id, id, session_id, status, trigger, strategy, request, created_at)
         VALUES ($1, $2, $3, 'queued', 'manual', 'auto', '{}', now())",
    )
    .bind(tenant)
    .bind(id)
    .bind(session_id)
    .execute(pool)
    .await
    .unwrap();
    let job = NewJob { kind: JobKind::Compact, compaction_id: Some(id), max_attempts, ..recount(session_id) };
    enqueue(pool, tenant, &job).await;
    job
}

/// Status, attempts, error, started, finished.
pub type CompactionRow = (String, i32, Option<String>, bool, bool);

pub async fn compaction_row(pool: &PgPool, job: &NewJob) -> CompactionRow {
    sqlx::query_as(
        "SELECT status, attempts, error, started_at IS NOT NULL, finished_at IS NOT NULL
           FROM compactions WHERE id = $1",
    )
    .bind(job.compaction_id)
    .fetch_one(pool)
    .await
    .unwrap()
}

pub async fn claim(pool: &PgPool, limit: i64) -> Vec<Job> {
    queue::claim(pool, limit, LEASE, Uuid::nil()).await.unwrap()
}

pub async fn claim_one(pool: &PgPool) -> Job {
    let mut jobs = claim(pool, 1).await;
    assert_eq!(jobs.len(), 1, "no job was due");
    jobs.remove(0)
}

/// Ends the lease of every running job.
pub async fn end_leases(pool: &PgPool) {
    sqlx::query("UPDATE jobs SET lease_until = now() - interval '1 second' WHERE status = 'running'")
        .execute(pool)
        .await
        .unwrap();
}

/// Makes every pending job due.
pub async fn make_due(pool: &PgPool) {
    sqlx::query("UPDATE jobs SET run_at = now() WHERE status = 'pending'").execute(pool).await.unwrap();
}

/// A tenant's jobs: status, attempts and last error of each.
pub async fn jobs(pool: &PgPool, tenant: Uuid) -> Vec<(String, i32, Option<String>)> {
    sqlx::query_as("SELECT status, attempts, last_error FROM jobs WHERE tenant_id = $1 ORDER BY id")
        .bind(tenant)
        .fetch_all(pool)
        .await
        .unwrap()
}

/// Pending, running and dead jobs.
pub async fn counts(pool: &PgPool) -> (i64, i64, i64) {
    let all = censuses::queue_page(pool, (Uuid::nil(), Uuid::nil()), i64::MAX).await.unwrap();
    (all.pending, all.running, all.dead)
}

pub async fn complete(pool: &PgPool, job: &Job) -> queue::Completed {
    let mut tx = pool.begin().await.unwrap();
    let completed = queue::complete(&mut tx, job.tenant, job.proof()).await.unwrap();
    tx.commit().await.unwrap();
    completed
}
