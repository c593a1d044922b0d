//! Erasing many sessions at once: those that fit and no others, in pieces, again, and through a crash.

use std::sync::atomic::{AtomicI64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::{Answer, App};
use crate::drill_support::{all, by_hand, context, id_of, turns};
use crate::patience::until;
use crate::session_lists::{many, nth, place};

async fn erase(app: &App, body: Value) -> Value {
    app.post("/v1/sessions/erase", body).await.expect(200)
}

fn counts(answer: &Value) -> (i64, i64, bool) {
    (answer["matched"].as_i64().unwrap(), answer["erased"].as_i64().unwrap(), answer["more"].as_bool().unwrap())
}

async fn count(pool: &PgPool, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn what_does_not_say_which_sessions_is_refused() {
    let app = App::fresh(&[]);
    let kept = app.session(json!({})).await;
    let id = id_of(&kept);
    let (ids, names) = (vec![id; 1_001], vec!["x"; 101]);
    let keys: serde_json::Map<String, Value> = (0..17).map(|n| (format!("k{n}"), json!(n))).collect();
    for (body, pointer) in [
        (json!({}), ""),
        (json!({"limit": 5, "dry_run": true}), ""),
        (json!({"all": false}), ""),
        (json!({"all": true, "state": "green"}), "/all"),
        (json!({"ids": []}), "/ids"),
        (json!({"ids": ids}), "/ids"),
        (json!({"external_ids": []}), "/external_ids"),
        (json!({"external_ids": names}), "/external_ids"),
        (json!({"external_ids": ["a", "x".repeat(513)]}), "/external_ids/1"),
        (json!({"external_ids": ["\0"]}), "/external_ids/0"),
        (json!({"external_ids": ["a"], "ids": [id]}), "/external_ids"),
        (json!({"metadata": {}}), "/metadata"),
        (json!({"metadata": keys}), "/metadata"),
        (json!({"metadata": {"a": {"b": 1}}}), "/metadata/a"),
        (json!({"metadata": {"a/b": [1]}}), "/metadata/a~1b"),
        (json!({"metadata": {"a": "x".repeat(1_001)}}), "/metadata/a"),
        (json!({"metadata": {"a": "\0"}}), "/metadata/a"),
        (json!({"state": "purple"}), "/state"),
        (json!({"all": true, "limit": 0}), "/limit"),
        (json!({"all": true, "limit": 1_001}), "/limit"),
        (json!({"all": true, "after": "x"}), "/after"),
        (json!({"ids": ["x"]}), "/ids/0"),
        (json!({"updated_before": "yesterday"}), "/updated_before"),
        (json!({"title": "x"}), "/title"),
    ] {
        let refused = app.post("/v1/sessions/erase", body.clone()).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{body}");
    }
    app.get(&kept).await.expect(200);
}

#[tokio::test]
async fn sessions_that_fit_are_erased_and_no_others() {
    let app = App::fresh(&[]);
    let made = async |name: &str, metadata: Value| {
        let session = app.session(json!({"external_id": name, "metadata": metadata})).await;
        app.append(&session, "openai_chat", json!([{"role": "user", "content": "hello"}])).await;
        session
    };
    let (a, b) = (made("a", json!({"user": "x", "n": 1})).await, made("b", json!({"user": "x", "n": 2})).await);
    let (c, d) = (made("a", json!({"user": "y", "n": 1})).await, made("d", json!({"on": true})).await);
    let left = async || {
        let listed = all(&app, "/v1/sessions").await;
        listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let everything = [&d, &c, &b, &a].map(|path| id_of(path).to_owned());
    for (filter, matched) in [
        (json!({"external_ids": ["a"]}), 2),
        (json!({"external_ids": ["a", "a", "d", "nobody"]}), 3),
        (json!({"external_ids": ["a"], "metadata": {"user": "x"}}), 1),
        (json!({"ids": [id_of(&a), id_of(&a), "00000000-0000-7000-8000-000000000000"]}), 1),
        (json!({"ids": [id_of(&a), id_of(&b)], "metadata": {"n": 2}}), 1),
        (json!({"metadata": {"n": 1}}), 2),
        (json!({"metadata": {"on": true}}), 1),
        (json!({"metadata": {"user": "x", "n": "2"}}), 1),
        (json!({"metadata": {"user": null}}), 0),
        (json!({"state": "green"}), 4),
        (json!({"state": "red"}), 0),
        (json!({"updated_before": "2999-01-01T00:00:00Z"}), 4),
        (json!({"created_before": "2001-01-01T00:00:00Z"}), 0),
        (json!({"all": true}), 4),
        (json!({"all": true, "limit": 1}), 4),
    ] {
        let mut dry = filter.clone();
        dry["dry_run"] = json!(true);
        assert_eq!(counts(&erase(&app, dry).await), (matched, 0, false), "{filter}");
    }
    assert_eq!(left().await, everything, "nothing is gone by counting");
    let changed = app.get(&b).await.expect(200)["updated_at"].clone();
    assert_eq!(counts(&erase(&app, json!({"updated_before": changed})).await), (1, 1, false), "a is older than b");
    assert_eq!(left().await, everything[..3]);
    assert_eq!(counts(&erase(&app, json!({"external_ids": ["a"], "limit": 1})).await), (1, 1, false));
    app.get(&c).await.assert_problem(404, "not_found");
    let first = erase(&app, json!({"all": true, "limit": 1})).await;
    assert_eq!(counts(&first), (1, 1, true), "the newest first");
    assert_eq!(left().await, everything[2..3]);
    let rest = erase(&app, json!({"all": true, "limit": 1, "after": first["next_cursor"]})).await;
    assert_eq!((counts(&rest), left().await.len()), ((1, 1, false), 0));
    assert_eq!(counts(&erase(&app, json!({"all": true})).await), (0, 0, false));
}

async fn keyed(app: &App, key: &str, body: &Value) -> Answer {
    app.send(Method::POST, "/v1/sessions/erase", &[("Idempotency-Key", key)], body.to_string()).await
}

#[tokio::test]
async fn under_a_key_it_is_done_once() {
    let app = App::fresh(&[]);
    for _ in 0..3 {
        app.session(json!({"metadata": {"a": "b"}})).await;
    }
    let body = json!({"metadata": {"a": "b"}, "limit": 2});
    let first = keyed(&app, "once", &body).await;
    assert_eq!((first.status, counts(&first.body)), (200, (2, 2, true)));
    let again = keyed(&app, "once", &body).await;
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    assert_eq!(all(&app, "/v1/sessions").await.len(), 1, "the replay erased nothing");
    keyed(&app, "once", &json!({"all": true})).await.assert_problem(422, "idempotency_key_reused");
    assert_eq!(counts(&keyed(&app, "other", &json!({"metadata": {"a": "c"}})).await.body), (0, 0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_that_stay_keep_what_they_share() {
    let (app, pool) = place().await;
    let parent = app.session(json!({"settings": by_hand(), "metadata": {"kind": "trunk"}})).await;
    app.append(&parent, "openai_chat", json!(turns(0..20, 60))).await;
    let trunk = all(&app, &format!("{parent}/entries")).await;
    let mut forks = Vec::new();
    for (at, metadata) in [(7, json!({"kind": "trunk"})), (20, json!({"kind": "kept"})), (30, json!({"kind": "trunk"}))]
    {
        let fork = app.post(&format!("{parent}/fork"), json!({"entry_id": trunk[at]["id"]})).await.expect(201);
        let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
        app.patch(&fork, json!({"metadata": metadata})).await.expect(200);
        app.append(&fork, "openai_chat", json!(turns(30..32, 60))).await;
        forks.push(fork);
    }
    let before = context(&app, &forks[1], "openai_chat").await["messages"].clone();
    assert_eq!(counts(&erase(&app, json!({"metadata": {"kind": "trunk"}})).await), (3, 3, false));
    assert_eq!(context(&app, &forks[1], "openai_chat").await["messages"], before);
    for gone in [&parent, &forks[0], &forks[2]] {
        app.get(gone).await.assert_problem(404, "not_found");
    }
    until("only what is shared is left", async || count(&pool, "SELECT count(*) FROM sessions").await == 2).await;
    let shared = 21;
    let own = count(&pool, "SELECT count(*) FROM entries").await - shared;
    assert!(own > 0 && own <= 8, "{own} beside the {shared} that the fork shares");
    assert_eq!(counts(&erase(&app, json!({"all": true})).await), (1, 1, false));
    for table in ["sessions", "entries", "branches", "tool_calls"] {
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_comes_to_life_meanwhile_stays() {
    let (app, pool) = place().await;
    let session = app.session(json!({"metadata": {"idle": true}})).await;
    let mut holding = pool.acquire().await.unwrap();
    for statement in ["BEGIN", "UPDATE sessions SET updated_at = now() + interval '1 year', version = version + 1"] {
        sqlx::query(statement).execute(&mut *holding).await.unwrap();
    }
    let answered = erase(&app, json!({"updated_before": "2200-01-01T00:00:00Z", "metadata": {"idle": true}}));
    let released = async {
        crate::patience::until_blocked(&pool).await;
        sqlx::query("UPDATE sessions SET updated_at = '2300-01-01'").execute(&mut *holding).await.unwrap();
        sqlx::query("COMMIT").execute(&mut *holding).await.unwrap();
    };
    let (answer, ()) = tokio::join!(answered, released);
    assert_eq!(counts(&answer), (1, 0, false), "found, and no longer idle when its turn came");
    app.get(&session).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn among_ten_thousand_sessions_piece_by_piece() {
    let (app, pool) = place().await;
    many(&app, &pool, 10_000).await;
    let dry = erase(&app, json!({"metadata": {"mod": "3"}, "dry_run": true})).await;
    assert_eq!(counts(&dry), (1_429, 0, false));
    let body = json!({"metadata": {"mod": "3"}, "limit": 1000});
    let first = erase(&app, body.clone()).await;
    assert_eq!(counts(&first), (1_000, 1_000, true));
    let newest = first["next_cursor"].clone();
    assert!(!newest.is_null());
    let rest = erase(&app, body.clone()).await;
    assert_eq!(counts(&rest), (429, 429, false), "the same call again goes on");
    assert_eq!(counts(&erase(&app, body).await), (0, 0, false));
    until("they are emptied", async || count(&pool, "SELECT count(*) FROM sessions").await == 8_571).await;
    let gone = erase(&app, json!({"external_ids": ["ticket-9998", "ticket-3"]})).await;
    assert_eq!(counts(&gone), (1, 1, false), "the other one went before");
    app.get(&format!("/v1/sessions/{}", nth(9_998))).await.assert_problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_the_middle_leaves_nothing_half_erased() {
    let (app, pool) = place().await;
    many(&app, &pool, 2_000).await;
    let parent = app.session(json!({})).await;
    app.append(&parent, "openai_chat", json!(turns(0..10, 20))).await;
    let fork = app.post(&format!("{parent}/fork"), json!({})).await.expect(201);
    let body = json!({"all": true});
    let begun = async || count(&pool, "SELECT 2002 - count(*) FROM sessions WHERE deleted_at IS NULL").await > 20;
    let crashed = {
        let url = app.url("/v1/sessions/erase");
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let call = client.post(url).header("content-type", "application/json").header("idempotency-key", "crash");
        let call = tokio::spawn(call.body(body.to_string()).send());
        until("some are erased", begun).await;
        let app = app.kill_and_restart();
        assert!(call.await.unwrap().is_err(), "it got no answer");
        app
    };
    let app = crashed;
    let hidden = count(&pool, "SELECT count(*) FROM sessions WHERE deleted_at IS NOT NULL AND NOT erase_due").await;
    assert_eq!(hidden, 0, "whatever is hidden is marked");
    let left = all(&app, "/v1/sessions").await.len() as i64;
    assert_eq!(left, count(&pool, "SELECT count(*) FROM sessions WHERE deleted_at IS NULL").await);
    assert!(left > 0 && left < 2_002, "{left}");
    app.get(&format!("/v1/sessions/{}", fork["id"].as_str().unwrap())).await.assert_problem(404, "not_found");
    // As if a minute had passed.
    sqlx::query("UPDATE sessions SET deleted_at = deleted_at - interval '1 hour' WHERE deleted_at IS NOT NULL")
        .execute(&pool)
        .await
        .unwrap();
    let app = app.kill_and_restart();
    let rest = "SELECT count(*) FROM sessions WHERE deleted_at IS NOT NULL";
    until("a worker has finished it", async || count(&pool, rest).await == 0).await;
    let mut answer = keyed(&app, "crash", &body).await.expect(200);
    let mut erased = 0;
    loop {
        erased += answer["erased"].as_i64().unwrap();
        if answer["more"] == false {
            break;
        }
        answer = erase(&app, body.clone()).await;
    }
    assert_eq!(erased, left, "the same call goes on where it was cut off");
    until("nothing is left", async || count(&pool, "SELECT count(*) FROM sessions").await == 0).await;
    for statement in
        ["SELECT count(*) FROM entries", "SELECT count(*) FROM branches", "SELECT count(*) FROM tool_calls"]
    {
        assert_eq!(count(&pool, statement).await, 0, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_away_leaves_nothing_half_erased() {
    let (app, pool) = place().await;
    many(&app, &pool, 2_000).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = client.post(app.url("/v1/sessions/erase")).header("content-type", "application/json");
    let call = tokio::spawn(call.body(r#"{"all": true}"#).send());
    let begun = "SELECT 2000 - count(*) FROM sessions WHERE deleted_at IS NULL";
    until("some are erased", async || count(&pool, begun).await > 20).await;
    call.abort();
    let hidden = "SELECT count(*) FROM sessions WHERE deleted_at IS NOT NULL";
    let steady = AtomicI64::new(-1);
    let (pool, steady) = (&pool, &steady);
    until("it stops, and what is hidden is emptied", || async move {
        let now = count(pool, begun).await;
        steady.swap(now, Ordering::Relaxed) == now && count(pool, hidden).await == 0
    })
    .await;
}
