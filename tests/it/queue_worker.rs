//! The worker against a real database.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use contextd::store::queue::{Completed, Job};
use contextd::worker::{Handler, JobOutcome, Worker, WorkerOptions};
use sqlx::PgPool;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::patience::{PATIENCE, until};
use crate::pg::database;
use crate::queue_support::*;

/// What the test's jobs do.
#[derive(Clone)]
enum Behaviour {
    Finish(Duration),
    /// Ends when it is told to.
    FinishAt(Arc<Notify>),
    Hang,
    Fail,
    Panic,
}

#[derive(Clone)]
struct Recorder {
    pool: PgPool,
    behaviour: Behaviour,
    runs: Arc<Mutex<HashMap<Uuid, u32>>>,
    dropped: Arc<Mutex<u32>>,
}

struct CountDrop(Arc<Mutex<u32>>);
impl Drop for CountDrop {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

impl Handler for Recorder {
    async fn run(&self, job: &Job) -> JobOutcome {
        *self.runs.lock().unwrap().entry(job.id).or_default() += 1;
        let _guard = CountDrop(self.dropped.clone());
        match &self.behaviour {
            Behaviour::Finish(time) => {
                // Work that takes a while.
                tokio::time::sleep(*time).await;
                match complete(&self.pool, job).await {
                    Completed::LeaseLost => JobOutcome::LeaseLost,
                    Completed::Done | Completed::Rerun => JobOutcome::Done,
                }
            }
            Behaviour::FinishAt(gate) => {
                gate.notified().await;
                assert_eq!(complete(&self.pool, job).await, Completed::Done);
                JobOutcome::Done
            }
            Behaviour::Hang => pending().await,
            Behaviour::Fail => JobOutcome::Retry("it failed".into()),
            Behaviour::Panic => panic!("as the test wants"),
        }
    }
}

impl Recorder {
    fn new(pool: &PgPool, behaviour: Behaviour) -> Recorder {
        Recorder { pool: pool.clone(), behaviour, runs: Arc::default(), dropped: Arc::default() }
    }

    fn start(&self, options: WorkerOptions) -> (JoinHandle<()>, CancellationToken) {
        let shutdown = CancellationToken::new();
        let worker = Worker::new(self.pool.clone(), self.clone(), options);
        (tokio::spawn(worker.run(shutdown.clone())), shutdown)
    }

    fn runs(&self) -> Vec<u32> {
        self.runs.lock().unwrap().values().copied().collect()
    }
}

fn quick() -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_secs(4),
        poll: Duration::from_millis(50),
        reap: Duration::from_millis(100),
        retry_base: Duration::from_millis(1),
        retry_max: Duration::from_millis(5),
        shutdown: Duration::from_millis(200),
        ..WorkerOptions::default()
    }
}

#[tokio::test]
async fn two_workers_run_every_job_once() {
    let pool = database().await;
    let tenants = [tenant(&pool).await, tenant(&pool).await];
    for tenant in tenants {
        fill(&pool, tenant, 25).await;
    }
    let recorder = Recorder::new(&pool, Behaviour::Finish(Duration::from_millis(5)));
    let workers = [recorder.start(quick()), recorder.start(quick())];
    until("the queue is empty", async || counts(&pool).await == (0, 0, 0)).await;
    for (worker, shutdown) in workers {
        shutdown.cancel();
        worker.await.unwrap();
    }
    assert_eq!(recorder.runs(), vec![1; 50]);
}

#[tokio::test]
async fn the_heartbeat_carries_a_job_past_its_lease() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 1).await;
    let gate = Arc::new(Notify::new());
    let recorder = Recorder::new(&pool, Behaviour::FinishAt(gate.clone()));
    let (_worker, _) = recorder.start(quick());
    let (_other, _) = recorder.start(quick());
    until("the job runs", async || recorder.runs() == [1]).await;
    let leased = "SELECT lease_until FROM jobs";
    let first_end: DateTime<Utc> = sqlx::query_scalar(leased).fetch_one(&pool).await.unwrap();
    until("its first lease is over", async || {
        sqlx::query_scalar("SELECT clock_timestamp() > $1").bind(first_end).fetch_one(&pool).await.unwrap()
    })
    .await;
    gate.notify_one();
    until("the job is done", async || counts(&pool).await == (0, 0, 0)).await;
    assert_eq!(recorder.runs(), [1]);
}

