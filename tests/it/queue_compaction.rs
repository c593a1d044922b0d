//! The compaction job from end to end: service, queue, worker and summariser.

use std::time::Duration;

use contextd::domain::model::format::Format;
use contextd::domain::model::strategy::Strategy;
use contextd::llm::Upstreams;
use contextd::service::compaction::{CompactRequest, Compaction, Status};
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::append::Append;
use contextd::service::sessions::{NewSession, SessionPatch};
use contextd::worker::{Jobs, Worker, WorkerOptions};
use serde_json::json;
use serde_json::value::to_raw_value;
use sqlx::PgPool;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::patience::{PATIENCE, until};
use crate::pg::database;
use crate::queue_support::{counts, tenant};

/// A service with a session of 40 turns, and its worker.
async fn playing(pool: &PgPool) -> (Service, Tenant, Uuid, DropGuard) {
    let service = Service::new(pool.clone(), Options::default());
    let tenant = Tenant(tenant(pool).await);
    let settings = json!({"context_window": 8_000, "enabled": false}).as_object().unwrap().clone();
    let session = service.create_session(tenant, NewSession { settings, ..NewSession::default() }).await.unwrap();
    let turn = |at: usize| {
        let said = format!("Turn {at}: {}", "look at the parser and keep every test green. ".repeat(8));
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        to_raw_value(&json!({"role": role, "content": said})).unwrap()
    };
    let append = Append {
        format: Format::OpenaiChat,
        items: (0..40).map(turn).collect(),
        parent_id: None,
        expected_leaf_id: None,
        usage: None,
        provider_error: None,
        is_whole: false,
    };
    service.append(tenant, session.id, append).await.unwrap();

    let jobs = Jobs { service: service.clone(), upstreams: Upstreams::new(Vec::new(), None).unwrap() };
    let options = WorkerOptions { poll: Duration::from_millis(50), ..WorkerOptions::default() };
    let shutdown = CancellationToken::new();
    tokio::spawn(Worker::new(pool.clone(), jobs, options).run(shutdown.clone()));
    (service, tenant, session.id, shutdown.drop_guard())
}

async fn compact(service: &Service, tenant: Tenant, session: Uuid, request: CompactRequest) -> Compaction {
    service.compact(tenant, session, request, Some(PATIENCE)).await.unwrap()
}

#[tokio::test]
async fn a_compaction_is_carried_out() {
    let pool = database().await;
    let (service, tenant, session, _worker) = playing(&pool).await;
    let before = service.queries().snapshot(tenant, session).await.unwrap().tokens;
    let request = CompactRequest { strategy: Some(Strategy::Summarize), ..CompactRequest::default() };
    let done = compact(&service, tenant, session, request).await;
    assert_eq!((done.status, done.attempts, &done.error), (Status::Succeeded, 1, &None));
    let result = done.result.unwrap();
    assert_eq!((result.tokens_before, result.fallback.used), (before, false));
    assert!(result.summary.is_some() && result.tokens_after < before);
    assert_eq!(counts(&pool).await, (0, 0, 0));
}

#[tokio::test]
async fn an_unknown_upstream_fails_the_compaction_once_where_no_fallback_is_allowed() {
    let pool = database().await;
    let (service, tenant, session, _worker) = playing(&pool).await;
    let settings = json!({"upstream": "gone", "on_upstream_failure": "fail"}).as_object().unwrap().clone();
    let request = CompactRequest { strategy: Some(Strategy::LlmSummarize), settings, ..CompactRequest::default() };
    let failed = compact(&service, tenant, session, request).await;
    assert_eq!((failed.status, failed.attempts), (Status::Failed, 1));
    assert_eq!(failed.error.as_deref(), Some("the upstream `gone` is not configured"));
    assert_eq!(counts(&pool).await, (0, 0, 0), "trying again would not help");
}

#[tokio::test]
async fn a_job_whose_compaction_has_ended_just_ends() {
    let pool = database().await;
    let (service, tenant, session, worker) = playing(&pool).await;
    drop(worker);
    let queued = service.compact(tenant, session, CompactRequest::default(), None).await.unwrap();
    sqlx::query("UPDATE compactions SET status = 'cancelled' WHERE id = $1")
        .bind(queued.id)
        .execute(&pool)
        .await
        .unwrap();
    let jobs = Jobs { service, upstreams: Upstreams::new(Vec::new(), None).unwrap() };
    let shutdown = CancellationToken::new();
    let worker = tokio::spawn(Worker::new(pool.clone(), jobs, WorkerOptions::default()).run(shutdown.clone()));
    until("the queue is empty", async || counts(&pool).await == (0, 0, 0)).await;
    shutdown.cancel();
    worker.await.unwrap();
    let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM entries").fetch_one(&pool).await.unwrap();
    assert_eq!(entries, 40);
}

#[tokio::test]
async fn a_new_estimator_has_the_session_counted_again() {
    let pool = database().await;
    let (service, tenant, session, _worker) = playing(&pool).await;
    let settings = json!({"estimator": "pi"}).as_object().unwrap().clone();
    let patch = SessionPatch { settings: Some(settings), ..SessionPatch::default() };
    let patched = service.patch_session(tenant, session, patch).await.unwrap();
    assert!(patched.snapshot.recounting);
    until("the queue is empty", async || counts(&pool).await == (0, 0, 0)).await;
    let counted = service.queries().snapshot(tenant, session).await.unwrap();
    assert!(!counted.recounting);
    assert_ne!(counted.breakdown, patched.snapshot.breakdown);
}
