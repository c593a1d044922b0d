use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body as HttpBody, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::routing::get;
use futures::future::BoxFuture;
use futures::stream;
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use super::*;
use crate::service::Services;
use crate::service::compaction::summarise::SummaryOutcome;
use crate::service::compaction::work::CompactionWork;
use crate::service::core::offload::at_usual_priority;
use crate::service::core::tenant::Tenant;
use crate::service::stateless::Summariser;

const SID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const MIB: usize = 1 << 20;

struct NoSummaries;

impl Summariser for NoSummaries {
    fn summarise<'a>(&'a self, _: &'a CompactionWork) -> BoxFuture<'a, Result<SummaryOutcome, String>> {
        Box::pin(async { Err("there is no upstream here".to_owned()) })
    }
}

/// No database listens there: whatever reaches a use case fails, so a 4xx proves that nothing was stored.
fn state(dev: bool) -> AppState {
    AppState {
        services: Arc::new(Services::without_database()),
        dev,
        dev_tenant: dev.then(|| Tenant(Uuid::nil())),
        ready: Arc::new(AtomicBool::new(true)),
        summariser: Arc::new(NoSummaries),
        catalogue: Arc::new(Vec::new()),
        max_body: 32 * MIB,
        bounds: Arc::new(Bounds::new(Duration::from_secs(60), Duration::from_secs(60), 256 * MIB, 128 * MIB)),
        metrics: install_metrics().unwrap(),
        metrics_key: None,
    }
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    #[track_caller]
    fn assert(&self, status: u16, code: &str) {
        assert_eq!((self.status.as_u16(), self.body["code"].as_str()), (status, Some(code)), "{}", self.body);
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(self.body["status"], json!(status));
        assert_eq!(self.body["request_id"], json!(self.headers["x-request-id"].to_str().unwrap()));
        for member in ["type", "title", "detail"] {
            assert!(self.body[member].is_string(), "{member} is missing");
        }
    }

    #[track_caller]
    fn assert_fields(&self, pointers: &[&str]) {
        self.assert(422, "validation_failed");
        let found: Vec<&str> =
            self.body["errors"].as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
        assert_eq!(found, pointers, "{}", self.body);
    }
}

/// At the usual priority: on a machine that others fill, threads that step back may not begin within a request's time.
async fn call_on(router: Router, request: Request<HttpBody>) -> Answer {
    let response = at_usual_priority(router.oneshot(request)).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    Answer { status: parts.status, headers: parts.headers, body: serde_json::from_slice(&bytes).unwrap_or_default() }
}

async fn call(request: Request<HttpBody>) -> Answer {
    call_on(router(state(true)), request).await
}

fn request(method: &str, path: &str, body: impl Into<HttpBody>) -> Request<HttpBody> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.into())
        .unwrap()
}

async fn send(method: &str, path: &str, body: impl Into<HttpBody>) -> Answer {
    call(request(method, &path.replace("{sid}", SID), body)).await
}

