//! A measurement: 1,000,000 sessions and as many jobs. What a census and a scrape take, and what a scan would.

use std::time::{Duration, Instant};

use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ops::stats::StatsRequest;
use contextd::store::censuses::Subject;
use contextd::worker::{Census, CensusOptions};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool};
use uuid::Uuid;

use super::Scrape;
use crate::app::Keyed;
use crate::patience::eventually;

const SESSIONS: i64 = 1_000_000;
/// One tenant has half of them, a thousand share the rest.
const BIG: Uuid = Uuid::from_u128(1 << 64);

const FILL: &str = "
    INSERT INTO tenants SELECT ('00000000-0000-0001-0000-' || lpad(to_hex(t), 12, '0'))::uuid, 'tenant ' || t, now()
      FROM generate_series(0, 1000) t;
    INSERT INTO sessions (tenant_id, id, metadata, settings, version, next_seq, next_branch, entry_count, leaf_branch,
        leaf_depth, state, fill_state, tokens, guard_tripped, created_at, updated_at)
    SELECT ('00000000-0000-0001-0000-' || lpad(to_hex(CASE WHEN n % 2 = 0 THEN 0 ELSE 1 + n % 1000 END), 12, '0'))::uuid,
        gen_random_uuid(), '{}', repeat('s', 150), 1, 1, 1, 1, 0, 0, repeat('s', 500),
        (ARRAY['green', 'yellow', 'red'])[1 + n % 3], n % 200000, n % 97 = 0, now(), now()
      FROM generate_series(1, 1000000) n;
    SET session_replication_role = replica;
    INSERT INTO jobs (tenant_id, id, session_id, kind, status, run_at, max_attempts, created_at)
    SELECT tenant_id, gen_random_uuid(), id, 'compact', CASE WHEN guard_tripped THEN 'pending' ELSE 'dead' END,
        now() + interval '1 day', 3, now() FROM sessions;
    SET session_replication_role = origin";

/// A setting of a server that was not just filled.
async fn settle(pool: &PgPool) {
    pool.execute("VACUUM ANALYZE sessions").await.unwrap();
    pool.execute("VACUUM ANALYZE jobs").await.unwrap();
}

async fn scan(pool: &PgPool) -> Duration {
    let began = Instant::now();
    let scan = "SELECT fill_state, count(*), sum(tokens) FROM sessions WHERE deleted_at IS NULL GROUP BY fill_state";
    pool.execute(scan).await.unwrap();
    began.elapsed()
}

/// The times of a hundred scrapes, sorted.
async fn scrapes(base: &str) -> Vec<Duration> {
    let client = crate::app::client();
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        client.get(format!("{base}/metrics")).send().await.unwrap().bytes().await.unwrap();
        times.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    times.sort();
    times
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of minutes, with 2 GB on disk: run it by name, with --nocapture"]
async fn a_census_and_a_scrape_of_a_million_sessions() {
    let url = crate::pg::url().await;
    let pool = PgPoolOptions::new().max_connections(4).connect(&url).await.unwrap();
    let began = Instant::now();
    pool.execute(sqlx::raw_sql(FILL)).await.unwrap();
    settle(&pool).await;
    eprintln!(
        "filled in {:?}; a scan as every scrape once did it: {:?}, {:?}",
        began.elapsed(),
        scan(&pool).await,
        scan(&pool).await
    );
    let census = Census::new(pool.clone(), CensusOptions { share: 1.0, ..CensusOptions::default() });
    for subject in [Subject::Sessions, Subject::Queue] {
        for round in ["first", "second"] {
            let began = Instant::now();
            assert!(census.count(subject).await.unwrap());
            eprintln!("a census of {subject:?} without pauses, {round}: {:?}", began.elapsed());
        }
    }
    let queries = Service::new(pool.clone(), Options::default()).queries();
    let began = Instant::now();
    let stats = queries.stats(Tenant(BIG), StatsRequest::default()).await.unwrap();
    eprintln!(
        "stats of the tenant with {} sessions: {:?}",
        stats.sessions.green + stats.sessions.yellow + stats.sessions.red,
        began.elapsed()
    );
    assert_eq!(stats.sessions.green + stats.sessions.yellow + stats.sessions.red, SESSIONS / 2);

    sqlx::query("DELETE FROM censuses").execute(&pool).await.unwrap();
    let began = Instant::now();
    let process = Keyed::start(&url, &[], &[]);
    let during = scrapes(&process.base).await;
    eprintln!("a scrape while it counts: {:?} at the median, {:?} at most of 100", during[50], during[99]);
    let client = crate::app::client();
    let found = eventually("all are counted", async || {
        let text = client.get(format!("{}/metrics", process.base)).send().await.unwrap().text().await.unwrap();
        let found = Scrape::read(&text);
        found.value("contextd_sessions", &[("state", "red")])?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        Some(found)
    })
    .await;
    eprintln!("a census as the binary takes it, from its start: {:?}", began.elapsed());
    let sum: f64 = ["green", "yellow", "red"]
        .map(|state| found.value("contextd_sessions", &[("state", state)]).unwrap())
        .iter()
        .sum();
    assert_eq!(sum, SESSIONS as f64);
    let after = scrapes(&process.base).await;
    eprintln!("a scrape afterwards: {:?} at the median, {:?} at most of 100", after[50], after[99]);
}
