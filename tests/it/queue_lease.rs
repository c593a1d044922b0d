//! What a lease allows, and what becomes of a job without one.

use std::time::Duration;

use contextd::store::queue::{self, Completed, Enqueued, Retried};

use crate::patience::until_blocked;
use crate::pg::database;
use crate::queue_support::*;

#[tokio::test]
async fn a_compaction_follows_its_job() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let new = compaction(&pool, tenant, 2).await;
    let job = claim_one(&pool).await;
    assert_eq!(compaction_row(&pool, &new).await, ("running".into(), 1, None, true, false));

    assert_eq!(queue::retry(&pool, &job, "no\0luck", Duration::ZERO).await.unwrap(), Retried::Pending);
    assert_eq!(compaction_row(&pool, &new).await, ("queued".into(), 1, Some("noluck".into()), true, false));

    let job = claim_one(&pool).await;
    assert_eq!(job.attempts, 2);
    assert_eq!(queue::retry(&pool, &job, "again", Duration::ZERO).await.unwrap(), Retried::Dead);
    assert_eq!(compaction_row(&pool, &new).await, ("failed".into(), 2, Some("again".into()), true, true));

    let dead = ("dead".to_owned(), 2, Some("again".to_owned()));
    assert_eq!(jobs(&pool, tenant).await, [dead]);
    assert!(claim(&pool, 1).await.is_empty());
    // A dead letter does not stand in the way of new work.
    assert_eq!(enqueue(&pool, tenant, &recount(new.session_id)).await, Enqueued::New);
}

#[tokio::test]
async fn a_retry_waits() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 1).await;
    let job = claim_one(&pool).await;
    queue::retry(&pool, &job, "later", Duration::from_secs(60)).await.unwrap();
    assert!(claim(&pool, 1).await.is_empty());
    // Asking again does not cut the back-off short.
    assert_eq!(enqueue(&pool, tenant, &recount(job.session_id)).await, Enqueued::Existing { rerun: false });
    assert!(claim(&pool, 1).await.is_empty());
    make_due(&pool).await;
    assert_eq!(claim_one(&pool).await.attempts, 2);
}

#[tokio::test]
async fn without_the_lease_nothing_is_written() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let new = compaction(&pool, tenant, 5).await;
    let old = claim_one(&pool).await;
    assert!(queue::heartbeat(&pool, &old, LEASE).await.unwrap());
    end_leases(&pool).await;
    assert_eq!(queue::reap(&pool).await.unwrap().len(), 1);
    let current = claim_one(&pool).await;
    assert_eq!((current.id, current.attempts), (old.id, 2));

    assert!(!queue::heartbeat(&pool, &old, LEASE).await.unwrap());
    assert!(!queue::release(&pool, &old).await.unwrap());
    assert_eq!(queue::retry(&pool, &old, "late", Duration::ZERO).await.unwrap(), Retried::LeaseLost);
    assert_eq!(complete(&pool, &old).await, Completed::LeaseLost);
    assert_eq!(compaction_row(&pool, &new).await.0, "running");

    assert_eq!(complete(&pool, &current).await, Completed::Done);
    assert_eq!(complete(&pool, &current).await, Completed::LeaseLost);
    assert_eq!(counts(&pool).await, (0, 0, 0));
}

#[tokio::test]
async fn the_reaper_takes_only_ended_leases_and_buries_the_hopeless() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let new = compaction(&pool, tenant, 2).await;
    let mut job = claim_one(&pool).await;
    assert!(queue::reap(&pool).await.unwrap().is_empty());
    for _ in 0..2 {
        end_leases(&pool).await;
        assert!(queue::heartbeat(&pool, &job, LEASE).await.unwrap(), "an ended lease that nobody took is renewed");
        end_leases(&pool).await;
        assert_eq!(queue::reap(&pool).await.unwrap().len(), 1);
        job = claim(&pool, 1).await.pop().unwrap_or(job);
    }
    assert_eq!(counts(&pool).await, (0, 0, 1));
    let (status, attempts, error, _, finished) = compaction_row(&pool, &new).await;
    assert_eq!((status.as_str(), attempts, finished), ("failed", 2, true));
    assert!(error.unwrap().contains("worker stopped"));
}

#[tokio::test]
async fn a_released_job_has_not_spent_its_attempt() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let new = compaction(&pool, tenant, 1).await;
    for _ in 0..3 {
        let job = claim_one(&pool).await;
        assert_eq!(job.attempts, 1);
        assert!(queue::release(&pool, &job).await.unwrap());
        assert_eq!(compaction_row(&pool, &new).await, ("queued".into(), 0, None, true, false));
    }
}

#[tokio::test]
async fn a_job_asked_for_while_it_runs_runs_again() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let job = recount(session(&pool, tenant).await);
    enqueue(&pool, tenant, &job).await;
    let first = claim_one(&pool).await;
    assert_eq!(enqueue(&pool, tenant, &recount(job.session_id)).await, Enqueued::Existing { rerun: true });
    assert_eq!(complete(&pool, &first).await, Completed::Rerun);
    let second = claim_one(&pool).await;
    assert_eq!((second.id, second.attempts), (first.id, 1));
    assert_eq!(complete(&pool, &second).await, Completed::Done);
}

#[tokio::test]
async fn a_rerun_asked_for_during_the_commit_is_not_lost() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 1).await;
    let job = claim_one(&pool).await;
    let mut asking = pool.begin().await.unwrap();
    queue::enqueue(&mut asking, tenant, &recount(job.session_id)).await.unwrap();
    let finishing = tokio::spawn({
        let (pool, job) = (pool.clone(), job.clone());
        async move { complete(&pool, &job).await }
    });
    until_blocked(&pool).await;
    assert!(!finishing.is_finished(), "the finish waits for the request's transaction");
    asking.commit().await.unwrap();
    assert_eq!(finishing.await.unwrap(), Completed::Rerun);
}

#[tokio::test]
async fn a_lost_lease_rolls_the_whole_result_back() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let new = compaction(&pool, tenant, 5).await;
    let job = claim_one(&pool).await;
    let mut tx = pool.begin().await.unwrap();
    sqlx::query("UPDATE sessions SET title = 'written by the job'").execute(&mut *tx).await.unwrap();
    end_leases(&pool).await;
    queue::reap(&pool).await.unwrap();
    assert_eq!(queue::complete(&mut tx, tenant, job.proof()).await.unwrap(), Completed::LeaseLost);
    tx.rollback().await.unwrap();
    let title: Option<String> = sqlx::query_scalar("SELECT title FROM sessions").fetch_one(&pool).await.unwrap();
    assert_eq!(title, None);
    assert_eq!(compaction_row(&pool, &new).await.0, "queued");
}

#[tokio::test]
async fn a_cancelled_job_is_gone_whether_it_waits_or_runs() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    for running in [false, true] {
        let new = compaction(&pool, tenant, 3).await;
        let job = if running { Some(claim_one(&pool).await) } else { None };
        let id = new.compaction_id.unwrap();
        assert!(queue::cancel(&pool, tenant, new.session_id, id).await.unwrap());
        assert!(!queue::cancel(&pool, tenant, new.session_id, id).await.unwrap());
        if let Some(job) = job {
            assert!(!queue::heartbeat(&pool, &job, LEASE).await.unwrap());
            assert_eq!(complete(&pool, &job).await, Completed::LeaseLost);
        }
    }
}
