use secrecy::SecretString;

use super::*;
use crate::llm::http::MAX_ANSWER;
use crate::llm::played_upstream::{SUMMARY, USAGE};

#[tokio::test]
async fn good_answers_of_every_kind() {
    for kind in KINDS {
        let completion = ask(Behaviour::good(), kind).await.unwrap();
        let (input, output, cached) = USAGE;
        assert_eq!(completion.text, SUMMARY, "{kind:?}");
        assert_eq!((completion.stop, completion.calls), (Stop::End, 1), "{kind:?}");
        assert_eq!(completion.usage, TokenUsage { input, output, cached, cache_write: 0 }, "{kind:?}");
    }
}

#[tokio::test]
async fn answers_that_are_no_summary_say_so() {
    for kind in KINDS {
        let empty = ask(Behaviour::Empty, kind).await.unwrap();
        assert_eq!((empty.text.as_str(), empty.stop), ("", Stop::End), "{kind:?}");
        assert_eq!(ask(Behaviour::Truncated, kind).await.unwrap().stop, Stop::Length, "{kind:?}");
        assert_eq!(ask(Behaviour::ToolCall, kind).await.unwrap().stop, Stop::ToolUse, "{kind:?}");
        assert_eq!(ask(Behaviour::Refusal, kind).await.unwrap().stop, Stop::Refusal, "{kind:?}");
    }
}

