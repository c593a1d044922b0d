//! A refusal costs no other request: behind each, the connection carries the next one, or the answer says that it ends.

use contextd::service::core::access::{Scope, Scopes};
use contextd::service::ops::keys::{KeyLimits, Keys, NewKey};

use crate::app::{App, Keyed};
use crate::patience::until;
use crate::pg_proxy::{Mode, Proxy};
use crate::raw_http::{RawAnswer, RawConnection};

/// Bodies of none, few and many bytes, and of more than is read behind a refusal.
const SIZES: [usize; 5] = [0, 200, 400_000, 3_000_000, 9_000_000];

/// How a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Length,
    Chunked,
    /// By its length, once the server has asked for it.
    Expected,
}

const WAYS: [Way; 3] = [Way::Length, Way::Chunked, Way::Expected];

/// A request that is refused before its body counts.
struct Case {
    status: u16,
    line: String,
    headers: String,
}

fn case(status: u16, line: &str, headers: &[&str]) -> Case {
    let headers = headers.iter().map(|header| format!("{header}\r\n")).collect();
    Case { status, line: line.to_owned(), headers }
}

impl Case {
    fn head(&self, way: Way, size: usize) -> String {
        let framing = match way {
            Way::Length => format!("content-length: {size}\r\n"),
            Way::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
            Way::Expected => format!("content-length: {size}\r\nexpect: 100-continue\r\n"),
        };
        let json = if self.headers.contains("content-type") { "" } else { "content-type: application/json\r\n" };
        format!("{} HTTP/1.1\r\nhost: localhost\r\n{json}{}{framing}\r\n", self.line, self.headers)
    }

    /// The answer to the request, on a connection that goes on behind it if it may.
    async fn played(&self, connection: &mut RawConnection, way: Way, size: usize) -> Option<RawAnswer> {
        let (head, body) = (self.head(way, size), body(way, size));
        if way != Way::Expected {
            return connection.ask(&[head.into_bytes(), body].concat()).await;
        }
        connection.send(head.as_bytes()).await;
        let answer = connection.answer().await?;
        if answer.status == 100 { connection.ask(&body).await } else { Some(answer) }
    }

    /// Plays it with every size in every way; gives those after which the next request got no answer.
    async fn costs(&self, base: &str) -> Vec<String> {
        let mut lost = Vec::new();
        for size in SIZES {
            for way in WAYS {
                let mut connection = RawConnection::open(base).await;
                let told = format!("{} {size} {way:?}", self.line);
                match self.played(&mut connection, way, size).await {
                    None => lost.push(format!("{told}: no answer")),
                    Some(answer) if answer.status != self.status => lost.push(format!("{told}: {}", answer.status)),
                    Some(answer) => {
                        if answer.closes() {
                            connection = RawConnection::open(base).await;
                        }
                        if !is_answered(&mut connection).await {
                            lost.push(format!("{told}: the next one"));
                        }
                    }
                }
            }
        }
        lost
    }
}

fn body(way: Way, size: usize) -> Vec<u8> {
    let text = vec![b'x'; size];
    match way {
        Way::Length | Way::Expected => text,
        Way::Chunked => {
            let chunk = |piece: &[u8]| {
                [format!("{:x}\r\n", piece.len()).into_bytes(), piece.to_vec(), b"\r\n".to_vec()].concat()
            };
            [text.chunks(10_000).flat_map(chunk).collect(), b"0\r\n\r\n".to_vec()].concat()
        }
    }
}

