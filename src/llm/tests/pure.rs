use std::time::SystemTime;

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::*;
use crate::llm::breaker::Breaker;
use crate::llm::endpoint::endpoint;
use crate::llm::error::is_quota;
use crate::llm::retry::retry_after;

#[test]
fn base_urls_of_every_form_lead_to_the_endpoint() {
    let url = |kind, base: &str| {
        let wire = Wire::of(kind).unwrap();
        endpoint(&config(kind, base), wire).map(|url| url.to_string()).map_err(|error| error.to_string())
    };
    for (base, expected) in [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("https://h/api", "https://h/api/v1/chat/completions"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        ("https://h/chat/completions", "https://h/chat/completions"),
        ("https://h/v1/chat/completions?api-version=2", "https://h/v1/chat/completions?api-version=2"),
    ] {
        assert_eq!(url(UpstreamKind::Openai, base).as_deref(), Ok(expected));
    }
    assert_eq!(url(UpstreamKind::Anthropic, "http://h").as_deref(), Ok("http://h/v1/messages"));
    assert_eq!(url(UpstreamKind::Anthropic, "http://h/v1").as_deref(), Ok("http://h/v1/messages"));
    assert_eq!(url(UpstreamKind::OpenaiResponses, "http://h").as_deref(), Ok("http://h/v1/responses"));
    for base in ["", "nonsense", "ftp://h", "http://user:hunter2@h"] {
        let error = url(UpstreamKind::Openai, base).unwrap_err();
        assert!(error.contains("base_url") && !error.contains("hunter2"), "{error}");
    }
}

/// The request to a model with these options, for an answer of 500 tokens.
fn request_of(kind: UpstreamKind, model: &str, change: impl FnOnce(&mut UpstreamConfig)) -> Value {
    let mut config = UpstreamConfig { model: model.to_owned(), ..UpstreamConfig::new("a", kind) };
    change(&mut config);
    let question = ModelRequest {
        model: &config.model,
        options: &config.options,
        before: Before::System("s"),
        user: "u",
        budget: config.output_budget(500),
    };
    serde_json::from_str(&Wire::of(kind).unwrap().request(&question)).unwrap()
}

fn asked(model: &str, change: impl FnOnce(&mut UpstreamConfig)) -> Value {
    request_of(UpstreamKind::Openai, model, change)
}

#[test]
fn options_reach_the_models_that_take_them() {
    let low = |config: &mut UpstreamConfig| {
        config.options.reasoning_effort = Some("low".into());
        config.options.temperature = Some(0.2);
    };
    let request = asked("o3", low);
    assert_eq!((&request["reasoning_effort"], &request["max_completion_tokens"]), (&json!("low"), &json!(500 + 4_096)));
    assert!(request.get("temperature").is_none(), "{request}");
    let request = request_of(UpstreamKind::OpenaiResponses, "o3", low);
    assert_eq!((&request["reasoning"]["effort"], &request["max_output_tokens"]), (&json!("low"), &json!(4_596)));
    assert!(request.get("temperature").is_none(), "{request}");
    let warm = |config: &mut UpstreamConfig| config.options.temperature = Some(0.5);
    assert_eq!(asked("gpt-4o", warm)["temperature"], json!(0.5));
    let renamed = asked("gpt-4o", |config| config.options.max_tokens_field = MaxTokensField::MaxCompletionTokens);
    assert_eq!((&renamed["max_completion_tokens"], renamed.get("max_tokens")), (&json!(500), None));
    let thinking = |budget| {
        request_of(UpstreamKind::Anthropic, "claude", |config| {
            (config.options.thinking_budget, config.options.temperature) = (Some(budget), Some(0.5));
            config.max_output_tokens = Some(4_000);
        })
    };
    let request = thinking(2_048);
    assert_eq!(request["thinking"], json!({"type": "enabled", "budget_tokens": 2_048}));
    assert_eq!((&request["max_tokens"], request.get("temperature")), (&json!(2_548), None));
    // The answer keeps its room, and thinking gets what is left.
    let request = thinking(30_000);
    assert_eq!((&request["max_tokens"], &request["thinking"]["budget_tokens"]), (&json!(4_000), &json!(3_500)));
}

#[test]
fn the_answers_room_is_never_eaten_by_reasoning() {
    let config = |max, reasoning, window| UpstreamConfig {
        max_output_tokens: max,
        context_window: window,
        options: ModelOptions { reasoning_tokens: Some(reasoning), ..ModelOptions::default() },
        ..UpstreamConfig::new("a", UpstreamKind::Openai)
    };
    for wanted in [1, 100, 1_000, 50_000] {
        for max in [None, Some(1), Some(77), Some(1_500)] {
            for reasoning in [0, 10, 1_024, 100_000] {
                for window in [100, 8_192, 128_000] {
                    let config = config(max, reasoning, window);
                    let budget = config.output_budget(wanted);
                    let cap = max.unwrap_or(u32::MAX).min(window / 2);
                    assert!(budget.total() <= cap && budget.answer >= 1 && budget.answer <= wanted, "{budget:?}");
                    assert!(budget.answer >= wanted.min(cap / 2), "{budget:?} of {cap} for {wanted}");
                    assert_eq!(config.output_budget(budget.answer), budget, "asked twice");
                }
            }
        }
    }
}

#[test]
fn usage_that_is_missing_or_cannot_be_is_estimated() {
    let usage = |input, output, cached| {
        tally::plausible(
            TokenUsage { input, output, cached, cache_write: 0 },
            1_000,
            &["eight characters", "x"],
            "four",
        )
    };
    assert_eq!(usage(100, 20, 40), TokenUsage { input: 100, output: 20, cached: 40, cache_write: 0 });
    assert_eq!(usage(0, 0, 0), TokenUsage { input: 5, output: 1, cached: 0, cache_write: 0 });
    assert_eq!(usage(u64::MAX, 17_000, 3), TokenUsage { input: 5, output: 1, cached: 3, cache_write: 0 });
    assert_eq!(usage(100, 20, 101), TokenUsage { input: 100, output: 20, cached: 0, cache_write: 0 });
    let body = json!({"choices": [{"message": {"content": "a"}}],
        "usage": {"prompt_tokens": 12.0, "completion_tokens": -3, "prompt_tokens_details": "none"}});
    assert_eq!(openai::parse(&body).unwrap().usage, TokenUsage { input: 12, output: 0, cached: 0, cache_write: 0 });
}

#[test]
fn no_more_attempts_start_within_a_minute_than_allowed() {
    let (minute, start) = (Duration::from_secs(60), Instant::now());
    let pace = pace::Pace::new(2, minute);
    let at = |seconds| start + Duration::from_secs(seconds);
    let book = |seconds| pace.book(at(seconds), minute).map(|wait| wait.as_secs());
    assert_eq!([book(0), book(10), book(20), book(20)], [Some(0), Some(0), Some(40), Some(50)]);
    // The next place is 100 s off: nothing is booked.
    assert_eq!(book(20), None);
    assert_eq!([book(70), book(200)], [Some(50), Some(0)]);
}

#[test]
fn only_reasoning_models_get_the_new_limit() {
    for model in ["o1", "o3-mini", "openai/o4-mini", "gpt-5", "GPT-5.1-codex", "gpt-10"] {
        assert!(reasoning::is_reasoning_model(model), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1", "gpt-oss-120b", "olmo", "qwen3", "", "meta/llama-3"] {
        assert!(!reasoning::is_reasoning_model(model), "{model}");
    }
    let request = asked("gpt-5", |_| ());
    assert_eq!((&request["max_completion_tokens"], &request["max_tokens"]), (&json!(500 + 8192), &Value::Null));
}

#[test]
fn chat_answers_in_parts_and_with_odd_ends() {
    let parse = |message: Value, reason: &str| {
        let body = json!({"choices": [{"message": message, "finish_reason": reason}]});
        openai::parse(&body).map(|answer| (answer.text, answer.stop))
    };
    let parts =
        json!({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]});
    assert_eq!(parse(parts, "stop"), Ok(("ab".to_owned(), Stop::End)));
    assert_eq!(parse(json!({"content": "x"}), "content_filter"), Ok(("x".to_owned(), Stop::Refusal)));
    assert_eq!(parse(json!({"content": null}), "function_call"), Ok((String::new(), Stop::ToolUse)));
    assert_eq!(parse(json!({"content": "", "tool_calls": [{}]}), "stop"), Ok((String::new(), Stop::ToolUse)));
    let thought = json!({"content": null, "reasoning_content": "Hm.", "reasoning": "Hm."});
    assert_eq!(parse(thought, "length"), Ok((String::new(), Stop::Length)));
    let thought =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "a"}]);
    assert_eq!(parse(json!({"content": thought}), "stop"), Ok(("a".to_owned(), Stop::End)));
    assert!(parse(json!({"content": 7}), "stop").is_err());
    for body in [json!([]), json!(null), json!({"choices": []}), json!({"choices": [{}]})] {
        assert!(openai::parse(&body).is_err(), "{body}");
        assert!(anthropic::parse(&body).is_err() && openai_responses::parse(&body).is_err(), "{body}");
    }
}

