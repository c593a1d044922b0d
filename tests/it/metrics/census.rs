//! What is counted, by whom, and in which portions.

use std::time::Duration;

use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ops::readiness::Health;
use contextd::service::ops::stats::StatsRequest;
use contextd::store::censuses::{QueueFigures, SessionFigures, StateFigures, Subject};
use contextd::worker::{Census, CensusOptions};
use sqlx::PgPool;
use uuid::Uuid;

use crate::pg::database;
use crate::queue_support::{claim_one, enqueue, recount, session, tenant};

/// Portions so small that every walk has many.
fn census(pool: &PgPool) -> Census {
    let none = Duration::ZERO;
    Census::new(pool.clone(), CensusOptions { page: 3, share: 1.0, longest_pause: none, rest: none })
}

/// Makes sessions of a tenant, all of one state.
async fn sessions(pool: &PgPool, tenant: Uuid, count: i64, state: &str, tokens: i64, tripped: bool) {
    sqlx::query(
        "INSERT INTO sessions (tenant_id, id, metadata, settings, version, next_seq, next_branch, entry_count,
            leaf_branch, leaf_depth, state, fill_state, tokens, guard_tripped, created_at, updated_at)
         SELECT $1, gen_random_uuid(), '{}', '{}', 0, 0, 1, 0, 0, -1, '{}', $3, $4, $5, now(), now()
         FROM generate_series(1, $2)",
    )
    .bind(tenant)
    .bind(count)
    .bind(state)
    .bind(tokens)
    .bind(tripped)
    .execute(pool)
    .await
    .unwrap();
}

async fn erase_all(pool: &PgPool, tenant: Uuid) {
    let hide = "UPDATE sessions SET deleted_at = now() WHERE tenant_id = $1";
    sqlx::query(hide).bind(tenant).execute(pool).await.unwrap();
}

fn figures(green: (i64, i64), yellow: (i64, i64), red: (i64, i64), guard_tripped: i64) -> SessionFigures {
    let of = |(sessions, tokens)| StateFigures { sessions, tokens };
    SessionFigures { green: of(green), yellow: of(yellow), red: of(red), guard_tripped }
}

async fn stored(pool: &PgPool, tenant: Uuid) -> Option<SessionFigures> {
    let text = "SELECT figures FROM censuses WHERE tenant_id = $1 AND subject = 'sessions'";
    let text: Option<String> = sqlx::query_scalar(text).bind(tenant).fetch_optional(pool).await.unwrap();
    text.map(|text| serde_json::from_str(&text).unwrap())
}

fn health(pool: &PgPool) -> Health {
    Health::of(&Service::new(pool.clone(), Options::default()))
}

#[tokio::test]
async fn sessions_are_counted_tenant_by_tenant_however_the_portions_fall() {
    let pool = database().await;
    let (one, other, empty) = (tenant(&pool).await, tenant(&pool).await, tenant(&pool).await);
    sessions(&pool, one, 7, "green", 10, false).await;
    sessions(&pool, one, 3, "red", 1_000, true).await;
    sessions(&pool, other, 6, "yellow", 100, false).await;
    sessions(&pool, other, 1, "red", i64::MAX, true).await;
    sessions(&pool, other, 1, "red", i64::MAX, false).await;
    sessions(&pool, empty, 4, "red", 5, true).await;
    erase_all(&pool, empty).await;
    assert!(census(&pool).count(Subject::Sessions).await.unwrap());
    assert_eq!(stored(&pool, one).await, Some(figures((7, 70), (0, 0), (3, 3_000), 3)));
    let of_other = figures((0, 0), (6, 600), (2, i64::MAX), 1);
    assert_eq!(stored(&pool, other).await, Some(of_other));
    assert_eq!(stored(&pool, empty).await, Some(SessionFigures::default()), "erased sessions do not count");
    let health = health(&pool);
    health.read_figures().await.unwrap();
    let all = health.figures().sessions.unwrap();
    assert_eq!(all.figures, figures((7, 70), (6, 600), (5, i64::MAX), 4));

    // What is gone is forgotten, what has changed is counted anew.
    sqlx::query("DELETE FROM sessions WHERE tenant_id = $1").bind(one).execute(&pool).await.unwrap();
    sqlx::query("UPDATE censuses SET lease_until = now()").execute(&pool).await.unwrap();
    assert!(census(&pool).count(Subject::Sessions).await.unwrap());
    assert_eq!((stored(&pool, one).await, stored(&pool, other).await), (None, Some(of_other)));
    health.read_figures().await.unwrap();
    let then = health.figures().sessions.unwrap();
    assert_eq!(then.figures, figures((0, 0), (6, 600), (2, i64::MAX), 1));
    assert!(then.at > all.at);
}

