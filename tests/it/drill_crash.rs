//! Whatever was acknowledged outlives the process and its database server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::Client;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::drill_support::*;
use crate::patience::until;

const WRITERS: usize = 4;
/// Messages that each writer has acknowledged before something is killed.
const EACH: usize = 40;

/// How many messages each writer has had acknowledged so far.
type Acknowledged = Arc<[AtomicUsize; WRITERS]>;

fn counts(acknowledged: &Acknowledged) -> Vec<usize> {
    acknowledged.iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

/// Waits until every writer has come on by [`EACH`] messages since `from`.
async fn until_written(acknowledged: &Acknowledged, from: &[usize]) {
    until("every writer writes on", async || {
        counts(acknowledged).iter().zip(from).all(|(now, from)| *now >= from + EACH)
    })
    .await;
}

fn text(writer: usize, n: usize) -> String {
    format!("writer {writer}, message {n}")
}

/// Appends one message under an idempotency key made of its text. The answer's status; `None` without an answer.
async fn write(client: &Client, url: &str, writer: usize, n: usize) -> Option<u16> {
    let text = text(writer, n);
    let body = json!({"format": "openai_chat", "items": [{"role": "user", "content": text}]}).to_string();
    let request = client.post(url).header("content-type", "application/json").header("idempotency-key", text);
    Some(request.body(body).send().await.ok()?.status().as_u16())
}

/// One message after the other until there is no answer. How many were acknowledged.
async fn write_until_gone(url: String, writer: usize, told: Acknowledged) -> usize {
    let client = Client::builder().no_proxy().build().unwrap();
    let mut acknowledged = 0;
    while write(&client, &url, writer, acknowledged).await == Some(201) {
        acknowledged += 1;
        told[writer % WRITERS].store(acknowledged, Ordering::Relaxed);
    }
    acknowledged
}

/// Each message until it is acknowledged. How many there were, and how many times one was refused.
async fn write_until_told(url: String, writer: usize, stop: CancellationToken, told: Acknowledged) -> (usize, usize) {
    let client = Client::builder().no_proxy().build().unwrap();
    let (mut acknowledged, mut refused) = (0, 0);
    while !stop.is_cancelled() {
        match write(&client, &url, writer, acknowledged).await {
            Some(201) => {
                acknowledged += 1;
                told[writer].store(acknowledged, Ordering::Relaxed);
            }
            // What went wrong with the database is no fault of the request, so it may be sent again, as a client
            // does: a moment later.
            Some(status) if status >= 500 => {
                refused += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            other => panic!("writer {writer}, message {acknowledged}: {other:?}"),
        }
    }
    (acknowledged, refused)
}

async fn sessions(app: &App) -> Vec<String> {
    let mut sessions = Vec::new();
    for _ in 0..WRITERS {
        sessions.push(app.session(json!({})).await);
    }
    sessions
}

async fn texts(app: &App, session: &str) -> Vec<String> {
    let items = kept_items(app, session).await;
    items.iter().map(|item: &Value| item["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_kill_9() {
    let mut app = App::fresh(&[]);
    let sessions = sessions(&app).await;
    for round in 0..2 {
        let mut acknowledged = Vec::new();
        let targets: Vec<(usize, String)> = (0..WRITERS)
            .map(|writer| (round * WRITERS + writer, app.url(&format!("{}/entries", sessions[writer]))))
            .collect();
        let told = Acknowledged::default();
        let writers: Vec<_> = targets
            .into_iter()
            .map(|(writer, url)| tokio::spawn(write_until_gone(url, writer, told.clone())))
            .collect();
        until_written(&told, &[0; WRITERS]).await;
        app = tokio::task::block_in_place(|| app.kill_and_restart());
        for writer in writers {
            acknowledged.push(writer.await.unwrap());
        }
        println!("kill -9, round {round}: acknowledged {acknowledged:?}");
        for (writer, count) in acknowledged.into_iter().enumerate() {
            let name = round * WRITERS + writer;
            assert!(count > 0, "writer {name} wrote nothing");
            // The one without an answer may have landed; sent again with its key, it stands there once.
            let url = app.url(&format!("{}/entries", sessions[writer]));
            let again = write(&Client::builder().no_proxy().build().unwrap(), &url, name, count).await;
            assert_eq!(again, Some(201));
            let stored: Vec<String> = texts(&app, &sessions[writer])
                .await
                .into_iter()
                .filter(|text| text.starts_with(&format!("writer {name},")))
                .collect();
            assert_eq!(stored, (0..=count).map(|n| text(name, n)).collect::<Vec<_>>());
        }
    }
}

fn postmaster(data_dir: &Path) -> Pid {
    let lock = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).unwrap();
    Pid::from_raw(lock.lines().next().unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_its_postgresql() {
    let app = App::fresh(&[]);
    let sessions = sessions(&app).await;
    let (stop, told) = (CancellationToken::new(), Acknowledged::default());
    let writers: Vec<_> = sessions
        .iter()
        .enumerate()
        .map(|(writer, session)| {
            let url = app.url(&format!("{session}/entries"));
            tokio::spawn(write_until_told(url, writer, stop.clone(), told.clone()))
        })
        .collect();
    let mut from = vec![0; WRITERS];
    for _ in 0..2 {
        until_written(&told, &from).await;
        from = counts(&told);
        kill(postmaster(app.data_dir()), Signal::SIGKILL).unwrap();
    }
    // By itself, after each of the two.
    until_written(&told, &from).await;
    until("it is ready again", async || app.get("/readyz").await.status == 200).await;
    stop.cancel();
    for (writer, handle) in writers.into_iter().enumerate() {
        let (acknowledged, refused) = handle.await.unwrap();
        println!("postmaster killed twice: writer {writer} has {acknowledged} acknowledged, {refused} refused");
        assert!(acknowledged > 0);
        assert_eq!(
            texts(&app, &sessions[writer]).await,
            (0..acknowledged).map(|n| text(writer, n)).collect::<Vec<_>>()
        );
    }
}