async fn append(body: impl Into<HttpBody>) -> Answer {
    send("POST", "/v1/sessions/{sid}/entries", body).await
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_with_and_without_a_length() {
    let big = format!(r#"{{"format":"native","items":["{}"]}}"#, "a".repeat(33 * MIB));
    append(big.clone()).await.assert(413, "payload_too_large");

    let chunks: Vec<std::io::Result<Bytes>> =
        big.into_bytes().chunks(MIB).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    append(HttpBody::from_stream(stream::iter(chunks))).await.assert(413, "payload_too_large");
}

#[tokio::test]
async fn a_body_in_pieces_is_put_together() {
    let pieces = [r#"{"format":"#, r#""native","#, r#""items":[],"nope":1}"#];
    let pieces = pieces.map(|piece| std::io::Result::Ok(Bytes::from_static(piece.as_bytes())));
    append(HttpBody::from_stream(stream::iter(pieces))).await.assert_fields(&["/nope"]);
}

#[tokio::test]
async fn nesting_is_refused_at_depth_65_of_an_item() {
    let body = |depth: usize| {
        let item = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        format!(r#"{{"format":"native","items":[{item}],"usage":1}}"#)
    };
    append(body(65)).await.assert(422, "too_deep");
    append(body(64)).await.assert_fields(&["/usage"]);
    append(body(1_000_000)).await.assert(422, "too_deep");
}

#[tokio::test]
async fn text_that_is_not_utf8_or_not_json_says_where() {
    let mut bytes = br#"{"format":"native","items":["#.to_vec();
    let offset = bytes.len() + 1;
    bytes.extend(b"\"\xff\"]}");
    let answer = append(bytes).await;
    answer.assert(400, "invalid_utf8");
    assert_eq!(answer.body["offset"], json!(offset));

    let answer = append("{\"format\":\n\"native\",}").await;
    answer.assert(400, "malformed_json");
    assert_eq!((&answer.body["line"], &answer.body["column"]), (&json!(2), &json!(10)));
    append("{\"format\":\"a\0b\"}").await.assert(400, "malformed_json");
    append("{} {}").await.assert(400, "malformed_json");
    append("[").await.assert(400, "malformed_json");
}

#[tokio::test]
async fn wrong_fields_are_named_by_a_pointer() {
    append("[]").await.assert(422, "validation_failed");
    append("{}").await.assert_fields(&["/format"]);
    append("").await.assert_fields(&["/format"]);
    append(r#"{"format":"xml","items":[]}"#).await.assert_fields(&["/format"]);
    append(r#"{"format":"native"}"#).await.assert_fields(&["/items"]);
    append(r#"{"format":"native","items":{}}"#).await.assert_fields(&["/items"]);
    append(r#"{"format":"native","items":[],"a/~`b":1}"#).await.assert_fields(&["/a~1~0`b"]);
    append(r#"{"format":"native","items":[],"parent_id":"x"}"#).await.assert_fields(&["/parent_id"]);
    append(r#"{"format":"native","items":[],"usage":[]}"#).await.assert_fields(&["/usage"]);
    let detail = append(r#"{"format":7,"items":[]}"#).await.body["errors"][0]["detail"].to_string();
    assert!(!detail.contains("line"), "{detail}");
}

#[tokio::test]
async fn all_faults_of_a_session_are_answered_at_once() {
    let body = json!({
        "external_id": "a\0b", "title": "x".repeat(1_001), "metadata": [], "system": 1, "tools": {}, "model": "ok",
    });
    let answer = send("POST", "/v1/sessions", body.to_string()).await;
    answer.assert_fields(&["/external_id", "/title", "/metadata", "/system", "/tools"]);
    send("PATCH", "/v1/sessions/{sid}", r#"{"title":"\u0000"}"#).await.assert_fields(&["/title"]);
    send("PATCH", "/v1/sessions/{sid}", r#"{"external_id":"a"}"#).await.assert_fields(&["/external_id"]);
    let path = format!("/v1/sessions/{{sid}}/entries/{SID}/label");
    send("PUT", &path, "{}").await.assert_fields(&["/label"]);
}

#[tokio::test]
async fn too_many_items_are_refused() {
    let items = vec!["{}"; 1_001].join(",");
    append(format!(r#"{{"format":"native","items":[{items}]}}"#)).await.assert(422, "too_many_items");
}

#[tokio::test]
async fn only_json_is_taken() {
    let mut plain = request("POST", "/v1/sessions", "{}");
    plain.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    call(plain).await.assert(415, "unsupported_media_type");
    let mut none = request("POST", "/v1/sessions", "{}");
    none.headers_mut().remove(header::CONTENT_TYPE);
    call(none).await.assert(415, "unsupported_media_type");
    let mut charset = request("POST", "/v1/sessions", r#"{"title":1}"#);
    charset.headers_mut().insert(header::CONTENT_TYPE, "Application/JSON; charset=utf-8".parse().unwrap());
    call(charset).await.assert_fields(&["/title"]);
}

#[tokio::test]
async fn query_parameters_are_checked() {
    for (query, pointers) in [
        ("limit=0", vec!["/query/limit"]),
        ("limit=201", vec!["/query/limit"]),
        ("limit=x", vec!["/query/limit"]),
        ("state=blue&updated_after=noon&nope=1", vec!["/query/state", "/query/updated_after", "/query/nope"]),
        ("external_id=%00", vec!["/query/external_id"]),
    ] {
        send("GET", &format!("/v1/sessions?{query}"), "").await.assert_fields(&pointers);
    }
    send("GET", "/v1/sessions/{sid}/context", "").await.assert_fields(&["/query/format"]);
    send("GET", "/v1/sessions/{sid}/context?format=xml", "").await.assert_fields(&["/query/format"]);
    send("GET", "/v1/sessions/{sid}/entries?leaf_id=1", "").await.assert_fields(&["/query/leaf_id"]);
}

#[tokio::test]
async fn compact_and_rebuild_check_their_ranges() {
    let compact = "/v1/sessions/{sid}/compact";
    send("POST", compact, r#"{"wait":121}"#).await.assert_fields(&["/wait"]);
    send("POST", compact, r#"{"wait":-1,"summary":" ","details":1}"#)
        .await
        .assert_fields(&["/wait", "/summary", "/details"]);
    send("POST", compact, r#"{"strategy":"magic"}"#).await.assert_fields(&["/strategy"]);
    send("POST", "/v1/sessions/{sid}/rebuild", r#"{"format":"pi","max_tokens":0}"#)
        .await
        .assert_fields(&["/max_tokens"]);
    send("POST", "/v1/sessions/{sid}/navigate", "{}").await.assert_fields(&["/target_id"]);
    send("POST", "/v1/sessions/{sid}/navigate", r#"{"target_id":null,"summarize":true,"wait":121}"#)
        .await
        .assert_fields(&["/wait"]);
    send("POST", "/v1/sessions/{sid}/navigate", r#"{"target_id":null,"replace_instructions":true}"#)
        .await
        .assert_fields(&["/replace_instructions"]);
}

#[tokio::test]
async fn what_is_not_there_is_404_and_a_wrong_method_405() {
    send("GET", "/v1/nothing", "").await.assert(404, "not_found");
    send("GET", "/v1/sessions/not-an-id", "").await.assert(404, "not_found");
    send("GET", "/v1/sessions/{sid}/tool-calls/%ff", "").await.assert(404, "not_found");
    let answer = send("PUT", "/v1/sessions", "").await;
    answer.assert(405, "method_not_allowed");
    assert!(answer.headers.contains_key(header::ALLOW));
}

#[tokio::test]
async fn a_key_is_needed_unless_in_dev() {
    let router = router(state(false));
    let answer = call_on(router.clone(), request("GET", "/v1/sessions", "")).await;
    answer.assert(401, "unauthorized");
    assert!(answer.headers[header::WWW_AUTHENTICATE].to_str().unwrap().starts_with("Bearer"));
    let mut basic = request("GET", "/v1/sessions", "");
    basic.headers_mut().insert(header::AUTHORIZATION, "Basic abc".parse().unwrap());
    call_on(router.clone(), basic).await.assert(401, "unauthorized");
    for open in ["/healthz", "/metrics", "/openapi.json", "/docs/"] {
        let answer = call_on(router.clone(), request("GET", open, "")).await;
        assert_eq!(answer.status, 200, "{open}");
    }
}

#[tokio::test]
async fn readiness_follows_the_flag_and_the_database() {
    let state = state(true);
    call_on(router(state.clone()), request("GET", "/readyz", "")).await.assert(503, "unavailable");
    state.ready.store(false, Ordering::Relaxed);
    call_on(router(state), request("GET", "/readyz", "")).await.assert(503, "starting_or_draining");
}

#[tokio::test]
async fn a_lost_database_is_503_and_shows_no_cause() {
    let answer = call_on(router(state(true)), {
        let mut keyed = request("POST", "/v1/sessions", "{}");
        keyed.headers_mut().insert("idempotency-key", "k".parse().unwrap());
        keyed
    })
    .await;
    answer.assert(503, "unavailable");
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    assert!(!answer.body.to_string().contains("127.0.0.1"), "{}", answer.body);
}

#[tokio::test]
async fn an_idempotency_key_is_1_to_255_characters() {
    for (key, bad) in [("", true), ("k", false), (&"k".repeat(255), false), (&"k".repeat(256), true)] {
        let mut keyed = request("POST", "/v1/sessions", "{}");
        keyed.headers_mut().insert("idempotency-key", key.parse().unwrap());
        let answer = call(keyed).await;
        if bad {
            answer.assert_fields(&["/headers/idempotency-key"]);
        } else {
            answer.assert(503, "unavailable");
        }
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error_without_its_words() {
    async fn explode() -> StatusCode {
        panic!("secret words")
    }
    let router = Router::new().route("/boom", get(explode)).layer(from_fn(observe::observe));
    let answer = call_on(router, request("GET", "/boom", "")).await;
    answer.assert(500, "internal_error");
    assert!(!answer.body.to_string().contains("secret"));
}

#[tokio::test]
async fn a_request_id_is_kept_if_it_is_plain() {
    for (given, kept) in [("abc-1.2:3_X", true), ("a b", false), (&"x".repeat(129), false)] {
        let mut request = request("GET", "/healthz", "");
        request.headers_mut().insert("x-request-id", given.parse().unwrap());
        let answer = call(request).await;
        assert_eq!(answer.headers["x-request-id"] == given, kept, "{given}");
    }
}

#[tokio::test]
async fn counting_adds_up_and_names_the_bad_item() {
    let body = json!({"format": "native", "items": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "system": "be brief", "tools": [{"name": "f"}]});
    let answer = send("POST", "/v1/count", body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let items: u64 = answer.body["per_item"].as_array().unwrap().iter().map(|tokens| tokens.as_u64().unwrap()).sum();
    assert!(items > 0 && answer.body["tokens"].as_u64().unwrap() > items);
    let bad = send("POST", "/v1/count", r#"{"format":"native","items":[{"role":"user","content":[]},5]}"#).await;
    bad.assert_fields(&["/items/1"]);
}

#[tokio::test]
async fn requests_are_counted_by_route_template() {
    send("GET", "/v1/sessions/{sid}/context?format=xml", "").await;
    let text = state(true).metrics.render();
    assert!(
        text.contains(r#"contextd_http_requests_total{method="GET",route="/v1/sessions/{sid}/context",status="422"}"#)
    );
    assert!(text.contains("# HELP contextd_http_requests_total"));
    assert!(text.contains("contextd_http_request_duration_seconds_bucket"));
    assert!(!text.contains(SID));
}

#[test]
fn the_openapi_file_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap_or_default()).unwrap_or_default();
    let now = serde_json::to_value(openapi()).unwrap();
    assert!(kept == now, "openapi/openapi.json is out of date; run: cargo run -- openapi > openapi/openapi.json");
}

/// The promised calls: clients are written against these.
#[test]
fn the_contract_is_routed() {
    let api = serde_json::to_value(openapi()).unwrap();
    for (path, methods) in [
        ("/v1/sessions", "post get"),
        ("/v1/sessions/{sid}", "get patch delete"),
        ("/v1/sessions/by-external-id/{external_id}", "get"),
        ("/v1/sessions/erase", "post"),
        ("/v1/sessions/{sid}/fork", "post"),
        ("/v1/sessions/{sid}/entries", "post get"),
        ("/v1/sessions/{sid}/entries/{eid}", "get"),
        ("/v1/sessions/{sid}/entries/{eid}/label", "put"),
        ("/v1/sessions/{sid}/tree", "get"),
        ("/v1/sessions/{sid}/navigate", "post"),
        ("/v1/sessions/{sid}/export", "get"),
        ("/v1/sessions/{sid}/snapshot", "get"),
        ("/v1/sessions/{sid}/composition", "get"),
        ("/v1/sessions/{sid}/timeline", "get"),
        ("/v1/sessions/{sid}/anti-thrash/reset", "post"),
        ("/v1/sessions/{sid}/prepare", "post"),
        ("/v1/sessions/{sid}/compact", "post"),
        ("/v1/sessions/{sid}/compactions", "get"),
        ("/v1/sessions/{sid}/rebuild", "post"),
        ("/v1/sessions/{sid}/context", "get"),
        ("/v1/sessions/{sid}/tool-calls", "get"),
        ("/v1/sessions/{sid}/tool-calls/{tool_call_id}", "get"),
        ("/v1/sessions/{sid}/files", "get"),
        ("/v1/sessions/{sid}/search", "get"),
        ("/v1/sessions/{sid}/tasks", "get"),
        ("/v1/sessions/{sid}/chapter-task", "get"),
        ("/v1/sessions/{sid}/chapters", "post get"),
        ("/v1/sessions/{sid}/vfs/", "get"),
        ("/v1/sessions/{sid}/vfs/{path}", "get"),
        ("/v1/sessions/{sid}/events", "get"),
        ("/v1/events", "get"),
        ("/v1/compactions", "get"),
        ("/v1/compactions/{cid}", "get"),
        ("/v1/compactions/{cid}/cancel", "post"),
        ("/v1/compactions/{cid}/revert", "post"),
        ("/v1/compactions/{cid}/diff", "get"),
        ("/v1/compactions/{cid}/retry", "post"),
        ("/v1/compactions/purge", "post"),
        ("/v1/stats", "get"),
        ("/v1/search", "get"),
        ("/v1/count", "post"),
        ("/v1/lint", "post"),
        ("/v1/compact", "post"),
        ("/v1/responses/compact", "post"),
        ("/v1/sessions/{sid}/transcript", "put"),
        ("/v1/hooks", "post get"),
        ("/v1/hooks/{hid}", "get patch delete"),
        ("/v1/hooks/{hid}/deliveries", "get"),
        ("/v1/hooks/{hid}/deliveries/{did}/redeliver", "post"),
        ("/v1/keys", "post get"),
        ("/v1/keys/{kid}", "get delete"),
        ("/v1/keys/{kid}/rotate", "post"),
        ("/v1/settings/schema", "get"),
        ("/v1/upstreams", "get"),
        ("/v1/models", "get"),
        ("/healthz", "get"),
        ("/readyz", "get"),
        ("/metrics", "get"),
    ] {
        for method in methods.split(' ') {
            assert!(api["paths"][path][method].is_object(), "{method} {path}");
        }
    }
}

#[test]
fn every_operation_has_a_unique_id_an_error_answer_and_a_summary() {
    let api = serde_json::to_value(openapi()).unwrap();
    let mut ids = std::collections::HashSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is used twice");
            assert!(operation["summary"].is_string(), "{method} {path}");
            assert!(operation["responses"]["default"].is_object(), "{method} {path}");
        }
    }
    let text = api.to_string();
    for reference in text.split(r##""$ref":"#/components/schemas/"##).skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(api["components"]["schemas"][name].is_object(), "{name} is not described");
    }
}