#[tokio::test]
async fn a_worker_that_dies_is_succeeded_after_its_lease() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 1).await;
    let stuck = Recorder::new(&pool, Behaviour::Hang);
    let (worker, _) = stuck.start(quick());
    // The row says so before the handler has begun.
    until("the job runs", async || stuck.runs() == [1]).await;
    worker.abort();
    let _ = worker.await;
    assert_eq!(*stuck.dropped.lock().unwrap(), 1, "nothing runs on after its worker");
    assert_eq!(counts(&pool).await, (0, 1, 0), "a dead worker gives nothing back");

    let heir = Recorder::new(&pool, Behaviour::Finish(Duration::ZERO));
    let (_worker, _) = heir.start(quick());
    until("the heir did the job", async || counts(&pool).await == (0, 0, 0)).await;
    assert_eq!(heir.runs(), [1]);
}

#[tokio::test]
async fn a_job_that_lost_its_lease_is_stopped() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 1).await;
    let recorder = Recorder::new(&pool, Behaviour::Hang);
    let (_worker, _) = recorder.start(quick());
    until("the job runs", async || recorder.runs() == [1]).await;
    sqlx::query("DELETE FROM jobs").execute(&pool).await.unwrap();
    until("the job is dropped", async || *recorder.dropped.lock().unwrap() == 1).await;
}

#[tokio::test]
async fn shutdown_gives_back_what_did_not_finish_and_spends_no_attempt() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 2).await;
    let recorder = Recorder::new(&pool, Behaviour::Hang);
    let (worker, shutdown) = recorder.start(quick());
    until("both jobs run", async || counts(&pool).await == (0, 2, 0)).await;
    shutdown.cancel();
    worker.await.unwrap();
    let given_back = ("pending".to_owned(), 0, None);
    assert_eq!(jobs(&pool, tenant).await, [given_back.clone(), given_back]);
}

#[tokio::test]
async fn shutdown_lets_a_job_finish_in_time() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    fill(&pool, tenant, 3).await;
    let gate = Arc::new(Notify::new());
    let recorder = Recorder::new(&pool, Behaviour::FinishAt(gate.clone()));
    let options = WorkerOptions { concurrency: 1, shutdown: PATIENCE, ..quick() };
    let (worker, shutdown) = recorder.start(options);
    until("a job runs", async || recorder.runs() == [1]).await;
    shutdown.cancel();
    gate.notify_one();
    worker.await.unwrap();
    assert_eq!(counts(&pool).await, (2, 0, 0), "one finished, no other was claimed");
}

#[tokio::test]
async fn failures_and_panics_are_tried_again_and_then_buried() {
    for behaviour in [Behaviour::Fail, Behaviour::Panic] {
        let pool = database().await;
        let tenant = tenant(&pool).await;
        let new = compaction(&pool, tenant, 3).await;
        let recorder = Recorder::new(&pool, behaviour);
        let (worker, shutdown) = recorder.start(quick());
        until("the job is dead", async || counts(&pool).await == (0, 0, 1)).await;
        shutdown.cancel();
        worker.await.unwrap();
        assert_eq!(recorder.runs(), [3]);
        let (status, attempts, error, _, _) = compaction_row(&pool, &new).await;
        assert_eq!((status.as_str(), attempts), ("failed", 3));
        assert!(matches!(error.as_deref(), Some("it failed" | "internal error")), "{error:?}");
    }
}

#[tokio::test]
async fn a_notification_wakes_the_worker_before_its_poll() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let recorder = Recorder::new(&pool, Behaviour::Finish(Duration::ZERO));
    let (_worker, _) = recorder.start(WorkerOptions { poll: Duration::from_secs(3600), ..quick() });
    let listening = async || {
        let listeners: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        listeners == 1
    };
    until("the worker listens", listening).await;
    fill(&pool, tenant, 1).await;
    until("the job is done", async || counts(&pool).await == (0, 0, 0)).await;
}

#[tokio::test]
async fn a_worker_survives_the_loss_of_its_connections() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let recorder = Recorder::new(&pool, Behaviour::Finish(Duration::from_millis(50)));
    let (_worker, _) = recorder.start(quick());
    for round in 1..=3 {
        fill(&pool, tenant, 2).await;
        until("the worker has them", async || recorder.runs().len() == 2 * round).await;
        let _ = sqlx::query(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .execute(&pool)
        .await;
    }
    until("all jobs are done", async || {
        let done: Result<i64, _> = sqlx::query_scalar("SELECT count(*) FROM jobs").fetch_one(&pool).await;
        matches!(done, Ok(0))
    })
    .await;
    assert_eq!(recorder.runs().len(), 6);
}