#[tokio::test]
async fn the_request_carries_prompt_limit_and_key() {
    for kind in KINDS {
        let server = PlayedUpstream::start(Behaviour::EchoPrompt).await;
        let upstream = upstream(&server, |config| {
            config.kind = kind;
            config.max_output_tokens = Some(77);
            config.headers.insert("x-team".to_owned(), SecretString::from("blue"));
        });
        let completion = upstream.summarise(&task()).await.unwrap();
        assert!(completion.text.contains(SAID), "{kind:?}");
        let request = server.requests().remove(0);
        let (path, limit, header, value) = match kind {
            UpstreamKind::Anthropic => ("/v1/messages", "max_tokens", "x-api-key", KEY.to_owned()),
            UpstreamKind::Openai => ("/v1/chat/completions", "max_tokens", "authorization", format!("Bearer {KEY}")),
            _ => ("/v1/responses", "max_output_tokens", "authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(request.path, path);
        assert_eq!(request.body[limit], 77);
        assert_eq!(request.body["model"], "played");
        assert_eq!(request.headers[header], value);
        assert_eq!(request.headers["x-team"], "blue");
        assert_eq!(request.headers.contains_key("anthropic-version"), kind == UpstreamKind::Anthropic);
        assert!(!request.system().is_empty());
    }
}

#[tokio::test]
async fn failures_have_their_own_words() {
    let shape = UpstreamError::Malformed("no choices");
    assert_eq!(ask(Behaviour::Malformed, UpstreamKind::Openai).await, Err(UpstreamError::Malformed("not JSON")));
    assert_eq!(ask(Behaviour::WrongShape, UpstreamKind::Openai).await, Err(shape));
    for (behaviour, word) in [
        (Behaviour::Drop, "dropped"),
        (Behaviour::Overflow, "context_overflow"),
        (Behaviour::StatusBody(413, String::new()), "context_overflow"),
        (Behaviour::StatusBody(500, "the request exceeds the available context size".to_owned()), "context_overflow"),
        (Behaviour::StatusBody(200, r#"{"error":{"code":429,"message":"slow down"}}"#.to_owned()), "rate_limited"),
        (Behaviour::StatusBody(200, r#"{"error":{"message":"odd"}}"#.to_owned()), "server_error"),
        (Behaviour::StatusBody(200, r#"{"choices":[{"mess"#.to_owned()), "dropped"),
        (Behaviour::StatusBody(429, r#"{"error":"too many tokens, wait"}"#.to_owned()), "rate_limited"),
        (Behaviour::StatusBody(400, format!("token limit exceeded {}", "echo ".repeat(300))), "rejected"),
        (Behaviour::Quota, "quota"),
        (Behaviour::Status(402, None), "quota"),
        (Behaviour::Status(401, None), "unauthorized"),
        (Behaviour::Status(404, None), "rejected"),
        (Behaviour::Status(302, None), "rejected"),
        (Behaviour::Status(429, None), "rate_limited"),
        (Behaviour::Status(503, None), "server_error"),
    ] {
        let error = ask(behaviour.clone(), UpstreamKind::Openai).await.unwrap_err();
        assert_eq!(error.code(), word, "{behaviour:?}");
    }
}

#[tokio::test]
async fn an_answer_too_large_is_refused() {
    let fitting = ask(Behaviour::Huge(MAX_ANSWER / 2), UpstreamKind::Openai).await.unwrap();
    assert_eq!(fitting.text.len(), MAX_ANSWER / 2);
    for kind in KINDS {
        let error = ask(Behaviour::Huge(MAX_ANSWER), kind).await.unwrap_err();
        assert_eq!(error, UpstreamError::TooLarge(MAX_ANSWER));
    }
}

#[tokio::test]
async fn nobody_at_home() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    // A port that was free a moment ago; the listener is gone at once.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let upstream = upstream(&server, |config| config.base_url = format!("http://{free}"));
    assert_eq!(upstream.summarise(&task()).await, Err(UpstreamError::Connect));
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn errors_hold_neither_prompt_nor_key() {
    for kind in KINDS {
        let error = ask(Behaviour::EchoError(400), kind).await.unwrap_err();
        assert!(matches!(error, UpstreamError::Status { code: 400, .. }));
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains("parser") && !text.contains(KEY), "{text}");
        }
    }
    let body = format!(r#"{{"error":"bad key {KEY}\n{}"}}"#, "z".repeat(2000));
    let error = ask(Behaviour::StatusBody(400, body), UpstreamKind::Openai).await.unwrap_err();
    let UpstreamError::Status { message, .. } = error else { panic!("{error:?}") };
    assert!(message.starts_with("bad key [redacted] zzz"), "{message}");
    assert_eq!(message.chars().count(), 500);
    let body = format!(r#"{{"detail":[{{"input":"{SAID}"}}]}}"#);
    let error = ask(Behaviour::StatusBody(422, body), UpstreamKind::Openai).await.unwrap_err();
    assert_eq!(error.to_string(), "status 422: Unprocessable Entity");
}

#[tokio::test]
async fn an_answer_of_nothing_to_a_full_window_is_an_overflow() {
    let body = r#"{"choices":[{"message":{"content":""},"finish_reason":"length"}],
        "usage":{"prompt_tokens":4090,"completion_tokens":0}}"#;
    let server = PlayedUpstream::start(Behaviour::StatusBody(200, body.to_owned())).await;
    let small = upstream(&server, |config| config.context_window = 4096);
    assert_eq!(small.summarise(&task()).await.unwrap_err().code(), "context_overflow");
    let large = upstream(&server, |config| config.context_window = 8192);
    assert_eq!(large.summarise(&task()).await.unwrap().stop, Stop::Length);
}

#[tokio::test]
async fn the_builtin_needs_nothing() {
    let upstreams = Upstreams::new(vec![], None).unwrap();
    let completion = upstreams.default_upstream().summarise(&task()).await.unwrap();
    assert!(!completion.text.is_empty());
    assert_eq!((completion.calls, completion.usage), (0, TokenUsage::default()));
}

#[tokio::test]
async fn attempts_and_tokens_are_counted() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let shown = recorder.handle();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Status(503, None)])).await;
    upstream(&server, |_| ()).summarise(&task()).await.unwrap();
    let shown = shown.render();
    for line in [
        r#"contextd_upstream_requests_total{upstream="played",outcome="server_error"} 1"#,
        r#"contextd_upstream_requests_total{upstream="played",outcome="ok"} 1"#,
        r#"contextd_upstream_tokens_total{upstream="played",direction="input"} 100"#,
        r#"contextd_upstream_tokens_total{upstream="played",direction="cached"} 40"#,
        r#"contextd_upstream_request_duration_seconds_count{upstream="played"} 2"#,
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
}

#[tokio::test]
async fn a_breaker_shows_from_its_opening_to_the_next_success() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let shown = recorder.handle();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let server = PlayedUpstream::start(Behaviour::Status(503, None)).await;
    let upstream = upstream(&server, |config| {
        config.max_retries = 0;
        config.breaker_failures = 2;
        config.breaker_rest = Duration::ZERO;
    });
    let is_open = || {
        let text = shown.render();
        let line = text.lines().find(|line| line.starts_with("contextd_upstream_breaker_open{")).unwrap();
        line.ends_with("{upstream=\"played\"} 1")
    };
    assert!(!is_open(), "known before anybody asks");
    upstream.summarise(&task()).await.unwrap_err();
    assert!(!is_open());
    upstream.summarise(&task()).await.unwrap_err();
    assert!(is_open());
    server.play(Behaviour::good());
    upstream.summarise(&task()).await.unwrap();
    assert!(!is_open());
}
