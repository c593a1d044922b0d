//! A compaction whose commit fails is told by nobody.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::collector::Collector;
use super::exporting;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled, reaches, turns};
use crate::metrics::Scrape;
use crate::patience::eventually;

/// The first transaction in which a compaction succeeds fails when it is committed.
const FIRST_COMMIT_FAILS: &str = "CREATE SEQUENCE commits;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('commits') = 1 THEN RAISE EXCEPTION 'refused at the commit'; END IF;
            RETURN NULL;
        END $$;
    CREATE CONSTRAINT TRIGGER fail_once AFTER UPDATE ON compactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (OLD.status <> 'succeeded' AND NEW.status = 'succeeded') EXECUTE FUNCTION fail_once();";

/// An instance before a collector, on a database that the test can write to.
async fn place(collector: &Collector) -> (App, PgPool) {
    let (database, url) = (crate::pg::url().await, collector.url());
    let mut envs = exporting(&url);
    envs.push(("DATABASE_URL", &database));
    (App::fresh(&envs), PgPool::connect(&database).await.unwrap())
}

/// Compactions that were told as succeeded, and how often it was told how long one was waited for.
async fn told(app: &App) -> (f64, f64) {
    let scrape = Scrape::read(&app.get("/metrics").await.text);
    let of = |family: &str, wanted: Option<&str>| -> f64 {
        let counted = |labels: &std::collections::BTreeMap<String, String>| {
            wanted.is_none_or(|status| labels.get("status").is_some_and(|found| found == status))
        };
        let samples = scrape.samples.iter().filter(|sample| sample.name == family && counted(&sample.labels));
        samples.map(|sample| sample.value).sum()
    };
    (of("contextd_compactions_total", Some("succeeded")), of("contextd_compaction_wait_seconds_count", None))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_commit_fails_tells_of_no_compaction() {
    let collector = Collector::start().await;
    let (app, pool) = place(&collector).await;
    let settings = json!({"context_window": 10_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500,
        "strategy": "summarize"});
    let session = app.session(json!({"settings": settings})).await;
    let append = async |n: usize| {
        let body = json!({"format": "openai_chat", "items": turns(n..n + 1, 60)});
        app.post(&format!("{session}/entries"), body).await
    };
    let mut turn = 0;
    let prepared = loop {
        let appended = append(turn).await.expect(201);
        turn += 1;
        if appended["compaction"]["trigger"] == "ahead" {
            break appended["compaction"]["id"].clone();
        }
        assert!(turn < 200, "nothing is prepared ahead");
    };
    eventually("it is prepared", async || {
        let compaction = app.get(&format!("/v1/compactions/{}", prepared.as_str().unwrap())).await.expect(200);
        (compaction["prepared"] == true).then_some(())
    })
    .await;
    sqlx::raw_sql(FIRST_COMMIT_FAILS).execute(&pool).await.unwrap();
    while append(turn).await.status == 201 {
        turn += 1;
        assert!(turn < 200, "it never turns red");
    }
    let is_failed = |span: &super::Span| {
        span.name == "POST /v1/sessions/{sid}/entries"
            && span.attributes["http.response.status_code"].as_u64().is_some_and(|status| status >= 500)
    };
    let request = collector.span("the failed append's span comes", is_failed).await;
    let is_below = |span: &super::Span| span.name == "compaction" && span.parent == request.id;
    let compaction = collector.span("the compaction's span comes", is_below).await;
    println!("{}", collector.tree(&request));
    assert!(compaction.is_error && !compaction.attributes.contains_key("gen_ai.conversation.compacted"));
    assert_eq!(compaction.attributes.get("contextd.compaction.outcome"), None);
    assert_eq!(told(&app).await, (0.0, 0.0));
    let still = app.get(&format!("/v1/compactions/{}", prepared.as_str().unwrap())).await.expect(200);
    assert_eq!((&still["status"], &still["prepared"]), (&json!("running"), &json!(true)));

    let landed = append(turn).await.expect(201);
    assert_eq!((&landed["compaction"]["id"], &landed["compaction"]["status"]), (&prepared, &json!("succeeded")));
    assert_eq!(told(&app).await, (1.0, 1.0));
    let took_effect = |span: &super::Span| {
        span.name == "compaction"
            && span.attributes.get("contextd.compaction.id") == Some(&prepared)
            && span.attributes.get("gen_ai.conversation.compacted") == Some(&Value::Bool(true))
    };
    let compaction = collector.span("the second append's span comes", took_effect).await;
    assert_eq!(compaction.attributes["contextd.compaction.outcome"], "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_commit_fails_counts_its_compaction_once() {
    let collector = Collector::start().await;
    let (app, pool) = place(&collector).await;
    let session = filled(&app, by_hand(), 20).await;
    sqlx::raw_sql(FIRST_COMMIT_FAILS).execute(&pool).await.unwrap();
    let done = compact(&app, &session, json!({"strategy": "summarize"})).await;
    let done = reaches(&app, &done["id"], &["succeeded"]).await;
    assert_eq!(done["result"]["strategy_used"], "summarize", "{done}");
    assert_eq!(sqlx::query_scalar::<_, i64>("SELECT last_value FROM commits").fetch_one(&pool).await.unwrap(), 2);
    assert_eq!(told(&app).await.0, 1.0);
}
