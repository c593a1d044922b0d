//! Erasing a session: a marker is put wherever a client, a model, a hook or a provider can leave text, the session is
//! erased, and the database is searched.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{PgPool, Row};

use crate::app::{Answer, App};
use crate::drill_support::*;
use crate::hook_support::{Receiver, Reply};
use crate::patience::until;
use crate::played_upstream::{Behaviour, PlayedUpstream};

const SECRET: &str = "zq7secret";

/// An instance on a database of its own that the test can look into, its upstream and its hooks' receiver.
struct Place {
    app: App,
    pool: PgPool,
    upstream: PlayedUpstream,
    receiver: Receiver,
    _file: tempfile::NamedTempFile,
}

impl Place {
    async fn new() -> Place {
        let url = crate::pg::url().await;
        let upstream = PlayedUpstream::start(Behaviour::good()).await;
        let receiver = Receiver::start(Reply::Json(json!({}))).await;
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = format!(
            "[hooks]\nallow_private_networks = true\nretry_base_ms = 50\n[worker]\npoll_ms = 50\n[[upstreams]]\nname = \"default\"\n\
             kind = \"openai\"\nmodel = \"played\"\nbase_url = \"{}\"\napi_key = \"sk-played\"\ntimeout_ms = 60000\n\
             max_retries = 0\nretry_base_ms = 10\n",
            upstream.base_url()
        );
        std::fs::write(file.path(), config).unwrap();
        let config = file.path().to_str().unwrap();
        let app = App::fresh(&[("DATABASE_URL", url.as_str()), ("CONTEXTD_CONFIG", config)]);
        let pool = PgPool::connect(&url).await.unwrap();
        Place { app, pool, upstream, receiver, _file: file }
    }

    /// Every table that holds the text, with the number of rows that do.
    async fn hits(&self, text: &str) -> Vec<(String, i64)> {
        let tables: Vec<String> =
            sqlx::query_scalar("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'")
                .fetch_all(&self.pool)
                .await
                .unwrap();
        let mut hits = Vec::new();
        for table in tables {
            let found = sqlx::query(sqlx::AssertSqlSafe(format!(
                "SELECT count(*) FROM {table} t WHERE position($1 in lower(t::text)) > 0"
            )));
            let count: i64 = found.bind(text).fetch_one(&self.pool).await.unwrap().get(0);
            if count > 0 {
                hits.push((table, count));
            }
        }
        hits.sort();
        hits
    }

    async fn keyed(&self, path: &str, key: &str, body: Value) -> Answer {
        let method = if path.ends_with("/label") || path.ends_with("/transcript") { Method::PUT } else { Method::POST };
        self.app.send(method, path, &[("Idempotency-Key", key)], body.to_string()).await
    }

    /// Waits until the database holds what a count finds.
    async fn until(&self, count: &'static str) {
        until(count, async || sqlx::query_scalar::<_, i64>(count).fetch_one(&self.pool).await.unwrap() > 0).await;
    }
}

/// A session with the marker in everything that it was created with.
fn told(settings: Value) -> Value {
    let mut settings = settings;
    for (name, text) in [("instructions", "obey"), ("focus_topic", "topic"), ("compaction_prefix", "prefix")] {
        settings[name] = json!(format!("{SECRET} {text}"));
    }
    json!({
        "external_id": format!("{SECRET}-external"), "title": format!("{SECRET} title"), "metadata": {SECRET: SECRET},
        "model": format!("{SECRET}-model"), "system": format!("{SECRET} system"),
        "tools": [{"type": "function", "function": {"name": SECRET, "parameters": {"type": "object"}}}],
        "settings": settings,
    })
}

/// Turns that all speak of the marker, in speech, calls and results.
fn secret_turns(range: std::ops::Range<usize>, words: usize) -> Vec<Value> {
    let text = json!(turns(range, words)).to_string().replace("src/module", &format!("src/{SECRET}/module"));
    serde_json::from_str(&text).unwrap()
}

