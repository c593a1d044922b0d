//! The database: away, slow, held, and with no connection left.

use futures::future::join_all;
use serde_json::json;
use sqlx::{ConnectOptions, PgConnection};

use super::stage::{database, for_ms, lock, nothing, watching};
use crate::app::{App, NEVER_MS};
use crate::pg_proxy::{Mode, Proxy};

async fn own_connection(pool: &sqlx::PgPool) -> PgConnection {
    pool.connect_options().connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_database_that_goes_away() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url()), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "1000")]);
    let session = app.session(json!({})).await;
    let prometheus = watching(&app).await;

    proxy.set(Mode::Cut);
    prometheus.fires("ContextdDatabaseAway", &[], nothing).await;
    let told = prometheus
        .fires("ContextdErrors", &["ContextdDatabaseAway", "ContextdSlow"], async || {
            for answer in join_all((0..10).map(|_| app.get(&session))).await {
                assert_eq!(answer.status, 503, "{}", answer.text);
            }
        })
        .await;
    assert_eq!(told.labels["severity"], "critical");
    proxy.set(Mode::Pass);
    prometheus.sees_it_well("once the database is back").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_database_that_is_slow() {
    let (url, pool) = database().await;
    let app = App::fresh(&[("DATABASE_URL", &url), ("CONTEXTD_DATABASE_MAX_CONNECTIONS", "8")]);
    let session = app.session(json!({})).await;
    let prometheus = watching(&app).await;
    prometheus
        .fires("ContextdSlow", &["ContextdConnectionsUsedUp"], async || {
            let mut holder = own_connection(&pool).await;
            let held = lock(&mut holder, "sessions").await;
            let asked = async { join_all((0..60).map(|_| app.get(&session))).await };
            let (answers, ()) = tokio::join!(asked, async {
                for_ms(1_300).await;
                held.rollback().await.unwrap();
            });
            assert!(answers.iter().all(|answer| answer.status == 200));
        })
        .await;
    prometheus.sees_it_well("once nobody holds it").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn a_table_that_somebody_holds() {
    let (url, pool) = database().await;
    let never =
        ["CONTEXTD_DATABASE_LOCK_TIMEOUT_MS", "CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS"].map(|name| (name, NEVER_MS));
    let few = [("DATABASE_URL", url.as_str()), ("CONTEXTD_DATABASE_MAX_CONNECTIONS", "4"), never[0], never[1]];
    let app = App::fresh(&few);
    let session = app.session(json!({})).await;
    let prometheus = watching(&app).await;

    let mut holder = own_connection(&pool).await;
    let held = lock(&mut holder, "censuses").await;
    let told = prometheus.fires("ContextdFiguresStale", &[], nothing).await;
    assert!(["sessions", "queue"].contains(&told.labels["figures"].as_str().unwrap()));
    held.rollback().await.unwrap();
    prometheus.sees_it_well("once it is counted again").await;

    let held = lock(&mut holder, "sessions").await;
    let waiting = join_all((0..8).map(|_| app.get(&session)));
    let fired = prometheus.fires("ContextdConnectionsUsedUp", &["ContextdFiguresStale"], nothing);
    let (answers, ()) = tokio::join!(waiting, async {
        fired.await;
        held.rollback().await.unwrap();
    });
    assert!(answers.iter().all(|answer| answer.status == 200));
    prometheus.sees_it_well("once nobody holds it").await;
}
