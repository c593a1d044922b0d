//! Events over real HTTP: pairs, order, and going on where a client left off.

mod reader;
mod replicas;
mod store;

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::patience::eventually;
use reader::*;

const PAIRED: [&str; 5] = ["queued", "started", "before", "after", "succeeded"];

/// The session's events on this instance.
fn url(app: &App, session: &str) -> String {
    app.url(&format!("{session}/events"))
}

/// More turns, then a compaction to its end.
async fn compact_after(app: &App, session: &str, turns_from: usize) -> Value {
    app.append(session, "openai_chat", json!(turns(turns_from..turns_from + 10, 120))).await;
    compact(app, session, json!({"force": true})).await
}

/// Equal, but for the last digit of a fraction: a stored one was read from its text once more.
fn is_same(found: &Value, expected: &Value) -> bool {
    let close = |(found, expected): (f64, f64)| (found - expected).abs() <= 1e-12 * expected.abs();
    found == expected || found.as_f64().zip(expected.as_f64()).is_some_and(close)
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_come_in_pairs_around_each_compaction() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let mut stream = Reader::open(&url(app, &session), None).await;
    let mut tenants = Reader::open(&app.url("/v1/events"), None).await;
    let first = stream.next().await.unwrap();
    let now = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!((first.kind.as_str(), &first.data["phase"]), ("snapshot", &Value::Null));
    assert_eq!(first.data["tokens"], now["tokens"]);
    for round in 0..3 {
        let done = compact_after(app, &session, 20 + 10 * round).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let seen = stream.ends(1).await;
        assert_eq!(words(&seen), PAIRED);
        for (at, field) in [(2, "snapshot_before"), (3, "snapshot_after")] {
            for (name, value) in done[field].as_object().unwrap() {
                assert!(is_same(&seen[at].data[name], value), "{field}/{name}: {} {value}", seen[at].data[name]);
            }
        }
        assert_eq!(seen[2].data["tokens"], done["result"]["tokens_before"]);
        assert_eq!(seen[3].data["tokens"], done["result"]["tokens_after"]);
        assert_eq!(seen[4].data["result"]["tokens_saved"], done["result"]["tokens_saved"]);
        for one in &seen {
            assert_eq!(
                (&one.data["compaction_id"], one.data["session_id"].as_str().unwrap()),
                (&done["id"], id_of(&session))
            );
        }
        // One from before the compaction may still be under way; the newest follows in any case.
        let after = &seen[3].data["tokens"];
        stream.until(|seen| seen.id.is_none() && seen.data["tokens"] == *after).await;
        let of_session = |seen: &Seen| seen.data["session_id"] == id_of(&session);
        let all = tenants.until(|seen| is_end(seen) && of_session(seen)).await;
        assert_eq!(recorded(all.into_iter().filter(of_session).collect()), seen, "the tenant sees the same");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_is_told_in_the_words_of_the_agent_client_protocol() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let mut plain = Reader::open(&url(app, &session), None).await;
    let first = plain.next().await.unwrap();
    let mut stream = Reader::open(&format!("{}?names=acp", url(app, &session)), None).await;
    let usage = |tokens: &Value| {
        let update = json!({"used": tokens, "size": first.data["window"], "sessionUpdate": "usage_update"});
        json!({"sessionId": id_of(&session), "update": update})
    };
    let now = stream.next().await.unwrap();
    assert_eq!((now.kind.as_str(), now.data), ("usage_update", usage(&first.data["tokens"])));

    let done = compact_after(app, &session, 20).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let is_over = |seen: &Seen| seen.data["update"]["status"] == "completed";
    let told: Vec<Seen> = stream.until(is_over).await.into_iter().filter(|seen| seen.id.is_some()).collect();
    let update = |status: &str| {
        let update = json!({"compactionId": done["id"], "status": status, "sessionUpdate": "compaction_update"});
        json!({"sessionId": id_of(&session), "update": update})
    };
    let [queued, rest @ ..] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((queued.kind.as_str(), &queued.data["compaction_id"]), ("compaction.queued", &done["id"]));
    let rest: Vec<Value> = rest.iter().map(|seen| seen.data.clone()).collect();
    let before_and_after = ["tokens_before", "tokens_after"].map(|name| usage(&done["result"][name]));
    assert_eq!(rest[..1], [update("in_progress")]);
    assert_eq!(rest[1..3], before_and_after);
    assert_eq!(rest[3..], [update("completed")]);
    // One place in both: a client may change its mind.
    let ids = |seen: &[Seen]| seen.iter().map(|seen| seen.id).collect::<Vec<_>>();
    assert_eq!(ids(&plain.ends(1).await), ids(&told));
    let mut again = Reader::open(&format!("{}?names=acp", url(app, &session)), told[2].id).await;
    assert_eq!(again.until(is_over).await, told[3..]);

    assert_eq!(compact(app, &session, json!({})).await["status"], "skipped");
    stream.until(|seen| seen.data["update"]["status"] == "cancelled").await;
    let answer = app.get(&format!("{session}/events?names=ACP")).await;
    answer.assert_problem(422, "validation_failed");
    assert_eq!(answer.body["errors"][0]["pointer"], "/query/names");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_ends_are_told_without_a_pair() {
    let app = App::shared();
    let session = filled(app, by_hand(), 1).await;
    let mut stream = Reader::open(&url(app, &session), None).await;
    assert_eq!(compact(app, &session, json!({})).await["status"], "skipped");
    let skipped = stream.ends(1).await;
    assert_eq!(words(&skipped), ["queued", "started", "skipped"]);
    assert!(skipped[2].data["result"]["skip_reason"].is_string(), "{skipped:?}");
    let open = json!([{"role": "user", "content": "go on"}]);
    app.append(&session, "openai_chat", open).await;
    let waits = app.post(&format!("{session}/compact"), json!({"when": "turn_end"})).await.expect(202);
    let id = waits["id"].as_str().unwrap();
    app.post(&format!("/v1/compactions/{id}/cancel"), json!({})).await.expect(200);
    assert_eq!(words(&stream.ends(1).await), ["queued", "cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_goes_on_from_any_event() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let mut stream = Reader::open(&url(app, &session), None).await;
    for round in 0..2 {
        compact_after(app, &session, 20 + 10 * round).await;
    }
    let all = stream.ends(2).await;
    assert_eq!(all.len(), 10);
    for (at, seen) in all.iter().enumerate().take(9) {
        let rest = all[at + 1..].iter().filter(|seen| is_end(seen)).count();
        let again = Reader::open(&url(app, &session), seen.id).await.ends(rest).await;
        assert_eq!(again, all[at + 1..], "after event {at}");
    }
    let first = all[0].id.unwrap();
    let by_query = format!("{}?last_event_id={first}", url(app, &session));
    assert_eq!(Reader::open(&by_query, None).await.ends(2).await, all[1..]);
    assert_eq!(Reader::open(&by_query, all[4].id).await.ends(1).await, all[5..], "the header wins");
    let caught_up = Reader::open(&url(app, &session), all[9].id).await.next().await.unwrap();
    assert_eq!((caught_up.id, caught_up.kind.as_str()), (None, "snapshot"), "nothing is left but the present");
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_are_shown_coalesced_and_turns_of_state_are_kept() {
    let app = App::shared();
    let settings = json!({"enabled": false, "context_window": 12_000, "reserve_tokens": 2_000});
    let session = app.session(json!({"settings": settings})).await;
    let mut stream = Reader::open(&url(app, &session), None).await;
    for n in 0..60 {
        app.append(&session, "openai_chat", json!(turns(n..n + 1, 60))).await;
    }
    let now = app.get(&format!("{session}/snapshot")).await.expect(200);
    assert_eq!(now["state"], "red");
    let seen = stream.until(|seen| seen.id.is_none() && seen.data["tokens"] == now["tokens"]).await;
    let tokens: Vec<u64> = seen.iter().map(|seen| seen.data["tokens"].as_u64().unwrap()).collect();
    assert!(seen.len() <= 61 + 2, "at most one for each append: {}", seen.len());
    assert!(tokens.last() == tokens.iter().max(), "{tokens:?}");
    let kept: Vec<&str> =
        seen[1..].iter().filter(|seen| seen.id.is_some()).filter_map(|seen| seen.data["state"].as_str()).collect();
    assert_eq!(kept, ["yellow", "red"]);
    println!("60 appends: {} snapshots on the stream, {} of them recorded", seen.len() - 1, kept.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_session_takes_its_events_and_streams_with_it() {
    let app = App::shared();
    let session = filled(app, by_hand(), 20).await;
    let mut stream = Reader::open(&url(app, &session), None).await;
    compact(app, &session, json!({})).await;
    let seen = stream.ends(1).await;
    app.delete(&session).await.expect(204);
    while stream.next().await.is_some() {}
    assert_eq!(app.get(&format!("{session}/events")).await.status, 404);
    let before = seen[0].id.unwrap() - 1;
    let other = filled(app, by_hand(), 20).await;
    let mut tenants = Reader::open(&app.url("/v1/events"), Some(before)).await;
    compact(app, &other, json!({})).await;
    let all = tenants.until(|seen| is_end(seen) && seen.data["session_id"] == id_of(&other)).await;
    assert!(all.iter().all(|seen| seen.data["session_id"] != id_of(&session)), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_ids_and_unknown_sessions_are_refused() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    for path in [format!("{session}/events"), "/v1/events".to_owned()] {
        for bad in ["x", "-1", "+1", "1.5", "99999999999999999999", " "] {
            let answer = app.send(Method::GET, &path, &[("last-event-id", bad)], "").await;
            answer.assert_problem(422, "validation_failed");
            assert_eq!(answer.body["errors"][0]["pointer"], "/headers/last-event-id");
        }
        let answer = app.get(&format!("{path}?last_event_id=x")).await;
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.body["errors"][0]["pointer"], "/query/last_event_id");
        app.get(&format!("{path}?since=1")).await.assert_problem(422, "validation_failed");
        let mut ahead = Reader::open(&app.url(&path), Some(i64::MAX)).await;
        let reset = ahead.next().await.unwrap();
        assert_eq!((reset.kind.as_str(), &reset.data["reason"]), ("reset", &json!("unknown")));
        assert_eq!(reset.data["snapshot"]["state"].is_string(), path != "/v1/events");
    }
    let nowhere = "/v1/sessions/01890a5d-ac96-774b-bcce-b302099a8057/events";
    app.get(nowhere).await.assert_problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_limited_and_end_with_the_service() {
    let app = App::fresh(&[("CONTEXTD_EVENTS_MAX_STREAMS", "2")]);
    let session = app.session(json!({})).await;
    let mut streams = Vec::new();
    for path in [format!("{session}/events"), "/v1/events".to_owned()] {
        let mut stream = Reader::open(&app.url(&path), None).await;
        stream.next().await.unwrap();
        streams.push(stream);
    }
    let refused = app.get("/v1/events").await;
    refused.assert_problem(429, "too_many_streams");
    assert!(refused.header("retry-after").is_some());
    drop(streams.pop());
    let freed = eventually("a place is given back", async || {
        Some(request(&app.url("/v1/events"), None, None).await).filter(|response| response.status() == 200)
    });
    streams.push(Reader::of(freed.await));
    let from = std::time::Instant::now();
    let (status, _again) = tokio::task::block_in_place(|| app.stop_and_restart());
    assert!(status.success(), "{status}");
    println!("stopped with 2 open streams, and started again, in {:?}", from.elapsed());
    for mut stream in streams {
        while stream.next().await.is_some() {}
    }
}