fn summary() -> String {
    format!(
        "## Goal\n{SECRET}: rename every src/{SECRET}/module and keep the tests green.\n\n## Progress\nModules renamed; tests pass."
    )
}

/// A session that was compacted, navigated, labelled and told to hooks, every call under a key.
async fn lived(place: &Place) -> String {
    let made = place.keyed("/v1/sessions", "create", told(by_hand())).await.expect(201);
    let session = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    let items = json!({"format": "openai_chat", "items": secret_turns(0..30, 120), "return_context": "anthropic"});
    place.keyed(&format!("{session}/entries"), "append", items).await.expect(201);
    let entries = all(&place.app, &format!("{session}/entries")).await;
    let label = format!("{session}/entries/{}/label", entries[3]["id"].as_str().unwrap());
    place.keyed(&label, "label", json!({"label": format!("{SECRET} label")})).await.expect(200);
    let asked = json!({"strategy": "llm_summarize", "instructions": SECRET, "focus_topic": SECRET, "wait": 120});
    let done = place.keyed(&format!("{session}/compact"), "compact", asked).await.expect(200);
    assert_eq!(done["status"], "succeeded", "{done}");
    for (path, key, body) in [
        ("rebuild", "rebuild", json!({"format": "openai_chat"})),
        ("prepare", "prepare", json!({"include_messages": true})),
        ("anti-thrash/reset", "reset", json!({})),
    ] {
        place.keyed(&format!("{session}/{path}"), key, body).await.expect(200);
    }
    let whole = json!({"format": "openai_chat", "items": secret_turns(0..31, 120)});
    place.keyed(&format!("{session}/transcript"), "put", whole).await.expect(200);
    let moved = json!({"target_id": entries[20]["id"], "summarize": true, "instructions": SECRET});
    let moved = place.keyed(&format!("{session}/navigate"), "navigate", moved).await.expect(200);
    assert!(moved["summary"]["text"].as_str().unwrap().contains(SECRET), "{moved}");
    let reverted = format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap());
    assert!([200, 409].contains(&place.keyed(&reverted, "revert", json!({})).await.status));
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_erased_session_is_left_in_the_database() {
    let place = Place::new().await;
    place.upstream.play(Behaviour::Good(summary()));
    let events = ["before_compact", "after_compact", "before_navigate", "after_navigate"];
    place.receiver.play(|_, _| Reply::Json(json!({"note": SECRET})));
    place.receiver.register(&place.app, &events, json!({})).await;
    let session = lived(&place).await;
    place.until("SELECT count(*) FROM hook_deliveries WHERE response IS NOT NULL").await;

    // A summary that waits to be committed.
    let window = json!({"context_window": 10_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500});
    let ahead = place.app.session(told(window)).await;
    for n in 0..40 {
        let appended = place.app.append(&ahead, "openai_chat", json!(secret_turns(n..n + 1, 60))).await;
        if appended["compaction"]["trigger"] == "ahead" {
            break;
        }
    }
    place.until("SELECT count(*) FROM compactions WHERE candidate IS NOT NULL").await;

    // A provider's error that quotes what it was sent.
    place.upstream.play(Behaviour::EchoError(400));
    let mut failing = by_hand();
    failing["on_upstream_failure"] = json!("fail");
    let failed = place.app.session(told(failing)).await;
    place.app.append(&failed, "openai_chat", json!(secret_turns(0..30, 120))).await;
    let body = json!({"format": "openai_chat", "items": [{"role": "user", "content": SECRET}],
        "provider_error": format!("prompt is too long: {SECRET}")});
    place.keyed(&format!("{failed}/entries"), "overflow", body).await.expect(201);
    let ended = compact(&place.app, &failed, json!({"strategy": "llm_summarize"})).await;
    assert_ne!(ended["status"], "succeeded", "{ended}");

    // A branch that is being left, and a compaction under way.
    place.upstream.play(Behaviour::Slow(Duration::from_secs(600), summary()));
    let leaving = place.app.session(told(by_hand())).await;
    place.app.append(&leaving, "openai_chat", json!(secret_turns(0..20, 60))).await;
    let entries = all(&place.app, &format!("{leaving}/entries")).await;
    let moved = json!({"target_id": entries[2]["id"], "summarize": true, "instructions": SECRET, "wait": 120});
    let compacting = place.app.session(told(by_hand())).await;
    place.app.append(&compacting, "openai_chat", json!(secret_turns(0..30, 120))).await;
    let (to, at) = (format!("{leaving}/navigate"), format!("{compacting}/compact"));
    let asked = json!({"strategy": "llm_summarize", "instructions": SECRET, "wait": 120});
    let erase = async {
        place.until("SELECT count(*) FROM departures").await;
        place.until("SELECT count(*) FROM compactions WHERE status = 'running' AND candidate IS NULL").await;
        let before = place.hits(SECRET).await;
        for one in [&session, &ahead, &failed, &leaving, &compacting] {
            assert_eq!(place.app.delete(one).await.status, 204);
            place.app.delete(one).await.assert_problem(404, "not_found");
        }
        before
    };
    let (navigated, compacted, before) =
        tokio::join!(place.keyed(&to, "leaving", moved), place.keyed(&at, "compacting", asked), erase);
    println!("before: {before:?}");
    for table in ["compactions", "departures", "entries", "hook_deliveries", "idempotency_keys", "sessions"] {
        assert!(before.iter().any(|(name, _)| name == table), "nothing was put into {table}: {before:?}");
    }
    for waiting in [navigated, compacted] {
        waiting.assert_problem(404, "not_found");
    }
    assert_eq!(place.hits(SECRET).await, [], "after the last DELETE");
    assert_eq!(place.hits(id_of(&session)).await, [], "its very id");
    let replayed = place.keyed(&format!("{session}/rebuild"), "rebuild", json!({"format": "openai_chat"})).await;
    replayed.assert_problem(404, "not_found");
}

