//! What passes untouched, both ways.

use reqwest::Method;
use serde_json::{Value, json};

use super::provider::Reply;
use super::{CHAT, MESSAGES, RESPONSES, Stage, client, send};

/// A body as no serialiser of ours writes it.
fn odd_body(path: &str) -> String {
    let items = match path {
        RESPONSES => r#""input" :[ {"type":"message", "role":"user","content":"h\u00e9llo", "x_new":1.50e1 } ]"#,
        _ => r#""messages" :[ {"role":"user","content":"h\u00e9llo", "x_new":1.50e1 } ]"#,
    };
    format!("{{ \"model\":\"m\",\n\t{items}, \"stream\": true ,\"unknown\":{{\"a\":[1.0,2e0]}}, \"max_tokens\":9}} \n")
}

const EVENTS: [&str; 4] =
    [": ping\n\n", "event: a\r\ndata: {\"x\":\"\u{e9}\"}\r\n\r\n", "data: {\"us", "age\": null}\n\ndata: [DONE]\n\n"];

/// The client's trace is the client's: its context goes on as it came, and where it has none, none is made up.
#[tokio::test(flavor = "multi_thread")]
async fn a_trace_context_passes_as_it_came() {
    let collector = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", collector.local_addr().unwrap());
    for envs in [vec![], vec![("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())]] {
        let stage = Stage::set("", &envs).await;
        stage.provider.play(|seen| Reply::good(seen, 10, 5));
        let came = [
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("tracestate", "a=1, b=2"),
            ("baggage", "user=1"),
        ];
        for headers in [&came[..], &[("traceparent", "malformed")], &[]] {
            stage.send(Method::POST, CHAT, headers, odd_body(CHAT)).await;
            let seen = stage.provider.take_one();
            for name in ["traceparent", "tracestate", "baggage"] {
                let sent = headers.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
                assert_eq!(seen.header(name), sent, "{name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_compacted_passes_to_the_byte() {
    let stage = Stage::plain().await;
    let headers = [
        ("authorization", "Bearer sk-client"),
        ("x-api-key", "sk-ant-client"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "one-2026-01-01,two"),
        ("contextd-session", "passes"),
        ("contextd-anything", "ours"),
        ("x-mine", "1"),
    ];
    let whole = " {\"id\" : \"played\",  \"usage\":null }\n";
    for path in [CHAT, RESPONSES, MESSAGES] {
        for pieces in [&EVENTS[..], &[whole][..]] {
            let kind = if pieces.len() > 1 { "text/event-stream; charset=utf-8" } else { "application/json" };
            let answer: Vec<&'static str> = pieces.to_vec();
            stage.provider.play(move |_| Reply::of(200, kind, &answer).with("x-ratelimit-left", "7"));
            let (body, uri) = (odd_body(path), format!("{path}?beta=true&x=%20"));
            let through = stage.send(Method::POST, &uri, &headers, body.clone()).await;
            let seen = stage.provider.take_one();
            let direct_url = stage.provider.base_url().replace("/v1", "")
                + uri.trim_start_matches("/openai").trim_start_matches("/anthropic");
            let direct = send(&client(), Method::POST, &direct_url, &headers, body.clone()).await;
            let seen_direct = stage.provider.take_one();

            assert_eq!((seen.text(), &seen.uri, &seen.method), (body.as_str(), &seen_direct.uri, &Method::POST));
            let (mut ours, mut theirs) = (seen.headers.clone(), seen_direct.headers.clone());
            assert!(ours.remove("contextd-proxy").is_some());
            for ours in ["contextd-session", "contextd-anything"] {
                theirs.remove(ours);
            }
            // The answer is read as it passes.
            assert_eq!(ours.remove("accept-encoding").unwrap(), "identity");
            assert_eq!(ours, theirs, "{path}");

            assert_eq!((through.status, &through.body), (direct.status, &direct.body), "{path}");
            assert_eq!(through.body, pieces.concat().as_bytes());
            assert_eq!(through.header("x-request-id"), Some("req_played"));
            assert_eq!(through.header("x-ratelimit-left"), Some("7"));
            assert_eq!(through.header("content-type"), Some(kind));
            assert_eq!(through.header("contextd-state"), Some("green"));
            assert!(through.header("contextd-tokens").unwrap().parse::<u64>().unwrap() > 0);
            assert_eq!(through.header("contextd-compaction"), None);
            through.session();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_routes_pass() {
    let stage = Stage::plain().await;
    stage.provider.play(|_| Reply::of(307, "text/plain", &["go"]).with("location", "/elsewhere"));
    let multipart = "multipart/form-data; boundary=x";
    for (method, path, kind, body) in [
        (Method::GET, "/openai/v1/models?limit=2&after=a%2Fb", "application/json", ""),
        (Method::DELETE, "/openai/v1/files/a%2Fb", "application/json", ""),
        (Method::POST, "/openai/v1/files", multipart, "--x\r\n\r\nbytes\r\n--x--"),
        (Method::POST, "/openai/v1/embeddings", "application/json", "{\"input\" : \"a\"}"),
        (Method::POST, "/anthropic/v1/messages/count_tokens", "application/json", "{\"messages\": []}"),
        (Method::GET, "/openai/v1/chat/completions", "application/json", ""),
        (Method::PATCH, "/anthropic/v1/x", "text/plain", "not { json"),
    ] {
        let got = stage.send(method.clone(), path, &[("content-type", kind)], body).await;
        let seen = stage.provider.take_one();
        let uri = path.trim_start_matches("/openai").trim_start_matches("/anthropic");
        assert_eq!((&seen.method, seen.uri.as_str(), seen.text()), (&method, uri, body));
        assert_eq!(seen.header("content-type"), Some(kind), "{path}");
        assert_eq!((got.status, got.header("location"), got.body.as_slice()), (307, Some("/elsewhere"), &b"go"[..]));
        assert_eq!((got.header("contextd-session"), got.header("contextd-bypass")), (None, None), "{path}");
    }
    assert_eq!(stage.app.get("/v1/sessions").await.expect(200)["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_are_not_kept() {
    let stage = Stage::plain().await;
    let messages = json!([{"role": "user", "content": "hello"}]);
    let with = |thread: Value| json!({"model": "m", "thread": thread, "messages": messages}).to_string();
    let created = stage.post(MESSAGES, "t", &with(json!({"type": "create"}))).await;
    assert_eq!((created.status, stage.provider.take_one().json()), (200, json!({"model": "m", "messages": messages})));
    let refused = stage.post(MESSAGES, "t", &with(json!({"type": "continue", "previous_message_id": "msg_1"}))).await;
    assert_eq!((refused.status, stage.provider.take().len()), (400, 0));
    let error = &refused.json()["error"];
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["details"]["error_code"], "thread_unsupported_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_back_is_refused() {
    let stage = Stage::plain().await;
    stage.send(Method::GET, "/openai/v1/models", &[], "").await;
    let passed = stage.provider.take_one().header("contextd-proxy").unwrap().to_owned();
    for path in ["/openai/v1/models", "/anthropic/v1/messages"] {
        let got = stage.send(Method::POST, path, &[("contextd-proxy", &format!("other, {passed}"))], "{}").await;
        assert_eq!((got.status, stage.provider.take().len()), (508, 0), "{path}");
        assert!(String::from_utf8_lossy(&got.body).contains("proxy_loop"));
    }
    stage.send(Method::GET, "/openai/v1/models", &[("contextd-proxy", "other")], "").await;
    assert_eq!(stage.provider.take_one().header("contextd-proxy"), Some(format!("other, {passed}").as_str()));
}

#[tokio::test]
async fn without_being_asked_for_there_is_no_proxy() {
    let got = send(&client(), Method::GET, &crate::app::App::shared().url("/openai/v1/models"), &[], "").await;
    assert_eq!(got.status, 404);
}
