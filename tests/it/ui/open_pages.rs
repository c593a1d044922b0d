//! Many pages open on one session, and a session that is erased under them.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::Method;
use serde_json::json;

use super::Visitor;
use crate::app::App;
use crate::drill_support::{by_hand, compact, filled, id_of, turns};
use crate::patience::eventually;

const PAGES: usize = 50;

type Stream = BoxStream<'static, String>;

async fn streams(app: &App, session: &str) -> Vec<Stream> {
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
    let mut streams: Vec<Stream> = Vec::new();
    for _ in 0..PAGES {
        let path = app.url(&format!("/ui/sessions/{}/events", id_of(session)));
        let answer = client.get(path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let texts = answer.bytes_stream().map(|part| String::from_utf8_lossy(&part.unwrap()).into_owned());
        streams.push(texts.boxed());
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

#[tokio::test]
async fn fifty_open_pages_hear_of_appends_and_hold_nobody_up() {
    let app = App::fresh(&[]);
    let (session, other) = (filled(&app, by_hand(), 10).await, filled(&app, by_hand(), 2).await);
    let mut open = streams(&app, &session).await;
    for stream in &mut open {
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
    let mut told: BTreeMap<usize, usize> = BTreeMap::new();
    for stream in &mut open {
        let text = heard(stream, "data: compaction.succeeded").await;
        assert!(!text.contains("Request") && !text.contains("module_"), "nothing of the transcript: {text}");
        *told.entry(text.matches("event: changed").count()).or_default() += 1;
    }
    // Snapshots are thinned: not one for each append and page.
    assert!(told.keys().all(|events| *events < 60), "{told:?}");

    // A page that was closed is forgotten.
    let streaming = async || {
        let metrics = app.get("/metrics").await.text;
        let line = metrics.lines().find(|line| line.starts_with("contextd_event_streams")).map(str::to_owned);
        line.and_then(|line| line.rsplit(' ').next().unwrap().parse::<f64>().ok()).unwrap_or(0.0)
    };
    assert!(streaming().await >= PAGES as f64);
    drop(open);
    eventually("the streams are given back", async || (streaming().await == 0.0).then_some(())).await;
}

#[tokio::test]
async fn pages_of_an_erased_session_end_and_say_so() {
    let app = App::fresh(&[]);
    let session = filled(&app, by_hand(), 20).await;
    let mut open = streams(&app, &session).await;
    for stream in &mut open {
        heard(stream, "data: snapshot").await;
    }
    app.delete(&session).await.expect(204);
    for stream in &mut open {
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
