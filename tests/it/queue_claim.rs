//! Which jobs exist, and which a claim takes.

use std::collections::HashSet;
use std::time::Duration;

use contextd::service::core::clock::new_id;
use contextd::store::censuses;
use contextd::store::queue::{self, Enqueued};
use contextd::trace::TraceContext;
use uuid::Uuid;

use crate::pg::database;
use crate::queue_support::*;

#[tokio::test]
async fn a_job_lives_and_dies_with_its_transaction() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let job = recount(session(&pool, tenant).await);
    let mut tx = pool.begin().await.unwrap();
    assert_eq!(queue::enqueue(&mut tx, tenant, &job).await.unwrap(), Enqueued::New);
    tx.rollback().await.unwrap();
    assert_eq!(counts(&pool).await, (0, 0, 0));

    enqueue(&pool, tenant, &job).await;
    assert_eq!(counts(&pool).await, (1, 0, 0));
    assert_eq!(claim_one(&pool).await.id, job.id);
}

#[tokio::test]
async fn a_session_has_one_live_job_of_a_kind() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let first = compaction(&pool, tenant, 3).await;
    let again = queue::NewJob { id: new_id(), ..first.clone() };
    assert_eq!(enqueue(&pool, tenant, &again).await, Enqueued::Existing { rerun: false });
    assert_eq!(enqueue(&pool, tenant, &recount(first.session_id)).await, Enqueued::New);
    assert_eq!(claim(&pool, 10).await.len(), 2);
    assert_eq!(enqueue(&pool, tenant, &again).await, Enqueued::Existing { rerun: true });
    assert_eq!(counts(&pool).await, (0, 2, 0));
    assert_eq!(queue::live(&pool, tenant).await.unwrap(), 2);
    assert_eq!(queue::live(&pool, new_id()).await.unwrap(), 0);
}

#[tokio::test]
async fn a_claim_brings_the_context_of_whoever_asked_last() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let context = |last: char| {
        TraceContext::parse(&format!("00-4bf92f3577b34da6a3ce929d0e0e473{last}-00f067aa0ba902b7-01"), Some("a=1"))
    };
    let first = queue::NewJob { cause: context('1'), ..compaction(&pool, tenant, 3).await };
    let ask = async |cause: Option<TraceContext>| {
        enqueue(&pool, tenant, &queue::NewJob { id: new_id(), cause, ..first.clone() }).await
    };
    ask(context('2')).await;
    let job = claim_one(&pool).await;
    assert_eq!((job.cause(), job.cause().unwrap().tracestate().as_deref()), (context('2'), Some("a=1")));
    assert!(job.waited_seconds >= 0.0);
    // What is given back or tried again keeps it; what is asked for again while it runs has the new one.
    assert!(queue::release(&pool, &job).await.unwrap());
    let job = claim_one(&pool).await;
    assert_eq!(job.cause(), context('2'));
    assert_eq!(ask(context('3')).await, Enqueued::Existing { rerun: true });
    let mut tx = pool.begin().await.unwrap();
    queue::complete(&mut tx, tenant, job.proof()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claim_one(&pool).await.cause(), context('3'));
    assert_eq!(ask(None).await, Enqueued::Existing { rerun: true });
}

#[tokio::test]
async fn a_job_that_is_not_due_is_not_claimed() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let session = session(&pool, tenant).await;
    let later = queue::NewJob { delay: Duration::from_secs(60), ..recount(session) };
    enqueue(&pool, tenant, &later).await;
    assert!(claim(&pool, 1).await.is_empty());
    let all = censuses::queue_page(&pool, (Uuid::nil(), Uuid::nil()), 10).await.unwrap();
    assert!(all.pending == 1 && all.oldest_run_at.unwrap() > all.now);
    // A request that can't wait brings it forward.
    enqueue(&pool, tenant, &recount(session)).await;
    assert_eq!(claim_one(&pool).await.id, later.id);
}

#[tokio::test]
async fn no_two_claims_take_the_same_job() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let ids = fill(&pool, tenant, 60).await;
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let pool = pool.clone();
        claimers.spawn(async move {
            let mut claimed = Vec::new();
            while counts(&pool).await.0 > 0 {
                claimed.extend(claim(&pool, 3).await);
            }
            claimed
        });
    }
    let claimed = claimers.join_all().await.concat();
    assert_eq!(claimed.len(), ids.len());
    assert_eq!(claimed.iter().map(|job| job.id).collect::<HashSet<_>>(), ids.into_iter().collect());
    assert_eq!(claimed.iter().map(|job| job.token).collect::<HashSet<_>>().len(), claimed.len());
}

#[tokio::test]
async fn a_tenant_with_one_job_does_not_wait_behind_one_with_a_hundred() {
    let pool = database().await;
    let (busy, quiet) = (tenant(&pool).await, tenant(&pool).await);
    fill(&pool, busy, 100).await;
    fill(&pool, quiet, 1).await;
    let first = claim(&pool, 4).await;
    assert_eq!(first.iter().map(|job| job.tenant).collect::<Vec<_>>(), [busy, quiet, busy, busy]);
}

#[tokio::test]
async fn single_claims_go_round_the_tenants() {
    let pool = database().await;
    let tenants = [tenant(&pool).await, tenant(&pool).await, tenant(&pool).await];
    for (tenant, jobs) in tenants.iter().zip([50, 3, 1]) {
        fill(&pool, *tenant, jobs).await;
    }
    let mut from = Uuid::nil();
    let mut served = Vec::new();
    for _ in 0..8 {
        let jobs = queue::claim(&pool, 1, LEASE, from).await.unwrap();
        from = queue::next_tenant(&jobs, from);
        served.extend(jobs.iter().map(|job| tenants.iter().position(|tenant| *tenant == job.tenant).unwrap()));
    }
    assert_eq!(served, [0, 1, 2, 0, 1, 0, 1, 0]);
}

#[tokio::test]
async fn jobs_of_unknown_kinds_are_left_alone() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 2).await;
    // A newer version has brought its own schema, which knows its kinds.
    sqlx::query("ALTER TABLE jobs DROP CONSTRAINT jobs_kind_known").execute(&pool).await.unwrap();
    sqlx::query("UPDATE jobs SET kind = 'of_a_newer_version' WHERE id = (SELECT min(id::text)::uuid FROM jobs)")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(claim(&pool, 10).await.len(), 1);
    assert_eq!(counts(&pool).await, (1, 1, 0));
}
