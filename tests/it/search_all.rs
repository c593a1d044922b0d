//! Search over all sessions: what is there is found, once, and what was not looked at is never said to be nothing.

use std::collections::HashSet;

use contextd::service::Services;
use contextd::service::core::state::Options;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::app::{App, Keyed};
use crate::drill_support::{all as listed, by_hand, compact, id_of, turns};
use crate::patience::until;
use crate::session_lists::place;

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Every hit of a query, and how many answers it took. Each answer says how far it came.
async fn found(app: &App, q: &str, limit: usize) -> (Vec<Value>, Vec<Value>) {
    let (mut hits, mut answers, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let answer = app.get(&format!("/v1/search?q={}&limit={limit}{after}", encoded(q))).await.expect(200);
        let items = answer["items"].as_array().unwrap();
        assert!(items.len() <= limit);
        hits.extend(items.iter().cloned());
        assert_eq!(answer["complete"] == true, answer["next_cursor"].is_null());
        let next = answer["next_cursor"].as_str().map(str::to_owned);
        answers.push(answer);
        match next {
            Some(next) => after = format!("&after={next}"),
            None => return (hits, answers),
        }
    }
}

fn sessions_of(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["session_id"].as_str().unwrap()).collect()
}

fn said(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

#[tokio::test]
async fn entries_of_all_sessions_are_found_newest_first() {
    let app = App::fresh(&[]);
    let (one, two) = (app.session(json!({})).await, app.session(json!({})).await);
    app.append(&one, "openai_chat", said("The falcon has landed.")).await;
    app.append(&two, "openai_chat", said("A falcon, again: \u{7}\\ \"quoted\" falcons")).await;
    app.append(&two, "openai_chat", said("Only a kestrel.")).await;
    app.append(&one, "openai_chat", said("falcon-like kestrel")).await;
    let (hits, answers) = found(&app, "FALCON", 50).await;
    assert_eq!(sessions_of(&hits), [id_of(&two), id_of(&one), id_of(&one)]);
    assert_eq!(answers.len(), 1);
    assert_eq!((&answers[0]["searched_sessions"], &answers[0]["searched_entries"]), (&json!(2), &json!(4)));
    let first = &hits[0];
    assert!(first["snippet"].as_str().unwrap().contains("<mark>falcon</mark>"), "{first}");
    assert_eq!((&first["type"], &first["role"], &first["seq"]), (&json!("message"), &json!("user"), &json!(0)));
    assert!(first["rank"].as_f64().unwrap() > 0.5);
    let entry = app.get(&format!("{two}/entries/{}", first["entry_id"].as_str().unwrap())).await.expect(200);
    assert_eq!(entry["seq"], 0);
    assert_eq!((hits[1]["seq"].as_i64(), hits[2]["seq"].as_i64()), (Some(1), Some(0)), "the newest first");
    let page_by_page = found(&app, "falcon", 1).await;
    assert_eq!(page_by_page.0, hits);
    assert_eq!(sessions_of(&found(&app, "falcon kestrel", 50).await.0), [id_of(&one)], "every word");
    assert_eq!(sessions_of(&found(&app, "\"only a\"", 50).await.0), [id_of(&two)]);
    let (none, answers) = found(&app, "eagle", 50).await;
    assert!(none.is_empty() && answers[0]["complete"] == true);

    app.delete(&two).await.expect(204);
    assert_eq!(sessions_of(&found(&app, "falcon", 50).await.0), [id_of(&one), id_of(&one)]);

    for (query, pointer) in [
        ("".to_owned(), "/query/q"),
        ("q=".to_owned(), "/query/q"),
        ("q=%20%22%22".to_owned(), "/query/q"),
        (format!("q={}", "x".repeat(1_001)), "/query/q"),
        (format!("q={}", encoded(&(0..33).map(|n| format!("w{n} ")).collect::<String>())), "/query/q"),
        ("q=%00".to_owned(), "/query/q"),
        ("q=a&after=x".to_owned(), "/query/after"),
        (format!("q=a&after={}.x", id_of(&one)), "/query/after"),
        ("q=a&limit=201".to_owned(), "/query/limit"),
        ("q=a&order=rank".to_owned(), "/query/order"),
    ] {
        let refused = app.get(&format!("/v1/search?{query}")).await;
        refused.assert_problem(422, "validation_failed");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{query}");
    }
}

#[tokio::test]
async fn a_hit_names_its_session() {
    let app = App::fresh(&[]);
    let long = json!({"title": "ü".repeat(1_000), "external_id": "<b>".repeat(170)});
    for session in [json!({}), json!({"title": "Birds"}), json!({"external_id": "ticket-7"}), long.clone()] {
        let session = app.session(session).await;
        app.append(&session, "openai_chat", said("a heron")).await;
        app.append(&session, "openai_chat", said("another heron")).await;
    }
    let (hits, _) = found(&app, "heron", 3).await;
    let named: Vec<(&Value, &Value)> =
        hits.iter().map(|hit| (&hit["session_title"], &hit["session_external_id"])).collect();
    let null = Value::Null;
    let (birds, ticket) = (json!("Birds"), json!("ticket-7"));
    let each = [(&long["title"], &long["external_id"]), (&null, &ticket), (&birds, &null), (&null, &null)];
    assert_eq!(named, each.iter().flat_map(|name| [*name; 2]).collect::<Vec<_>>());
    assert!(hits.iter().all(|hit| hit.as_object().unwrap().contains_key("session_title")), "null, not left out");
}

#[tokio::test]
async fn the_match_is_shown_wherever_it_stands_in_a_long_line() {
    let app = App::fresh(&[]);
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    let (path, prose) = ("src/".repeat(250_000), "hay ".repeat(250_000));
    for line in [format!("{path}needle.rs"), format!("{prose}needle {prose}"), format!("{{\"{path}\": \"needle\"}}")] {
        app.append(&session, "openai_chat", said(&line)).await;
    }
    let (hits, _) = found(&app, "needle", 50).await;
    let own = listed(&app, &format!("{session}/search?q=needle")).await;
    assert_eq!((hits.len(), own.len()), (3, 3));
    for hit in hits.iter().chain(&own) {
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(snippet.contains("<mark>needle</mark>") && snippet.len() < 700, "{snippet}");
    }
}

#[tokio::test]
async fn what_forks_share_is_found_once_and_stays_when_its_session_goes() {
    let (app, pool) = place().await;
    let parent = app.session(json!({"settings": by_hand()})).await;
    app.append(&parent, "openai_chat", json!(turns(0..10, 20))).await;
    let trunk = listed(&app, &format!("{parent}/entries")).await;
    app.append(&parent, "openai_chat", said("module_3 the parent's alone")).await;
    let fork = app.post(&format!("{parent}/fork"), json!({"entry_id": trunk[29]["id"]})).await.expect(201);
    let fork = format!("/v1/sessions/{}", fork["id"].as_str().unwrap());
    app.append(&fork, "openai_chat", said("module_3 the fork's own")).await;
    let tips = listed(&app, &format!("{fork}/entries")).await;
    let second = app.post(&format!("{fork}/fork"), json!({"entry_id": tips.last().unwrap()["id"]})).await.expect(201);
    let second = format!("/v1/sessions/{}", second["id"].as_str().unwrap());
    let seen = async || {
        let (hits, _) = found(&app, "module_3", 2).await;
        let seen: Vec<(String, String)> = hits
            .iter()
            .map(|hit| (hit["session_id"].as_str().unwrap().to_owned(), hit["entry_id"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(seen.iter().map(|(_, entry)| entry).collect::<HashSet<_>>().len(), seen.len(), "each once");
        seen
    };
    let before = seen().await;
    let in_trunk = before.len() - 2;
    assert!(in_trunk >= 3, "{before:?}");
    assert!(before[0].0 == id_of(&fork) && before[1..].iter().all(|(session, _)| session == id_of(&parent)));
    app.delete(&parent).await.expect(204);
    let after = seen().await;
    assert!(after.iter().all(|(session, _)| session == id_of(&fork)), "{after:?}");
    assert_eq!(after.len(), in_trunk + 1, "what was the parent's alone is gone");
    app.delete(&fork).await.expect(204);
    let last = seen().await;
    assert!(last.iter().all(|(session, _)| session == id_of(&second)), "{last:?}");
    assert_eq!(last.len(), in_trunk + 1);
    app.delete(&second).await.expect(204);
    assert_eq!(seen().await.len(), 0);
    until("all is gone", async || {
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM entries").fetch_one(&pool).await.unwrap() == 0
    })
    .await;
}

#[tokio::test]
async fn summaries_and_results_are_found_too() {
    let app = App::fresh(&[]);
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(turns(0..20, 120))).await;
    let done =
        compact(&app, &session, json!({"strategy": "summarize", "summary": "## Goal\n- find the zebrafinch"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let (hits, _) = found(&app, "zebrafinch", 50).await;
    assert_eq!((hits.len(), &hits[0]["type"]), (1, &json!("compaction")));
    assert!(hits[0]["rank"].as_f64().unwrap() <= 0.5, "what it tells of comes first");
    let (hits, _) = found(&app, "line7_100", 50).await;
    assert_eq!((hits.len(), &hits[0]["role"]), (1, &json!("tool")));
}

/// Sessions with so many entries each, all of them copies of one message but for its `word`.
async fn crowd(app: &App, pool: &PgPool, sessions: i64, entries: i64) -> String {
    let pattern = app.session(json!({})).await;
    app.append(&pattern, "openai_chat", said("WORD stands here among others")).await;
    for statement in [
        "INSERT INTO sessions (tenant_id, id, metadata, settings, version, next_seq, next_branch, entry_count,
            leaf_branch, leaf_depth, state, fill_state, tokens, created_at, updated_at)
         SELECT tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, metadata, settings, 0, $2, 1, $2,
            0, $2 - 1, state, 'green', 0, now(), now()
         FROM sessions, generate_series(1, $1) n",
        "INSERT INTO entries (tenant_id, session_id, seq, branch, depth, id, kind, role, tokens, path_tokens,
            path_result_tokens, source_format, shape, item, created_at)
         SELECT e.tenant_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, seq, 0, seq,
            ('00000000-0000-7000-' || lpad(to_hex(n), 4, '0') || '-' || lpad(to_hex(seq), 12, '0'))::uuid, kind, role, 1, 1,
            0, source_format, shape, replace(item, 'WORD', 'word' || n || 'x' || seq), now()
         FROM (SELECT tenant_id, kind, role, source_format, shape, item FROM entries) e,
            generate_series(1, $1) n, generate_series(0, $2 - 1) s(seq)",
    ] {
        sqlx::query(statement).bind(sessions).bind(entries).execute(pool).await.unwrap();
    }
    pattern
}

#[tokio::test]
async fn ten_thousand_sessions_are_searched_answer_by_answer() {
    let (app, pool) = place().await;
    crowd(&app, &pool, 10_000, 12).await;
    let (hits, answers) = found(&app, "word77x5", 50).await;
    assert_eq!(sessions_of(&hits), ["00000000-0000-7000-8000-00000000004d"]);
    assert_eq!(hits[0]["seq"], 5);
    assert!(answers.len() >= 2, "one answer does not look at 120,000 entries");
    let entries: i64 = answers.iter().map(|answer| answer["searched_entries"].as_i64().unwrap()).sum();
    assert_eq!(entries, 120_001, "each was looked at once");
    for answer in &answers {
        assert!(answer["searched_entries"].as_i64().unwrap() < 60_000, "{answer}");
        assert!(answer["searched_sessions"].as_i64().unwrap() > 0, "{answer}");
    }
    let (none, answers) = found(&app, "nowhere", 50).await;
    assert!(none.is_empty() && answers.len() >= 2 && answers[0]["complete"] == false);
    let first = app.get("/v1/search?q=stands+here&limit=200").await.expect(200);
    assert_eq!((first["items"].as_array().unwrap().len(), first["complete"].as_bool()), (200, Some(false)));
    assert!(first["searched_entries"].as_i64().unwrap() <= 2_001, "a full page ends the look");
    let seqs: Vec<i64> =
        first["items"].as_array().unwrap()[1..13].iter().map(|hit| hit["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs, (0..12).rev().collect::<Vec<i64>>());
}

#[tokio::test]
async fn sessions_without_entries_are_passed_by_within_bounds() {
    let (app, pool) = place().await;
    crowd(&app, &pool, 12_000, 0).await;
    let (hits, answers) = found(&app, "stands", 50).await;
    assert_eq!((hits.len(), answers.len()), (1, 2));
    let sessions: i64 = answers.iter().map(|answer| answer["searched_sessions"].as_i64().unwrap()).sum();
    assert_eq!(sessions, 12_001);
    sqlx::query("UPDATE sessions SET deleted_at = now() WHERE id < '00000001-0000-0000-0000-000000000000'")
        .execute(&pool)
        .await
        .unwrap();
    let (hits, answers) = found(&app, "nowhere", 50).await;
    assert!(hits.is_empty() && answers.len() == 2, "hidden ones are passed by, not without end");
}

#[tokio::test]
async fn large_entries_bound_an_answer() {
    let app = App::fresh(&[]);
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    for n in 0..24 {
        let long = format!("{} needle{n}", "hay ".repeat(1_000_000));
        app.append(&session, "openai_chat", said(&long)).await;
    }
    let (hits, answers) = found(&app, "needle5", 50).await;
    assert_eq!((hits.len(), &hits[0]["seq"]), (1, &json!(5)));
    assert!(answers.len() >= 2, "one answer does not read 96 MB");
    let entries: i64 = answers.iter().map(|answer| answer["searched_entries"].as_i64().unwrap()).sum();
    assert_eq!(entries, 24);
}

#[tokio::test]
async fn no_tenant_finds_what_is_another_s() {
    let database = crate::pg::url().await;
    let services = Services::new(PgPool::connect(&database).await.unwrap(), Options::default());
    let (own, other) =
        (services.keys.create("own", "k").await.unwrap(), services.keys.create("other", "k").await.unwrap());
    let server = Keyed::start(&database, &[], &[]);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let call = async |key: &str, method: reqwest::Method, path: &str, body: Value| -> Value {
        let request = client.request(method, format!("{}{path}", server.base)).bearer_auth(key);
        let answer = request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    };
    use reqwest::Method;
    for (key, word) in [(&own, "heron"), (&other, "egret")] {
        let made =
            call(key, Method::POST, "/v1/sessions", json!({"external_id": word, "metadata": {"bird": true}})).await;
        let path = format!("/v1/sessions/{}/entries", made["id"].as_str().unwrap());
        call(key, Method::POST, &path, json!({"format": "openai_chat", "items": said(&format!("a {word} bird"))}))
            .await;
    }
    for (key, word) in [(&own, "heron"), (&other, "egret")] {
        let found = call(key, Method::GET, "/v1/search?q=bird", json!({})).await;
        assert_eq!((found["items"].as_array().unwrap().len(), &found["searched_sessions"]), (1, &json!(1)));
        assert!(found["items"][0]["snippet"].as_str().unwrap().contains(word));
        let listed = call(key, Method::GET, "/v1/sessions?metadata.bird=true&order=size", json!({})).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    }
    let foreign = client.get(format!("{}/v1/sessions/by-external-id/egret", server.base)).bearer_auth(&own);
    assert_eq!(foreign.send().await.unwrap().status(), 404);
    let erased = call(&own, Method::POST, "/v1/sessions/erase", json!({"metadata": {"bird": true}})).await;
    assert_eq!((&erased["matched"], &erased["erased"]), (&json!(1), &json!(1)));
    let left = call(&other, Method::GET, "/v1/sessions", json!({})).await;
    assert_eq!(left["items"].as_array().unwrap().len(), 1, "the other's stays");
}
