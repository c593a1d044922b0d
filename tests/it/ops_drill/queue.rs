//! The queue: nobody works, and work that can't be done.

use serde_json::json;

use super::stage::{database, nothing, watching};
use crate::app::App;
use crate::drill_support::{by_hand, ended, filled};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn nobody_works() {
    let (url, _pool) = database().await;
    let app = App::fresh(&[("DATABASE_URL", &url), ("CONTEXTD_ROLE", "api")]);
    let prometheus = watching(&app).await;
    let session = filled(&app, by_hand(), 20).await;
    let asked = app.post(&format!("{session}/compact"), json!({"strategy": "summarize"})).await.expect(202);
    prometheus.fires("ContextdQueueStuck", &[], nothing).await;

    let worker = App::fresh(&[("DATABASE_URL", &url), ("CONTEXTD_ROLE", "worker")]);
    assert_eq!(ended(&app, &asked["id"]).await["status"], "succeeded");
    prometheus.sees_it_well("once somebody works").await;
    assert!(worker.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Debian's prometheus, and some ten minutes with the others: run it by name"]
async fn work_that_cannot_be_done() {
    let (url, pool) = database().await;
    let app = App::fresh(&[("DATABASE_URL", &url)]);
    let prometheus = watching(&app).await;
    let session = filled(&app, by_hand(), 20).await;
    let refusing = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON entries FOR EACH ROW WHEN (NEW.kind = 'compaction') EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refusing).execute(&pool).await.unwrap();
    let asked = app.post(&format!("{session}/compact"), json!({"strategy": "summarize"})).await.expect(202);
    prometheus.fires("ContextdDeadLetters", &["ContextdQueueStuck"], nothing).await;
    assert_eq!(ended(&app, &asked["id"]).await["status"], "failed");

    sqlx::raw_sql("DROP TRIGGER refuse ON entries").execute(&pool).await.unwrap();
    app.post(&format!("/v1/compactions/{}/retry", asked["id"].as_str().unwrap()), json!({})).await.expect(202);
    assert_eq!(ended(&app, &asked["id"]).await["status"], "succeeded");
    prometheus.sees_it_well("once it is done again").await;
}