/// The ids of the entries that a session shows, all branches.
async fn shown(place: &Place, session: &str) -> Vec<Value> {
    all(&place.app, &format!("{session}/entries?all=true")).await.iter().map(|entry| entry["id"].clone()).collect()
}

async fn forked(place: &Place, session: &str, entry: &Value) -> String {
    let fork = place.app.post(&format!("{session}/fork"), json!({"entry_id": entry})).await.expect(201);
    format!("/v1/sessions/{}", fork["id"].as_str().unwrap())
}

/// Waits for what is cleared away in the background, if anything is.
async fn count(place: &Place, statement: &'static str) -> i64 {
    sqlx::query_scalar(statement).fetch_one(&place.pool).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_keeps_what_it_shares_and_nothing_else() {
    let place = Place::new().await;
    let session = place.app.session(json!({"settings": by_hand()})).await;
    place.app.append(&session, "openai_chat", json!(turns(0..20, 120))).await;
    let trunk = all(&place.app, &format!("{session}/entries")).await;
    // The fork shares 40 of these and a compaction; a fork of the fork shares more of the fork's, on a branch of its own.
    let done = compact(&place.app, &session, json!({"strategy": "summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    place.app.append(&session, "openai_chat", json!(turns(20..22, 120))).await;
    let path = all(&place.app, &format!("{session}/entries")).await;
    let fork = forked(&place, &session, &path.last().unwrap()["id"]).await;
    let early = forked(&place, &session, &trunk[7]["id"]).await;

    // All this is the parent's alone: a side branch, what comes after the fork, a second compaction.
    let settings = told(json!({}))["settings"].take();
    let patch = json!({"title": SECRET, "metadata": {"a": SECRET}, "system": SECRET, "settings": settings});
    place.app.patch(&session, patch).await.expect(200);
    place.app.append(&session, "openai_chat", json!(secret_turns(50..70, 120))).await;
    let asked = json!({"strategy": "summarize", "instructions": SECRET, "force": true, "wait": 120});
    place.keyed(&format!("{session}/compact"), "compact", asked).await.expect(200);
    let back = json!({"target_id": trunk[20]["id"]});
    place.app.post(&format!("{session}/navigate"), back).await.expect(200);
    place
        .keyed(
            &format!("{session}/entries"),
            "side",
            json!({"format": "openai_chat", "items": secret_turns(80..90, 120)}),
        )
        .await
        .expect(201);

    place.app.append(&fork, "openai_chat", json!(turns(30..34, 120))).await;
    let back = json!({"target_id": trunk[30]["id"]});
    place.app.post(&format!("{fork}/navigate"), back).await.expect(200);
    place.app.append(&fork, "openai_chat", json!(turns(36..38, 120))).await;
    let tips = all(&place.app, &format!("{fork}/entries")).await;
    let second = forked(&place, &fork, &tips.last().unwrap()["id"]).await;
    let told_before = place.hits(SECRET).await;
    assert!(told_before.iter().any(|(table, rows)| table == "entries" && *rows > 50), "{told_before:?}");

    let mut left = vec![fork.clone(), early.clone(), second.clone()];
    let mut gone = session.clone();
    while !left.is_empty() {
        let mut before = Vec::new();
        for one in &left {
            before.push((shown(&place, one).await, context(&place.app, one, "openai_chat").await["messages"].clone()));
        }
        assert_eq!(place.app.delete(&gone).await.status, 204);
        assert_eq!(place.hits(SECRET).await, [], "{} forks left", left.len());
        for (one, (entries, messages)) in left.iter().zip(before) {
            assert_eq!(shown(&place, one).await, entries);
            assert_eq!(context(&place.app, one, "openai_chat").await["messages"], messages);
            let calls = all(&place.app, &format!("{one}/tool-calls")).await;
            assert!(calls.iter().all(|call| call["status"] != "open"), "results stay with their calls");
            place.app.append(one, "openai_chat", json!(turns(40..41, 20))).await;
            for format in ["openai_chat", "anthropic", "openai_responses"] {
                let shown = context(&place.app, one, format).await;
                let linted = json!({"format": format, "items": shown["messages"]});
                assert_eq!(place.app.post("/v1/lint", linted).await.expect(200)["valid"], true, "{format}");
            }
        }
        gone = left.remove(0);
    }
    assert_eq!(place.app.delete(&gone).await.status, 204);
    for table in ["sessions", "entries", "branches", "tool_calls", "compactions", "jobs", "rebuilds", "events"] {
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(&place.pool)
            .await
            .unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

/// A compaction is its session's; what a fork shares of it is the entry, and the summary that this says.
#[tokio::test(flavor = "multi_thread")]
async fn a_finished_compaction_goes_with_its_session_also_where_a_fork_shares_its_entry() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let done = compact(app, &session, json!({"strategy": "summarize"})).await;
    let last =
        compact(app, &session, json!({"strategy": "summarize", "summary": "## Goal\n- rename all", "force": true}))
            .await;
    let summary = done["result"]["summary"].as_str().unwrap();
    let fork = app.post(&format!("{session}/fork"), json!({"entry_id": done["result"]["entry_id"]})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    let of_fork = async || {
        let shown = context(app, &fork, "native").await["messages"].clone();
        let listed = all(app, &format!("{fork}/compactions")).await;
        (shown, listed)
    };
    let before = of_fork().await;
    assert!(before.0.to_string().contains(&json!(summary).to_string()) && before.1.is_empty(), "{}", before.0);
    let calls = async |id: &Value| {
        let at = format!("/v1/compactions/{}", id.as_str().unwrap());
        let [cancel, revert] = ["cancel", "revert"].map(|what| format!("{at}/{what}"));
        [app.get(&at).await, app.post(&cancel, json!({})).await, app.post(&revert, json!({})).await]
    };
    for one in [&done, &last] {
        assert_eq!(calls(&one["id"]).await[0].status, 200);
    }
    app.delete(&session).await.expect(204);
    for one in [&done, &last] {
        calls(&one["id"]).await.iter().for_each(|answer| answer.assert_problem(404, "not_found"));
    }
    app.get(&format!("{session}/compactions")).await.assert_problem(404, "not_found");
    assert_eq!(of_fork().await, before);
    app.append(&fork, "openai_chat", json!(turns(20..40, 120))).await;
    let own = compact(app, &fork, json!({"strategy": "summarize"})).await;
    assert_eq!(own["status"], "succeeded", "{own}");
    app.delete(&fork).await.expect(204);
    calls(&own["id"]).await.iter().for_each(|answer| answer.assert_problem(404, "not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_last_fork_shares_shrinks_with_the_forks() {
    let place = Place::new().await;
    let session = place.app.session(json!({"settings": by_hand()})).await;
    place.app.append(&session, "openai_chat", json!(turns(0..10, 20))).await;
    let trunk = all(&place.app, &format!("{session}/entries")).await;
    let (late, early) =
        (forked(&place, &session, &trunk[29]["id"]).await, forked(&place, &session, &trunk[4]["id"]).await);
    let stored = "SELECT count(*) FROM entries";
    for (erased, rows) in [(&session, 30), (&late, 5), (&early, 0)] {
        assert_eq!(place.app.delete(erased).await.status, 204);
        assert_eq!(count(&place, stored).await, rows);
    }
    assert_eq!(count(&place, "SELECT count(*) FROM sessions").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_race_with_an_erasure_leave_nothing_and_say_not_found() {
    let place = Place::new().await;
    for round in 0..12 {
        let session = place.app.session(told(by_hand())).await;
        place.app.append(&session, "openai_chat", json!(secret_turns(0..20, 60))).await;
        let trunk = all(&place.app, &format!("{session}/entries")).await;
        let fork = match round % 2 {
            0 => None,
            _ => Some(forked(&place, &session, &trunk[0]["id"]).await),
        };
        let at = |path: &str| format!("{session}/{path}");
        let key = |name: &str| format!("{name}-{round}");
        let items = json!({"format": "openai_chat", "items": secret_turns(50..51, 20)});
        let (paths, keys) = (
            [at("compact"), at("entries"), at("rebuild"), at("prepare"), at("navigate"), at("fork"), at("compact")],
            ["compact", "append", "rebuild", "prepare", "navigate", "fork", "waits"].map(key),
        );
        let calls = [
            json!({"instructions": SECRET}),
            items,
            json!({"format": "anthropic"}),
            json!({"include_messages": true}),
            json!({"target_id": trunk[3]["id"], "summarize": true, "instructions": SECRET}),
            json!({}),
            json!({"instructions": SECRET, "wait": 30}),
        ];
        let called = paths.iter().zip(&keys).zip(calls).map(|((path, key), body)| place.keyed(path, key, body));
        let erased = async {
            // Each round erases at another moment of the calls, wherever that falls.
            tokio::time::sleep(Duration::from_millis(3 * round)).await;
            place.app.delete(&session).await
        };
        let (answers, erased) = tokio::join!(futures::future::join_all(called), erased);
        assert_eq!(erased.status, 204);
        for (answer, path) in answers.into_iter().zip(&paths) {
            assert!([200, 201, 202, 404, 409].contains(&answer.status), "{path}: {}", answer.text);
            if path.ends_with("/fork") && answer.status == 201 {
                place.app.delete(&format!("/v1/sessions/{}", answer.body["id"].as_str().unwrap())).await.expect(204);
            }
        }
        if let Some(fork) = fork {
            place.app.delete(&fork).await.expect(204);
        }
        assert_eq!(place.hits(SECRET).await, [], "round {round}");
    }
}
