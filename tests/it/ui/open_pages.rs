//! Many pages open on one session, and a session that is erased under them.

use std::time::Instant;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::Method;
use serde_json::{Value, json};

use super::Visitor;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled, id_of, turns};
use crate::patience::eventually;

const PAGES: usize = 50;
/// What the service rests between two looks for news, of which a page is told each at most once.
const BREATH_MS: u128 = 100;

type Stream = BoxStream<'static, String>;

/// How `path` is answered, and the texts of its stream.
async fn open(app: &App, path: &str) -> (u16, Stream) {
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let answer = client.get(app.url(path)).send().await.unwrap();
    let status = answer.status().as_u16();
    let is_stream = answer.headers()["content-type"] == "text/event-stream";
    assert_eq!(is_stream, status == 200, "{path}");
    (status, answer.bytes_stream().map(|part| String::from_utf8_lossy(&part.unwrap()).into_owned()).boxed())
}

fn events_of(session: &str) -> String {
    format!("/ui/sessions/{}/events", id_of(session))
}

async fn streams(app: &App, session: &str) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    for _ in 0..PAGES {
        let (status, stream) = open(app, &events_of(session)).await;
        assert_eq!(status, 200);
        streams.push(stream);
    }
    streams
}

/// What a stream says up to these words.
async fn heard(stream: &mut Stream, until: &str) -> String {
    let mut heard = String::new();
    while !heard.contains(until) {
        heard.push_str(&stream.next().await.expect("the stream goes on"));
    }
    heard
}

/// Snapshots that were told because a look found them: they have no place among the recorded events.
fn looked_up(text: &str) -> usize {
    text.split("\n\n").filter(|event| event.contains("data: snapshot") && !event.contains("id: ")).count()
}

/// As many looks as there can have been.
fn looks_since(begun: Instant) -> u128 {
    begun.elapsed().as_millis() / BREATH_MS + 1
}

/// Open streams, as the service counts them.
async fn streaming(app: &App) -> f64 {
    let metrics = app.get("/metrics").await.text;
    let line = metrics.lines().find(|line| line.starts_with("contextd_event_streams")).map(str::to_owned);
    line.and_then(|line| line.rsplit(' ').next().unwrap().parse().ok()).unwrap_or(0.0)
}

