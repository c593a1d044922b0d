//! The stop: within `shutdown_ms`, whatever runs. All other times are set to longer than the tests are patient, so nothing
//! but `shutdown_ms` ends what hangs.

use reqwest::{Client, Method};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::app::{App, NEVER_MS};
use crate::drill_support::{by_hand, filled, id_of, turns, upstream};
use crate::patience::{PATIENCE, until};
use crate::pg_proxy::{Mode, Proxy};
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

/// Every time that could end a request, a statement or a connection, out of reach.
pub fn endless() -> Vec<(&'static str, &'static str)> {
    [
        "CONTEXTD_HEADER_TIMEOUT_MS",
        "CONTEXTD_BODY_TIMEOUT_MS",
        "CONTEXTD_IDLE_TIMEOUT_MS",
        "CONTEXTD_WRITE_TIMEOUT_MS",
        "CONTEXTD_REQUEST_TIMEOUT_MS",
        "CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS",
        "CONTEXTD_DATABASE_STATEMENT_TIMEOUT_MS",
        "CONTEXTD_DATABASE_LOCK_TIMEOUT_MS",
        "CONTEXTD_UPSTREAM_TIMEOUT_MS",
    ]
    .map(|name| (name, NEVER_MS))
    .to_vec()
}

/// An instance that nothing but its stop makes end anything.
fn patient(more: &[(&str, &str)]) -> App {
    let mut envs: Vec<(&str, &str)> = endless();
    envs.push(("CONTEXTD_SHUTDOWN_MS", "3000"));
    envs.extend(more);
    App::fresh(&envs)
}

/// A call under way: its status, if it gets an answer.
fn call(app: &App, method: Method, path: &str, body: &Value) -> JoinHandle<Option<u16>> {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.request(method, app.url(path)).header("content-type", "application/json");
    let request = request.body(body.to_string());
    tokio::spawn(async move { Some(request.send().await.ok()?.status().as_u16()) })
}

/// Stops it while the calls hang: none of them can have been answered but by being given up.
async fn assert_stops(app: App, calls: Vec<JoinHandle<Option<u16>>>) {
    assert!(calls.iter().all(|call| !call.is_finished()), "a call does not hang");
    let status = app.stop().await;
    assert!(status.success(), "{status}");
    for call in calls {
        let answer = timeout(PATIENCE, call).await.expect("the connection stays").unwrap();
        assert!([None, Some(503)].contains(&answer), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_answer_holds_up_no_stop() {
    let model = PlayedUpstream::start(Behaviour::Held(SUMMARY.to_owned())).await;
    let base_url = model.base_url();
    let app = patient(&upstream(&base_url, NEVER_MS));
    let session = filled(&app, by_hand(), 30).await;
    let alone = json!({"format": "openai_chat", "items": turns(100..130, 120), "settings": by_hand()});
    let calls = vec![
        call(&app, Method::POST, &format!("{session}/compact"), &json!({"wait": 120})),
        call(&app, Method::POST, "/v1/compact", &alone),
    ];
    // Each asks for one summary or two at a time.
    let is_asked = |about: &str| model.requests().iter().any(|request| request.text.contains(about));
    until("both ask the model", async || is_asked("module_1.rs") && is_asked("module_101.rs")).await;
    assert_stops(app, calls).await;
    model.wait_for_running(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_says_nothing_holds_up_no_stop() {
    let proxy = Proxy::start().await;
    let url = proxy.url();
    let app = patient(&[("DATABASE_URL", &url)]);
    let session = filled(&app, by_hand(), 30).await;
    proxy.set(Mode::Silent);
    let hello = json!({"format": "openai_chat", "items": [{"role": "user", "content": "hello"}]});
    let posts = [
        (format!("{session}/entries"), hello),
        (format!("{session}/compact"), json!({"wait": 120})),
        (format!("{session}/rebuild"), json!({"format": "openai_chat"})),
        ("/v1/sessions".to_owned(), json!({})),
    ];
    let mut calls: Vec<_> = posts.iter().map(|(path, body)| call(&app, Method::POST, path, body)).collect();
    for path in [&session, &format!("{session}/entries"), &format!("{session}/events")] {
        calls.push(call(&app, Method::GET, path, &Value::Null));
    }
    calls.push(call(&app, Method::PATCH, &session, &json!({"title": "new"})));
    calls.push(call(&app, Method::DELETE, &session, &Value::Null));
    // At least one piece of each, beside those of the background's work.
    proxy.until_held_back(calls.len()).await;
    assert_stops(app, calls).await;
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    let whole = async {
        while !read.ends_with(end.as_bytes()) {
            read.push(stream.read_u8().await.unwrap());
        }
    };
    timeout(PATIENCE, whole).await.expect("the server says nothing");
    String::from_utf8(read).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_neither_send_nor_read_hold_up_no_stop() {
    let app = patient(&[]);
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    // More than the system takes in between: 4 MiB of what is sent, and next to nothing of what is received.
    app.append(&session, "openai_chat", json!([{"role": "user", "content": "0123456789 ".repeat(1 << 20)}])).await;
    let address = app.url("").strip_prefix("http://").unwrap().parse().unwrap();
    let mut unread = Vec::new();
    for path in
        [format!("{session}/entries"), format!("{session}/export?format=openai_chat"), format!("{session}/events")]
    {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let head = read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        unread.push(stream);
    }
    let mut stalled = Vec::new();
    for path in ["/v1/sessions", &format!("{session}/entries"), "/mcp"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // Its body is waited for from now on.
        let answer = read_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 100"), "{answer}");
        stream.write_all(b"{").await.unwrap();
        stalled.push(stream);
    }
    let mut half = TcpStream::connect(address).await.unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost: loc").await.unwrap();
    assert_stops(app, Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_holds_up_no_stop() {
    let url = crate::pg::url().await;
    let app = patient(&[("DATABASE_URL", &url)]);
    let session = filled(&app, by_hand(), 30).await;
    let pool = PgPool::connect(&url).await.unwrap();
    let mut holder = pool.begin().await.unwrap();
    let hold = format!("SELECT FROM sessions WHERE id = '{}' FOR UPDATE", id_of(&session));
    sqlx::query(sqlx::AssertSqlSafe(hold)).execute(&mut *holder).await.unwrap();
    let hello = json!({"format": "openai_chat", "items": [{"role": "user", "content": "hello"}]});
    let calls = vec![
        call(&app, Method::POST, &format!("{session}/entries"), &hello),
        call(&app, Method::PATCH, &session, &json!({"title": "new"})),
    ];
    let count = async |statements: &str| {
        let of_service = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'contextd' AND {statements}"
        );
        sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(of_service)).fetch_one(&pool).await.unwrap()
    };
    let waiting = "wait_event_type = 'Lock' AND query LIKE '% FOR UPDATE'";
    until("both wait for the row", async || count(waiting).await == 2).await;
    assert_stops(app, calls).await;
    until("its statements end with it", async || count("true").await == 0).await;
    holder.rollback().await.unwrap();
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM entries").fetch_one(&pool).await.unwrap();
    assert_eq!(stored, 120);
}