async fn is_answered(connection: &mut RawConnection) -> bool {
    let next = connection.ask(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    next.is_some_and(|answer| answer.status == 200)
}

async fn assert_free(base: &str, cases: &[Case]) {
    let mut lost = Vec::new();
    for case in cases {
        lost.extend(case.costs(base).await);
    }
    let played = cases.len() * SIZES.len() * WAYS.len();
    assert!(lost.is_empty(), "{} of {played} requests behind a refusal: {lost:#?}", lost.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_want_of_a_key_costs_nothing() {
    let url = crate::pg::url().await;
    let keys = Keys::new(sqlx::PgPool::connect(&url).await.unwrap());
    let key = async |scope: Scope, requests_per_minute: Option<u32>| {
        let limits = KeyLimits { requests_per_minute };
        let new = NewKey { scopes: Scopes::of([scope]), limits, ..NewKey::named("k") };
        keys.create_for("t", new).await.unwrap()
    };
    let (reads, busy) = (key(Scope::Read, None).await, key(Scope::Write, Some(1)).await);
    let envs = [("CONTEXTD_PROXY_OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
    let server = Keyed::start(&url, &["--proxy"], &envs);
    let bearer = |key: &str| format!("authorization: Bearer {key}");
    let (reads_bearer, busy_bearer) = (bearer(&reads), bearer(&busy));
    let (reads_ours, busy_ours) = (format!("contextd-key: {reads}"), format!("contextd-key: {busy}"));
    let (chat, ui) = ("POST /openai/v1/chat/completions", "POST /ui/login");
    let form = "content-type: application/x-www-form-urlencoded";
    // From then on that key is refused.
    let once = format!("GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\n{busy_bearer}\r\n\r\n");
    RawConnection::open(&server.base).await.ask(once.as_bytes()).await.unwrap();
    let cases = [
        case(401, "POST /v1/sessions", &[]),
        case(401, "POST /v1/sessions", &[&bearer("ctxd_wrong")]),
        case(401, "PUT /v1/sessions/0195c0de-0000-7000-8000-000000000000/transcript", &[]),
        case(403, "POST /v1/sessions", &[&reads_bearer]),
        case(429, "POST /v1/sessions", &[&busy_bearer]),
        case(404, "POST /v1/nowhere", &[]),
        case(404, "POST /v1/nowhere", &[&reads_bearer]),
        case(405, "PUT /healthz", &[]),
        case(405, "POST /openapi.json", &[]),
        case(401, "POST /mcp", &[]),
        case(429, "POST /mcp", &[&busy_bearer]),
        case(401, chat, &[]),
        case(403, chat, &[&reads_ours]),
        case(429, chat, &[&busy_ours]),
        case(401, "POST /anthropic/v1/messages", &["contextd-key: ctxd_wrong"]),
        case(401, "POST /openai/v1/files", &[]),
        case(400, "POST /openai/v1/../admin", &[&busy_ours]),
        case(404, "POST /openai/v2/chat/completions", &[]),
        case(403, ui, &[form]),
        case(303, "POST /ui/sessions", &[form]),
        case(405, "PUT /ui/login", &[form]),
    ];
    assert_free(&server.base, &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_what_was_asked_costs_nothing() {
    let app = App::fresh(&[("CONTEXTD_MAX_BODY_BYTES", "100000"), ("CONTEXTD_MAX_ITEMS", "10")]);
    let other_site = ["origin: http://evil.example"];
    let cases = [
        case(415, "POST /v1/sessions", &["content-type: text/plain"]),
        case(403, "POST /v1/sessions", &other_site),
        case(404, "POST /v1/sessions/nonsense/entries", &[]),
        case(406, "POST /mcp", &["accept: text/html"]),
        case(405, "DELETE /mcp", &[]),
        case(405, "PATCH /v1/sessions", &[]),
        case(403, "POST /ui/sessions/x/compact", &["content-type: application/x-www-form-urlencoded"]),
    ];
    // What each says to a body of some size is its own affair: of these some are read first.
    for case in cases {
        let mut lost = case.costs(&app.url("")).await;
        lost.retain(|told| told.ends_with("the next one") || told.ends_with("no answer"));
        assert!(lost.is_empty(), "{lost:#?}");
    }
    let too_large = case(413, "POST /v1/sessions", &[]);
    let lost = too_large.costs(&app.url("")).await;
    assert!(lost.iter().all(|told| told.contains(" 0 ") || told.contains(" 200 ")), "{lost:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_while_the_database_is_silent_costs_nothing() {
    let database = Proxy::start().await;
    let keys = Keys::new(sqlx::PgPool::connect(&database.url()).await.unwrap());
    let key = keys.create("t", "never used").await.unwrap();
    let envs = [("CONTEXTD_PROXY_OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("CONTEXTD_PROXY_TIMEOUT_MS", "500")];
    let server = Keyed::start(&database.url(), &["--proxy"], &envs);
    database.set(Mode::Silent);
    let (bearer, ours) = (format!("authorization: Bearer {key}"), format!("contextd-key: {key}"));
    let cases = [
        case(503, "POST /v1/sessions", &[&bearer]),
        case(503, "POST /mcp", &[&bearer]),
        case(503, "POST /openai/v1/chat/completions", &[&ours]),
    ];
    until("it is seen", async || {
        let mut connection = RawConnection::open(&server.base).await;
        cases[0].played(&mut connection, Way::Length, 200).await.is_some_and(|answer| answer.status == 503)
    })
    .await;
    assert_free(&server.base, &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_end_is_not_sure_is_refused() {
    let app = App::shared();
    let twice = [
        ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
        ("transfer-encoding: chunked, chunked", "0\r\n\r\n"),
        ("transfer-encoding: gzip, chunked", "0\r\n\r\n"),
        ("transfer-encoding: identity", ""),
        ("transfer-encoding: chunked\r\ncontent-length: 5", "0\r\n\r\n"),
        ("content-length: 5\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
        ("Content-Length: 2\r\nCONTENT-LENGTH: 2", "{}"),
        ("content-length: 2\r\ncontent-length: 3", "{}"),
        ("content-length: 2, 2", "{}"),
        ("content-length: +2", "{}"),
        ("content-length: -1", "{}"),
    ];
    for path in ["/v1/sessions", "/openai/v1/chat/completions", "/mcp", "/nowhere"] {
        for (framing, body) in twice {
            let mut connection = RawConnection::open(&app.url("")).await;
            // Also behind a request that went well.
            assert!(is_answered(&mut connection).await);
            let request = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{framing}\r\n\r\n{body}"
            );
            let answer = connection.ask(request.as_bytes()).await;
            assert_eq!(answer.as_ref().map(|answer| answer.status), Some(400), "{path} {framing}: {answer:?}");
        }
    }
    for target in ["localhost:443", "api.openai.com:443"] {
        let mut connection = RawConnection::open(&app.url("")).await;
        let answer = connection.ask(format!("CONNECT {target} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await;
        assert_eq!(answer.map(|answer| answer.status), Some(405), "{target}");
    }
}