#[tokio::test]
async fn fifty_open_pages_hear_of_appends_and_hold_nobody_up() {
    let app = App::fresh(&[]);
    let (session, other) = (filled(&app, by_hand(), 10).await, filled(&app, by_hand(), 2).await);
    let begun = Instant::now();
    let mut pages = streams(&app, &session).await;
    for stream in &mut pages {
        heard(stream, "data: snapshot").await;
    }
    // Fifty connections stay open; appends, other sessions and other pages go on beside them.
    let visitor = Visitor::of(&app.url(""));
    for n in 0..40 {
        app.append(&session, "openai_chat", json!(turns(100 + n..101 + n, 20))).await;
        app.append(&other, "openai_chat", json!(turns(100 + n..101 + n, 20))).await;
    }
    visitor.get(&format!("/ui/sessions/{}", id_of(&other))).await.page();
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    for stream in &mut pages {
        let text = heard(stream, "data: compaction.succeeded").await;
        assert!(!text.contains("Request") && !text.contains("module_"), "nothing of the transcript: {text}");
        assert!(looked_up(&text) as u128 <= looks_since(begun), "{text}");
    }
    // A page that was closed is forgotten.
    assert!(streaming(&app).await >= PAGES as f64);
    drop(pages);
    eventually("the streams are given back", async || (streaming(&app).await == 0.0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_are_thinned_to_one_a_look() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 2).await;
    let begun = Instant::now();
    let mut pages = [open(&app, &events_of(&session)).await.1, open(&app, &events_of(&session)).await.1];
    let mut api = open(&app, &format!("{session}/events")).await.1;
    for stream in pages.iter_mut().chain([&mut api]) {
        heard(stream, "snapshot").await;
    }
    // Appends come in bursts, so that there are many within one look even on a busy machine.
    for round in 0..12 {
        let one = |n: usize| {
            let items = json!(turns(100 + n..101 + n, 5));
            let (app, session) = (&app, &session);
            async move { app.append(session, "openai_chat", items).await }
        };
        futures::future::join_all((round * 10..round * 10 + 10).map(one)).await;
    }
    compact(&app, &session, json!({"strategy": "summarize"})).await;
    for stream in &mut pages {
        let told = looked_up(&heard(stream, "data: compaction.succeeded").await);
        let looks = looks_since(begun);
        assert!(told as u128 <= looks, "{told} snapshots in {looks} looks");
    }
    // By the service's own clock: the time of a snapshot is that of its look.
    let text = heard(&mut api, "event: compaction.succeeded").await;
    let looked = text.split("\n\n").filter(|event| event.contains("event: snapshot") && !event.contains("id: "));
    let times: Vec<DateTime<Utc>> = looked
        .map(|event| {
            let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            data["created_at"].as_str().unwrap().parse().unwrap()
        })
        .collect();
    assert!(!times.is_empty(), "appends are told: {text}");
    let apart: Vec<i64> = times.windows(2).map(|pair| (pair[1] - pair[0]).num_milliseconds()).collect();
    println!("120 appends, {} snapshots, apart by {apart:?} ms", times.len());
    // A timer may end a moment early by another clock.
    assert!(apart.iter().all(|ms| *ms >= BREATH_MS as i64 - 5), "{apart:?}");
}

#[tokio::test]
async fn more_pages_than_may_follow_are_told_so() {
    let app = App::fresh(&[("CONTEXTD_EVENTS_MAX_STREAMS", "2")]);
    let (session, other) = (filled(&app, by_hand(), 2).await, filled(&app, by_hand(), 1).await);
    let (first, second) = (open(&app, &events_of(&session)).await, open(&app, &events_of(&other)).await);
    assert_eq!((first.0, second.0), (200, 200));
    let visitor = Visitor::of(&app.url(""));
    for one in [&session, &other] {
        let refused = visitor.get(&events_of(one)).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, "5"));
        assert!(refused.text.contains("Too many pages of this tenant are following events."), "{}", refused.text);
        refused.assert_guarded();
    }
    app.get(&format!("{session}/events")).await.assert_problem(429, "too_many_streams");
    // The page itself is there and has the words for its script to show.
    let page = visitor.get(&format!("/ui/sessions/{}", id_of(&session))).await.page();
    assert!(page.contains("id=\"unfollowed\" hidden") && page.contains("looks again every 10 seconds"), "{page:.3000}");
    drop(first);
    let again = async || (open(&app, &events_of(&session)).await.0 == 200).then_some(());
    eventually("a page that was closed makes room", again).await;
}

#[tokio::test]
async fn pages_of_an_erased_session_end_and_say_so() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let mut pages = streams(&app, &session).await;
    for stream in &mut pages {
        heard(stream, "data: snapshot").await;
    }
    app.delete(&session).await.expect(204);
    for stream in &mut pages {
        while stream.next().await.is_some() {}
    }
    // Whoever asks again is told that it is not there: a stream that is refused is not tried again by a browser.
    let visitor = Visitor::of(&app.url(""));
    let again = visitor.get(&format!("/ui/sessions/{}/events", id_of(&session))).await;
    assert_eq!(again.status, 404);
    assert!(!again.header("content-type").contains("event-stream"));
    for part in ["now", "timeline", "view", "compactions"] {
        let path = format!("/ui/sessions/{}/{part}", id_of(&session));
        let seen = visitor.send(Method::GET, &path, &[("hx-request", "true")], &[]).await;
        assert_eq!(seen.status, 404, "{part}");
    }
    let page = visitor.get("/ui/sessions").await.page();
    assert!(!page.contains(id_of(&session)));
}