#[tokio::test]
async fn an_empty_database_has_figures_of_nought() {
    let pool = database().await;
    let census = census(&pool);
    assert!(census.count(Subject::Sessions).await.unwrap() && census.count(Subject::Queue).await.unwrap());
    let health = health(&pool);
    health.read_figures().await.unwrap();
    let found = health.figures();
    assert_eq!(found.sessions.unwrap().figures, SessionFigures::default());
    assert_eq!(found.queue.unwrap().figures, QueueFigures::default());
}

#[tokio::test]
async fn jobs_are_counted_in_portions_and_only_due_ones_are_old() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    for _ in 0..8 {
        let job = recount(session(&pool, tenant).await);
        enqueue(&pool, tenant, &job).await;
    }
    claim_one(&pool).await;
    sqlx::query("UPDATE jobs SET run_at = now() + interval '1 hour' WHERE status = 'pending'")
        .execute(&pool)
        .await
        .unwrap();
    let dead = "UPDATE jobs SET status = 'dead' WHERE id IN (SELECT id FROM jobs WHERE status = 'pending' LIMIT 3)";
    sqlx::query(dead).execute(&pool).await.unwrap();
    let (census, health) = (census(&pool), health(&pool));
    let counted = async || {
        assert!(census.count(Subject::Queue).await.unwrap());
        health.read_figures().await.unwrap();
        health.figures().queue.unwrap().figures
    };
    assert_eq!(counted().await, QueueFigures { pending: 4, running: 1, dead: 3, oldest_age_seconds: 0.0 });
    let due = "UPDATE jobs SET run_at = now() - interval '90 seconds'
               WHERE id = (SELECT max(id::text)::uuid FROM jobs WHERE status = 'pending')";
    sqlx::query(due).execute(&pool).await.unwrap();
    let age = counted().await.oldest_age_seconds;
    assert!(age >= 90.0, "{age}");
}

#[tokio::test]
async fn one_process_counts_at_a_time_and_another_goes_on() {
    let pool = database().await;
    let (one, other) = (census(&pool), census(&pool));
    for subject in [Subject::Sessions, Subject::Queue] {
        assert!(one.count(subject).await.unwrap());
        assert!(!other.count(subject).await.unwrap(), "it is the other one's");
        assert!(one.count(subject).await.unwrap(), "and stays so");
    }
    sqlx::query("UPDATE censuses SET lease_until = now()").execute(&pool).await.unwrap();
    assert!(other.count(Subject::Sessions).await.unwrap(), "whoever falls silent loses it");
    assert!(!one.count(Subject::Sessions).await.unwrap());
    // Whoever stops gives it back.
    let stop = tokio_util::sync::CancellationToken::new();
    stop.cancel();
    other.run(stop).await;
    assert!(one.count(Subject::Sessions).await.unwrap());
}

#[tokio::test]
async fn a_tenant_with_many_sessions_has_true_figures_and_their_age() {
    let pool = database().await;
    let many = tenant(&pool).await;
    sessions(&pool, many, 50_100, "green", 2, false).await;
    sessions(&pool, many, 11, "red", 100, true).await;
    let queries = Service::new(pool.clone(), Options::default()).queries();
    let stats = async || queries.stats(Tenant(many), StatsRequest::default()).await.unwrap();
    let before = stats().await;
    assert!(before.capped && before.census_at == before.until, "nobody has counted yet");
    let census = Census::new(pool.clone(), CensusOptions { share: 1.0, ..CensusOptions::default() });
    assert!(census.count(Subject::Sessions).await.unwrap());
    let after = stats().await;
    assert!(!after.capped && after.census_at < after.until);
    let counts = after.sessions;
    assert_eq!((counts.green, counts.yellow, counts.red, counts.guard_tripped), (50_100, 0, 11, 11));
    assert_eq!(after.tokens_held, 50_100 * 2 + 1_100);
}
