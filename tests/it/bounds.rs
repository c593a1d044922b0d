//! What a client can't do to others: hold connections by half a request, fill the memory with bodies, or leave its
//! answers unread. The times are configured small; every wait is for the server to act.

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::app::App;
use crate::drill_support::id_of;
use crate::patience::{PATIENCE, eventually, until};
use crate::shutdown::endless;

async fn connect(app: &App) -> TcpStream {
    TcpStream::connect(app.url("").strip_prefix("http://").unwrap()).await.unwrap()
}

async fn sending(app: &App, text: &str) -> TcpStream {
    let mut stream = connect(app).await;
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// All that the server says until it ends the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the server keeps it open");
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(path: &str, length: usize, part: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{part}"
    )
}

#[tokio::test]
async fn half_a_request_is_not_waited_for() {
    let app = App::fresh(&[
        ("CONTEXTD_HEADER_TIMEOUT_MS", "1000"),
        ("CONTEXTD_BODY_TIMEOUT_MS", "1000"),
        ("CONTEXTD_IDLE_TIMEOUT_MS", "1000"),
    ]);
    let mut halves = Vec::new();
    for _ in 0..100 {
        halves.push(("", sending(&app, "GET /healthz HTTP/1.1\r\nhost: loc").await));
        halves.push(("408", sending(&app, &post("/v1/sessions", 100, "{")).await));
        halves.push(("200", sending(&app, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await));
    }
    halves.push(("", connect(&app).await));
    halves.push(("408", sending(&app, &post("/mcp", 100, "{")).await));
    assert_eq!(app.get("/healthz").await.status, 200);
    let ends = join_all(halves.into_iter().map(async |(status, stream)| (status, until_closed(stream).await))).await;
    for (status, answer) in ends {
        assert_eq!(answer.split(' ').nth(1).unwrap_or_default(), status, "{answer}");
    }
}

/// The HTTP library answers by itself what it can't read. The service sees nothing of that, so that neither its headers
/// nor its log can have a part in it; docs/OPERATING.md tells operators so.
#[tokio::test]
async fn what_is_not_http_is_answered_without_the_service() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let app = App::logging(&[], log.reopen().unwrap());
    let asked = |fillers: usize, last: &str| {
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}{last}\r\n", "filler: x\r\n".repeat(fillers))
    };
    let cases = [
        ("400", "GE\"T /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned()),
        ("400", "GET /healthz HTTP/3.9\r\nhost: localhost\r\n\r\n".to_owned()),
        ("400", "GET /healthz HTTP/1.1\r\nhost localhost\r\n\r\n".to_owned()),
        ("431", asked(100, "")),
        ("431", format!("GET /healthz HTTP/1.1\r\nfiller: {}", "x".repeat(70_000))),
        ("414", format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(65_534))),
    ];
    for (status, request) in cases {
        let begins = request.get(..40).unwrap_or(&request);
        // An address beyond its bound is hardly shorter than all headers may be, and may meet that bound first where it
        // comes in pieces.
        let answer = eventually(&format!("{status} to {begins:?}"), async || {
            let answer = until_closed(sending(&app, &request).await).await;
            let met_the_other = status == "414" && answer.starts_with("HTTP/1.1 431 ");
            (!met_the_other).then_some(answer)
        })
        .await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{begins:?}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "", "{begins:?}: {answer}");
        let head = head.to_ascii_lowercase();
        for header in ["content-type", "x-content-type-options", "x-request-id"] {
            assert!(!head.contains(&format!("\r\n{header}:")), "{begins:?}: {answer}");
        }
    }
    // With as many headers as there may be it is the service that answers.
    let read = until_closed(sending(&app, &asked(98, "connection: close\r\n")).await).await;
    assert!(read.starts_with("HTTP/1.1 200 ") && read.contains("\r\nx-content-type-options: nosniff\r\n"), "{read}");
    let told = || {
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["message"] == "request").map(|line| line["status"].clone()).collect::<Vec<_>>()
    };
    until("what could be read is in the log", async || !told().is_empty()).await;
    assert_eq!(told(), [json!(200)]);
}