#[test]
fn anthropic_counts_cached_input_in_and_tells_a_full_window() {
    let mut body = json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 7, "output_tokens": 2}});
    let answer = anthropic::parse(&body).unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.usage),
        ("a", TokenUsage { input: 42, output: 2, cached: 30, cache_write: 7 })
    );
    body["stop_reason"] = json!("model_context_window_exceeded");
    assert_eq!(anthropic::parse(&body).unwrap_err().code(), "context_overflow");
}

#[test]
fn responses_that_failed_or_were_filtered() {
    let stop = |body: Value| openai_responses::parse(&body).map(|answer| answer.stop);
    let filtered = json!({"output": [], "status": "incomplete", "incomplete_details": {"reason": "content_filter"}});
    assert_eq!(stop(filtered), Ok(Stop::Refusal));
    assert_eq!(stop(json!({"output": [], "status": "failed"})), Ok(Stop::Error));
}

#[test]
fn retry_after_in_all_its_forms() {
    let asked = |name: &'static str, value: &str| {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        retry_after(&headers, now)
    };
    assert_eq!(asked("retry-after", "7"), Some(Duration::from_secs(7)));
    assert_eq!(asked("retry-after", "0.5"), Some(Duration::from_millis(500)));
    assert_eq!(asked("retry-after-ms", "250"), Some(Duration::from_millis(250)));
    assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(7)));
    assert_eq!(asked("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
    for nonsense in ["soon", "-3", "NaN", "inf", "1e300", ""] {
        assert_eq!(asked("retry-after", nonsense), None, "{nonsense}");
    }
}

#[test]
fn pauses_double_up_to_the_bound() {
    let policy = RetryPolicy::of(&UpstreamConfig { max_retries: 40, ..UpstreamConfig::new("a", UpstreamKind::Openai) });
    let pause = |attempts, jitter| policy.pause(attempts, &UpstreamError::Connect, jitter).unwrap();
    assert_eq!([1, 2, 3, 6, 40].map(|attempts| pause(attempts, 1.0).as_secs()), [2, 4, 8, 60, 60]);
    assert_eq!(pause(1, 0.0), Duration::from_secs(1));
    assert_eq!(policy.pause(41, &UpstreamError::Connect, 0.0), None);
    assert_eq!(policy.pause(1, &UpstreamError::Malformed("x"), 0.0), None);
}

#[test]
fn quota_is_told_from_a_rate_limit() {
    for text in [
        "insufficient_quota: You exceeded your current quota, please check your plan and billing details.",
        "Quota exceeded for project",
        "Your credit balance is too low",
        "the team is out of budget",
        "Billing hard limit has been reached",
    ] {
        assert!(is_quota(text), "{text}");
    }
    let rate = "Rate limit reached. To raise it add a payment method: https://example.com/account/billing";
    assert!(!is_quota(rate) && !is_quota("overloaded"));
}

#[test]
fn the_registry_knows_its_upstreams() {
    let named = |name: &str| UpstreamConfig { name: name.to_owned(), ..config(UpstreamKind::Openai, "http://h") };
    let upstreams = Upstreams::new(vec![named("a"), named("b")], Some("b")).unwrap();
    assert_eq!(upstreams.default_upstream().config().name, "b");
    assert_eq!(upstreams.builtin().config().kind, UpstreamKind::Builtin);
    assert!(["a", "b", BUILTIN].iter().all(|name| upstreams.get(name).is_some()) && upstreams.get("c").is_none());
    let error = |configs, default| Upstreams::new(configs, default).err().unwrap();
    assert!(matches!(error(vec![named("a"), named("a")], None), SetupError::Duplicate { .. }));
    assert!(matches!(error(vec![named(BUILTIN)], None), SetupError::Duplicate { .. }));
    assert!(matches!(error(vec![], Some("x")), SetupError::UnknownDefault { .. }));
    let lost = UpstreamConfig { fallbacks: vec!["b".into(), "x".into()], ..named("a") };
    assert!(
        matches!(error(vec![lost, named("b")], None), SetupError::UnknownFallback { fallback, .. } if fallback == "x")
    );
    let nameless = UpstreamConfig { model: String::new(), ..named("a") };
    assert!(matches!(error(vec![nameless], None), SetupError::Model { .. }));
    let idle = UpstreamConfig { max_concurrency: 0, ..named("a") };
    assert!(matches!(error(vec![idle], None), SetupError::Zero { .. }));
    let mute = UpstreamConfig { max_calls: 0, ..named("a") };
    assert!(matches!(error(vec![mute], None), SetupError::Zero { field: "max_calls", .. }));
    let broken = UpstreamConfig { api_key: Some("a\nb".into()), ..named("a") };
    assert!(matches!(error(vec![broken], None), SetupError::Header { .. }));
}

#[test]
fn a_configuration_shows_no_secret_and_knows_its_price() {
    let mut config = config(UpstreamKind::Openai, "http://h");
    config.headers.insert("api-key".to_owned(), "hunter2".into());
    let shown = format!("{config:?}");
    assert!(!shown.contains(KEY) && !shown.contains("hunter2"), "{shown}");
    (config.price_input_per_mtok, config.price_output_per_mtok) = (2.0, 10.0);
    let usage = TokenUsage { input: 1_000_000, output: 100_000, cached: 500_000, cache_write: 0 };
    assert_eq!(config.cost_usd(&usage), 3.0);
    config.price_cached_per_mtok = Some(0.2);
    assert!((config.cost_usd(&usage) - 2.1).abs() < 1e-9);
}

#[test]
fn a_rested_breaker_lets_one_probe_through() {
    let (rest, start) = (Duration::from_secs(10), Instant::now());
    let breaker = Breaker::new(1, rest);
    breaker.note(start, true);
    assert_eq!(breaker.admit(start), Err(rest));
    assert_eq!([breaker.admit(start + rest), breaker.admit(start + rest)], [Ok(()), Err(rest)]);
    // The probe was dropped: the next one comes after another rest.
    assert_eq!(breaker.admit(start + 2 * rest), Ok(()));
    breaker.note(start + 2 * rest, false);
    assert_eq!(breaker.admit(start), Ok(()));
    let never = Breaker::new(0, rest);
    (0..9).for_each(|_| never.note(start, true));
    assert_eq!(never.admit(start), Ok(()));
}
