//! The figures at every replica, whatever becomes of the database; and the guard, from its trip to its reset.

use serde_json::{Value, json};

use super::Scrape;
use crate::app::{App, Keyed};
use crate::drill_support::{by_hand, compact, id_of, turns};
use crate::patience::{eventually, until};
use crate::pg_proxy::{Mode, Proxy};

async fn read(base: &str) -> Scrape {
    let client = crate::app::client();
    let answer = client.get(format!("{base}/metrics")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    Scrape::read(&answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_show_what_one_of_them_counts() {
    let url = crate::pg::url().await;
    // Somebody else has the lease, and counts nothing.
    let pool = sqlx::PgPool::connect(&url).await.unwrap();
    let hold = "INSERT INTO censuses (tenant_id, subject, lease_token, lease_until)
        SELECT $1, subject, gen_random_uuid(), now() + interval '1 hour' FROM unnest(ARRAY['sessions', 'queue']) subject";
    sqlx::query(hold).bind(uuid::Uuid::nil()).execute(&pool).await.unwrap();
    let api = Keyed::start(&url, &["--role", "api"], &[]);
    let before = read(&api.base).await;
    assert!(before.kinds.contains_key("contextd_database_up"));
    for family in ["contextd_sessions", "contextd_queue_jobs", "contextd_figures_timestamp_seconds"] {
        assert!(!before.kinds.contains_key(family), "{family} was never counted, which is not 0");
    }
    sqlx::query("UPDATE censuses SET lease_until = now()").execute(&pool).await.unwrap();
    // That nobody works must show: whoever serves counts too.
    until("it is counted without a worker", async || {
        read(&api.base).await.value("contextd_queue_jobs", &[("status", "pending")]) == Some(0.0)
    })
    .await;
    let worker = Keyed::start(&url, &["--role", "worker"], &[]);
    for base in [&worker.base, &api.base] {
        let shown = async || {
            let found = read(base).await;
            let taken = |group| found.value("contextd_figures_timestamp_seconds", &[("figures", group)]);
            let all = (taken("sessions")?, taken("queue")?);
            assert_eq!(found.value("contextd_sessions", &[("state", "red")]), Some(0.0));
            assert_eq!(found.value("contextd_queue_jobs", &[("status", "dead")]), Some(0.0));
            Some(all)
        };
        let first = eventually("it was counted", shown).await;
        until("it is counted anew", async || shown().await.is_some_and(|now| now.0 > first.0 && now.1 > first.1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_without_a_database_shows_the_last_figures_and_their_time() {
    let proxy = Proxy::start().await;
    let app = App::fresh(&[("DATABASE_URL", &proxy.url()), ("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", "2000")]);
    app.session(json!({})).await;
    let base = app.url("");
    let green = |found: &Scrape| found.value("contextd_sessions", &[("state", "green")]);
    until("it is counted", async || green(&read(&base).await) == Some(1.0)).await;
    proxy.set(Mode::Silent);
    until("it is known to be away", async || read(&base).await.value("contextd_database_up", &[]) == Some(0.0)).await;
    let time = |found: &Scrape| found.value("contextd_figures_timestamp_seconds", &[("figures", "sessions")]).unwrap();
    let first = read(&base).await;
    let then = read(&base).await;
    assert_eq!((green(&first), green(&then)), (Some(1.0), Some(1.0)));
    assert_eq!(time(&first), time(&then), "they say how old they are");
    proxy.set(Mode::Pass);
    until("it is counted again", async || {
        let found = read(&base).await;
        found.value("contextd_database_up", &[]) == Some(1.0) && time(&found) > time(&first)
    })
    .await;
}

/// Sessions of the filter, by their ids.
async fn listed(app: &App, query: &str) -> Vec<String> {
    let page = app.get(&format!("/v1/sessions?{query}")).await.expect(200);
    page["items"].as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tripped_guard_is_counted_listed_and_shown_until_it_is_reset() {
    let app = App::fresh(&[]);
    let mut settings = by_hand();
    settings["min_savings_pct"] = json!(99);
    settings["max_consecutive_low_savings"] = json!(1);
    let session = app.session(json!({"settings": settings})).await;
    app.session(json!({})).await;
    app.append(&session, "openai_chat", json!(turns(0..20, 120))).await;
    let stats = async || app.get("/v1/stats").await.expect(200);
    assert_eq!(stats().await["sessions"]["guard_tripped"], 0);
    assert_eq!(listed(&app, "guard=tripped").await, Vec::<String>::new());
    let done = compact(&app, &session, json!({})).await;
    assert_eq!(done["result"]["anti_thrash"]["tripped"], true, "{done}");
    // An append keeps what the column says.
    app.append(&session, "openai_chat", json!(turns(20..21, 1))).await;
    assert_eq!(app.get(&format!("{session}/snapshot")).await.expect(200)["anti_thrash"]["tripped"], true);
    let found = stats().await;
    assert_eq!(found["sessions"]["guard_tripped"], 1, "{found}");
    assert_eq!(found["census_at"], found["until"], "{found}");
    assert_eq!(listed(&app, "guard=tripped&state=green").await, [id_of(&session)]);
    assert_eq!(listed(&app, "guard=tripped&state=red").await, Vec::<String>::new());
    let refused = app.get("/v1/sessions?guard=open").await;
    refused.assert_problem(422, "validation_failed");
    let pages: [(&str, &[&str]); 2] = [
        ("/ui", &["/ui/sessions?guard=tripped", "Guards tripped"]),
        ("/ui/sessions?guard=tripped", &[id_of(&session)]),
    ];
    for (page, texts) in pages {
        let shown = app.get(page).await.text;
        assert!(texts.iter().all(|text| shown.contains(text)), "{page}: {shown}");
    }
    assert_eq!(app.get("/ui/sessions?guard=asleep").await.status, 422);
    let scraped = async || read(&app.url("")).await.value("contextd_sessions_guard_tripped", &[]);
    until("the census has found it", async || scraped().await == Some(1.0)).await;

    let reset: Value = app.post(&format!("{session}/anti-thrash/reset"), json!({})).await.expect(200);
    assert_eq!(reset["anti_thrash"]["tripped"], false);
    assert_eq!(listed(&app, "guard=tripped").await, Vec::<String>::new());
    until("the census has found that too", async || scraped().await == Some(0.0)).await;
}
