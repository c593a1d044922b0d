//! Whatever goes wrong on our side, the request arrives as it came; what goes wrong on theirs, the client hears.

use futures::StreamExt;
use reqwest::Method;
use serde_json::json;

use super::provider::Reply;
use super::{CHAT, Got, MESSAGES, RESPONSES, Stage, body, client};
use crate::drill_support::turns;
use crate::patience::until;
use crate::pg_proxy::{Mode, Proxy};

const HELLO: &str = "{ \"model\": \"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}] }";

/// The request arrived as it came, and the answer says why.
#[track_caller]
fn assert_bypassed(stage: &Stage, got: &Got, body: &[u8], reason: &str) {
    assert_eq!((got.status, got.header("contextd-bypass")), (200, Some(reason)));
    assert_eq!(stage.provider.take_one().body, body, "{reason}");
    assert_eq!(got.header("contextd-session"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_arrives_all_the_same() {
    let stage = Stage::set("", &[("CONTEXTD_MAX_BODY_BYTES", "50000")]).await;
    let large = body(CHAT, &turns(0..60, 120)).to_string();
    assert!(large.len() > 50_000);
    let foreign = json!({"messages": [{"role": "user", "content": [
        {"type": "tool_use", "id": "a", "name": "b", "input": {}}]}]})
    .to_string();
    let deep = format!(r#"{{"messages":[{{"role":"user","content":{}1{}}}]}}"#, "[".repeat(99), "]".repeat(99));
    for (path, body, reason) in [
        (CHAT, large.as_str(), "too_large"),
        (CHAT, "not { json", "unreadable"),
        (CHAT, "", "unreadable"),
        (CHAT, r#"{"messages":"hello"}"#, "unreadable"),
        (MESSAGES, deep.as_str(), "unreadable"),
        (CHAT, foreign.as_str(), "refused"),
        (RESPONSES, r#"{"input":"hello","previous_response_id":"resp_1"}"#, "server_state"),
        (RESPONSES, r#"{"input":[{"type":"compaction_trigger"}]}"#, "provider_compaction"),
        (CHAT, HELLO, "no_identity"),
    ] {
        // A name of two words is none.
        let name = if reason == "no_identity" { "two words" } else { "kept" };
        let got = stage.post(path, name, body).await;
        assert_bypassed(&stage, &got, body.as_bytes(), reason);
    }
    let headers = [("contextd-session", "kept"), ("content-encoding", "zstd")];
    let got = stage.send(Method::POST, CHAT, &headers, b"\x28\xb5\x2f\xfd".to_vec()).await;
    assert_bypassed(&stage, &got, b"\x28\xb5\x2f\xfd", "unreadable");
    let metrics = stage.app.get("/metrics").await.text;
    for (route, outcome) in
        [("chat_completions", "too_large"), ("messages", "unreadable"), ("responses", "server_state")]
    {
        let line = format!("contextd_proxy_requests_total{{route=\"{route}\",outcome=\"{outcome}\"}} 1");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_of_unknown_length_arrives_whole() {
    let stage = Stage::set("", &[("CONTEXTD_MAX_BODY_BYTES", "50000")]).await;
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> = (0..300_u32).map(|n| Ok(vec![n as u8; 10_000])).collect();
    let whole: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
    let streamed = reqwest::Body::wrap_stream(futures::stream::iter(pieces));
    let got = stage.send(Method::POST, MESSAGES, &[("contextd-session", "large")], streamed).await;
    assert_bypassed(&stage, &got, &whole, "too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_holds_up_no_request() {
    let database = Proxy::start().await;
    let stage = Stage::over(&database, &[("CONTEXTD_PROXY_TIMEOUT_MS", "1500")]).await;
    // On a busy machine it may take longer the first time.
    until("it is kept", async || stage.post(CHAT, "kept", HELLO).await.header("contextd-session").is_some()).await;
    for mode in [Mode::Silent, Mode::Cut] {
        database.set(mode);
        stage.provider.take();
        for _ in 0..3 {
            let got = stage.post(CHAT, "kept", HELLO).await;
            let reason = got.header("contextd-bypass").expect("it is not kept").to_owned();
            assert!(["timeout", "unavailable", "moved", "internal"].contains(&reason.as_str()), "{mode:?}: {reason}");
            assert_bypassed(&stage, &got, HELLO.as_bytes(), &reason);
        }
        assert_eq!(stage.send(Method::GET, "/openai/v1/models", &[], "").await.status, 200);
        database.set(Mode::Pass);
        until("it is kept again", async || stage.post(CHAT, "kept", HELLO).await.header("contextd-session").is_some())
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_breaks_off_breaks_the_answer_off() {
    let stage = Stage::plain().await;
    stage.provider.play(|_| Reply::broken(&["data: {\"a\": 1}\n\n", "data: {\"b\""]));
    for path in [CHAT, RESPONSES, MESSAGES] {
        let request = client().post(stage.app.url(path)).header("contextd-session", "broken");
        let body = if path == RESPONSES { HELLO.replace("messages", "input") } else { HELLO.to_owned() };
        let response = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let mut stream = response.bytes_stream();
        let (mut came, mut ended) = (Vec::new(), false);
        while let Some(bytes) = stream.next().await {
            match bytes {
                Ok(bytes) => came.extend(bytes),
                Err(_) => ended = true,
            }
        }
        assert!(ended, "{path}: an answer that is broken off is no whole one");
        assert_eq!(came, b"data: {\"a\": 1}\n\ndata: {\"b\"", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_ends_the_request() {
    let stage = Stage::plain().await;
    stage.provider.play(|_| Reply::open(&["data: {\"a\": 1}\n\n"]));
    let request = client().post(stage.app.url(CHAT)).header("content-type", "application/json").body(HELLO);
    let mut response = request.send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "data: {\"a\": 1}\n\n", "what has come is handed on");
    stage.provider.until_running(1).await;
    drop(response);
    stage.provider.until_running(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_away_is_said_so() {
    let stage = Stage::plain().await;
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let away = crate::app::App::fresh(&[("CONTEXTD_PROXY", "true"), ("CONTEXTD_PROXY_OPENAI_BASE_URL", &nobody)]);
    let got = super::send(&stage.client, Method::POST, &away.url(CHAT), &[], HELLO).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (502, &json!("upstream_unreachable")));
}
