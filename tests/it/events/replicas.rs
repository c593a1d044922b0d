//! Events over restarts and over several processes on one PostgreSQL.

use contextd::service::ops::keys::Keys;
use serde_json::json;

use super::reader::*;
use super::{PAIRED, compact_after, url};
use crate::app::{App, Keyed};
use crate::drill_support::*;
use crate::patience::eventually;

/// Every event once, in order, whatever happened between them.
fn assert_whole(seen: &[Seen], compactions: usize) {
    let ids = ids(seen);
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    let ends = seen.iter().filter(|seen| seen.word() == "succeeded").count();
    let pairs: Vec<&str> = words(seen).into_iter().filter(|word| ["before", "after"].contains(word)).collect();
    assert_eq!((ends, pairs), (compactions, ["before", "after"].repeat(compactions)));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_resumed_over_a_restart() {
    let mut app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let mut stream = Reader::open(&url(&app, &session), None).await;
    let start = stream.next().await.unwrap().id;
    let (mut seen, mut last, mut read) = (Vec::new(), start, Vec::new());
    for round in 0..4 {
        // One while the client listens, one of which it hears the beginning only, one while it is away.
        compact_after(&app, &session, 100 * round).await;
        seen.extend(stream.ends(1).await);
        let part = app.append(&session, "openai_chat", json!(turns(100 * round + 10..100 * round + 20, 120)));
        let _ = part.await;
        let queued = app.post(&format!("{session}/compact"), json!({"force": true})).await.expect(202);
        let heard = stream.until(|seen| seen.word() == "queued").await;
        seen.extend(recorded(heard));
        last = seen.last().and_then(|seen| seen.id).or(last);
        app = tokio::task::block_in_place(|| {
            if round % 2 == 0 {
                let (status, app) = app.stop_and_restart();
                assert!(status.success(), "{status}");
                app
            } else {
                app.kill_and_restart()
            }
        });
        ended(&app, &queued["id"]).await;
        compact_after(&app, &session, 100 * round + 20).await;
        stream = Reader::open(&url(&app, &session), last).await;
        let missed = stream.ends(2).await;
        read.push(missed.len());
        seen.extend(missed);
        last = seen.last().and_then(|seen| seen.id);
    }
    assert_whole(&seen, 12);
    let replayed = Reader::open(&url(&app, &session), start).await.ends(12).await;
    assert_eq!(seen, replayed, "nothing is missing and nothing came twice");
    println!(
        "events resumed over a restart: 2 stops, 2 kills, 12 compactions, {} events in order, {read:?} of them after \
         coming back, none missing, none twice",
        seen.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_outlives_its_database() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let mut stream = Reader::open(&url(&app, &session), None).await;
    stream.next().await.unwrap();
    let lock = std::fs::read_to_string(app.data_dir().join("postgres/postmaster.pid")).unwrap();
    let postmaster = nix::unistd::Pid::from_raw(lock.lines().next().unwrap().parse().unwrap());
    nix::sys::signal::kill(postmaster, nix::sys::signal::Signal::SIGKILL).unwrap();
    // Its end is not noticed everywhere at once, so a call may still fail.
    let queued = eventually("it recovers by itself", async || {
        Some(app.post(&format!("{session}/compact"), json!({})).await).filter(|answer| answer.status == 202)
    });
    let queued = queued.await.body;
    ended(&app, &queued["id"]).await;
    assert_eq!(words(&stream.ends(1).await), PAIRED);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_streams_what_the_others_do() {
    let database = crate::pg::url().await;
    let start = |role| App::fresh(&[("DATABASE_URL", database.as_str()), ("CONTEXTD_ROLE", role)]);
    let (one, other, worker) = (start("api"), start("api"), start("worker"));
    let sessions = [filled(&one, by_hand(), 20).await, filled(&other, by_hand(), 20).await];
    let mut streams = Vec::new();
    for app in [&one, &other] {
        let mut tenants = Reader::open(&app.url("/v1/events"), None).await;
        assert_eq!(tenants.next().await.unwrap().kind, "ready");
        let mut mine = Reader::open(&url(app, &sessions[0]), None).await;
        mine.next().await.unwrap();
        streams.push((tenants, mine));
    }
    let (first, second) = tokio::join!(compact_after(&one, &sessions[0], 20), compact_after(&other, &sessions[1], 20));
    assert_eq!((&first["status"], &second["status"]), (&json!("succeeded"), &json!("succeeded")));
    let mut tenants = Vec::new();
    for (all, mine) in &mut streams {
        assert_eq!(words(&mine.ends(1).await), PAIRED);
        tenants.push(all.ends(2).await);
    }
    assert_eq!(tenants[0], tenants[1], "the same events with the same ids");
    assert_whole(&tenants[0], 2);
    // Begun at one, gone on with at the other; the append of one is seen by a stream at the other.
    let at = tenants[0][3].id;
    assert_eq!(Reader::open(&other.url("/v1/events"), at).await.ends(2).await.last(), tenants[0].last());
    let appended = one.append(&sessions[0], "openai_chat", json!(turns(90..91, 50))).await;
    let seen = streams[1].1.until(|seen| seen.data["tokens"] == appended["snapshot"]["tokens"]).await;
    assert_eq!(seen.last().unwrap().id, None);
    one.delete(&sessions[0]).await.expect(204);
    while streams[1].1.next().await.is_some() {}
    drop(worker);
    println!("events over replicas: 2 api processes and a worker, {} events, equal on both", tenants[0].len());
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_see_their_own_events_only() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let database = crate::pg::url().await;
    let pool = sqlx::PgPool::connect(&database).await.unwrap();
    let keys = Keys::new(pool);
    let keys = [keys.create("one", "k").await.unwrap(), keys.create("other", "k").await.unwrap()];
    let served = Keyed::start(&database, &[], &[]);
    let all = format!("{}/v1/events", served.base);
    for key in [None, Some("nonsense")] {
        assert_eq!(request(&all, None, key).await.status(), 401);
    }
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut sessions = Vec::new();
    let mut streams = Vec::new();
    for key in &keys {
        let mut stream = Reader::of(request(&all, None, Some(key)).await);
        stream.next().await.unwrap();
        streams.push(stream);
        let post = async |path: &str, body: serde_json::Value| -> serde_json::Value {
            let request = client.post(format!("{}{path}", served.base)).bearer_auth(key).json(&body);
            request.send().await.unwrap().json().await.unwrap()
        };
        let session = post("/v1/sessions", json!({"settings": by_hand()})).await["id"].as_str().unwrap().to_owned();
        let items = json!({"format": "openai_chat", "items": turns(0..20, 120)});
        post(&format!("/v1/sessions/{session}/entries"), items).await;
        post(&format!("/v1/sessions/{session}/compact"), json!({"wait": 60})).await;
        sessions.push(session);
    }
    for (stream, session) in streams.iter_mut().zip(&sessions) {
        let seen = stream.ends(1).await;
        assert_eq!(words(&seen), PAIRED);
        assert!(seen.iter().all(|seen| seen.data["session_id"] == session.as_str()));
        assert_eq!(ids(&seen).len() as i64, seen[4].id.unwrap() - seen[0].id.unwrap() + 1, "others leave no gaps");
    }
    let of_other = format!("{}/v1/sessions/{}/events", served.base, sessions[1]);
    assert_eq!(request(&of_other, None, Some(&keys[0])).await.status(), 404);
    assert_eq!(request(&of_other, None, Some(&keys[1])).await.status(), 200);
}