#[tokio::test]
async fn an_answer_that_is_not_read_is_not_kept() {
    let app = App::fresh(&[("CONTEXTD_WRITE_TIMEOUT_MS", "1000")]);
    let asked = 400;
    let size = app.get("/openapi.json").await.text.len();
    let mut stream = sending(&app, &"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(asked)).await;
    // Until nothing more fits on the way: the server's side closes then, without anything being read.
    let closed =
        async { while stream.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n").await.is_ok() {} };
    timeout(PATIENCE, closed).await.expect("the server waits for ever");
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    assert!(read.len() < asked * size, "{} of {} bytes", read.len(), asked * size);
    assert_eq!(app.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn more_connections_than_allowed_take_nothing_away() {
    let app = App::fresh(&[("CONTEXTD_MAX_CONNECTIONS", "50"), ("CONTEXTD_HEADER_TIMEOUT_MS", "3600000")]);
    let mut waiting = Vec::new();
    for _ in 0..500 {
        waiting.push(sending(&app, "GET /healthz HTTP/1.1\r\nhost: loc").await);
    }
    assert_eq!(app.get("/healthz").await.status, 200);
    let session = app.session(json!({})).await;
    let ended: FuturesUnordered<_> = waiting.into_iter().map(until_closed).collect();
    assert_eq!(ended.take(450).count().await, 450);

    // Connections that are being answered keep their places.
    let events = format!("GET {session}/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut streams = Vec::new();
    for _ in 0..50 {
        let mut stream = sending(&app, &events).await;
        let mut status = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let refused = app.get(&session).await;
    refused.assert_problem(503, "too_many_connections");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(app.get("/healthz").await.status, 200);
    assert_eq!(app.get("/readyz").await.status, 200);
    drop(streams);
    until("a place is free", async || app.get(&session).await.status == 200).await;
}

#[tokio::test]
async fn the_bytes_of_bodies_are_bounded() {
    let app = App::fresh(&[
        ("CONTEXTD_MAX_BODY_BYTES", "1000000"),
        ("CONTEXTD_MAX_BUFFERED_BYTES", "2000000"),
        ("CONTEXTD_MAX_BUFFERED_BYTES_PER_TENANT", "1500000"),
        ("CONTEXTD_BODY_TIMEOUT_MS", "3600000"),
    ]);
    let body = json!({"title": "x", "metadata": {"filler": "y".repeat(900_000)}}).to_string();
    let part = &body[..890_000];
    let stalled = Mutex::new(Vec::new());
    let refused = eventually("a body too many", async || {
        // Where the whole body is read before the stalled one, the stalled one is refused and holds nothing.
        stalled.lock().await.push(sending(&app, &post("/v1/sessions", body.len(), part)).await);
        let answer = app.send(Method::POST, "/v1/sessions", &[], body.clone()).await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    refused.assert_problem(503, "too_many_bytes");
    assert!(refused.header("retry-after").is_some());
    // Small ones still have room, and those who wait may go on.
    app.session(json!({"title": "small"})).await;
    drop(stalled);
    let send = async || app.send(Method::POST, "/v1/sessions", &[], body.clone()).await;
    until("there is room again", async || send().await.status == 201).await;
}

#[tokio::test]
async fn a_request_has_its_time_and_no_more() {
    let url = crate::pg::url().await;
    let mut envs = endless();
    envs.push(("DATABASE_URL", &url));
    let patient = App::fresh(&envs);
    envs.push(("CONTEXTD_REQUEST_TIMEOUT_MS", "1000"));
    let app = App::fresh(&envs);
    let session = patient.session(json!({"title": "before"})).await;
    let pool = PgPool::connect(&url).await.unwrap();
    let mut holder = pool.begin().await.unwrap();
    let hold = format!("SELECT FROM sessions WHERE id = '{}' FOR UPDATE", id_of(&session));
    sqlx::query(sqlx::AssertSqlSafe(hold)).execute(&mut *holder).await.unwrap();
    let asked = timeout(PATIENCE, app.patch(&session, json!({"title": "never"})));
    let given_up = asked.await.expect("it is waited for");
    given_up.assert_problem(503, "timeout");
    assert!(given_up.header("retry-after").is_some());
    // What it waited for is given up too, before it could be had.
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("no statement waits", async || sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 0)
        .await;
    holder.rollback().await.unwrap();
    assert_eq!(patient.get(&session).await.expect(200)["title"], "before");
    until("in time", async || app.patch(&session, json!({"title": "after"})).await.status == 200).await;
}
