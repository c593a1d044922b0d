//! Several upstreams: fallbacks in order, what they cost and what that is worth, and the session's own context as
//! the beginning of a request.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_model_faults::instance;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream, USAGE};

const PRICES: &str = "price_input_per_mtok = 2.0\nprice_output_per_mtok = 8.0\nprice_cached_per_mtok = 0.5";

async fn priced_session(app: &App, model: &str) -> String {
    let session = app.session(json!({"settings": by_hand(), "model": model})).await;
    app.append(&session, "openai_chat", json!(turns(0..20, 120))).await;
    session
}

fn close(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() <= 1e-9 * expected.abs().max(1e-6))
}

#[tokio::test(flavor = "multi_thread")]
async fn fallbacks_are_asked_in_order_and_the_result_says_what_it_is_worth() {
    let [a, b, c] = [Behaviour::Status(500, None), Behaviour::Quota, Behaviour::good()];
    let [a, b, c] = [PlayedUpstream::start(a).await, PlayedUpstream::start(b).await, PlayedUpstream::start(c).await];
    let first = "kind = \"openai\"\nmodel = \"one\"\nmax_retries = 1\nmax_concurrency = 1\nretry_base_ms = 10\nfallbacks = [\"b\", \"c\"]";
    let third = format!("kind = \"anthropic\"\nmodel = \"three\"\n{PRICES}");
    let second = "kind = \"openai\"\nmodel = \"two\"\nmax_concurrency = 1";
    let (app, _file) = instance(&[("default", &a, first), ("b", &b, second), ("c", &c, &third)]);

    let session = priced_session(&app, "three").await;
    let done = compact(&app, &session, json!({})).await;
    let result = &done["result"];
    assert_eq!((a.calls(), b.calls(), c.calls()), (2, 1, 1), "the few lines of a split turn take no call: {done}");
    assert_eq!(result["fallback"], json!({"used": true, "from": "default", "reason": "server_error"}), "{done}");
    let spent = &result["upstream"];
    assert_eq!((&spent["name"], &spent["model"], &spent["calls"]), (&json!("c"), &json!("three"), &json!(4)), "{done}");
    let (input, output, cached) = USAGE;
    let cost = ((input - cached) as f64 * 2.0 + cached as f64 * 0.5 + output as f64 * 8.0) / 1e6;
    assert!(close(&spent["cost_usd"], cost), "{cost}: {done}");
    let net = &result["net"];
    assert_eq!(net["tokens_shed_per_turn"], result["tokens_saved"], "{done}");
    assert!(close(&net["summary_cost_usd"], cost), "{done}");
    // Cached input costs a quarter, and taking it in nothing more than plain input.
    let (saved, rewritten) = (result["tokens_saved"].as_f64().unwrap(), net["tokens_rewritten"].as_f64().unwrap());
    assert!(rewritten > 0.0 && rewritten <= result["tokens_after"].as_f64().unwrap(), "{done}");
    assert!(close(&net["cache_cost_usd"], rewritten * 0.75 * 2.0 / 1e6), "{done}");
    let lost = cost + rewritten * 0.75 * 2.0 / 1e6;
    assert!(close(&net["break_even_turns"], lost / (saved * 0.25 * 2.0 / 1e6)), "{done}");

    // Nobody said what a token of this session's model costs.
    let session = priced_session(&app, "unknown").await;
    let done = compact(&app, &session, json!({})).await;
    let net = &done["result"]["net"];
    assert_eq!((&net["break_even_turns"], &net["cache_cost_usd"]), (&Value::Null, &Value::Null), "{done}");
    // A summary that cost nothing breaks the prompt cache all the same, whatever a token costs.
    let session = priced_session(&app, "unknown").await;
    let asked = json!({"settings": {"strategy": "summarize"}});
    let foreseen = app.post(&format!("{session}/prepare"), asked).await.expect(200);
    let done = compact(&app, &session, json!({"strategy": "summarize"})).await;
    let net = &done["result"]["net"];
    let (saved, rewritten) = (net["tokens_shed_per_turn"].as_f64().unwrap(), net["tokens_rewritten"].as_f64().unwrap());
    assert!(close(&net["break_even_turns"], rewritten * 0.9 / (saved * 0.1)), "{done}");
    assert_eq!(&foreseen["preparation"]["estimate"]["net"], net, "{foreseen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_it_would_cost() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let priced = format!("kind = \"openai\"\nmodel = \"one\"\n{PRICES}");
    let (app, _file) =
        instance(&[("default", &upstream, &priced), ("bare", &upstream, "kind = \"openai\"\nmodel = \"two\"")]);
    let session = priced_session(&app, "one").await;
    let estimate = async |settings: Value| {
        let mut prepared = app.post(&format!("{session}/prepare"), json!({"settings": settings})).await.expect(200);
        prepared["preparation"]["estimate"].take()
    };
    let known = estimate(json!({})).await;
    let input = known["summarizer_input_tokens"].as_f64().unwrap() * 2.0 / 1e6;
    let cost = known["cost_usd"].as_f64().unwrap();
    assert!(input > 0.0 && cost > input && cost < input * 3.0, "{known}");
    assert_eq!(estimate(json!({"upstream": "bare"})).await["cost_usd"], Value::Null);
    assert_eq!(estimate(json!({"upstream": "builtin"})).await["cost_usd"], json!(0.0));
    assert_eq!(estimate(json!({"strategy": "summarize"})).await["cost_usd"], json!(0.0));
    assert_eq!(upstream.calls(), 0);
}

#[derive(serde::Deserialize)]
struct Rebuilt {
    messages: Vec<Box<RawValue>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_begins_as_the_rebuilt_context_to_the_byte() {
    for (kind, format, field) in [
        ("openai", "openai_chat", "messages"),
        ("openai_responses", "openai_responses", "input"),
        ("anthropic", "anthropic", "messages"),
    ] {
        let upstream = PlayedUpstream::start(Behaviour::good()).await;
        let lines = format!("kind = \"{kind}\"\nmodel = \"same\"\nreuse_prefix = true");
        let (app, _file) = instance(&[("default", &upstream, &lines)]);
        let schema = json!({"type": "object"});
        let tools = match kind {
            "openai" => json!([{"type": "function", "function": {"name": "read", "parameters": schema}}]),
            "anthropic" => json!([{"name": "read", "input_schema": schema}]),
            _ => json!([{"type": "function", "name": "read", "parameters": schema}]),
        };
        let body = json!({"settings": by_hand(), "model": "same", "system": "Be careful.", "tools": tools});
        let session = app.session(body).await;
        app.append(&session, "openai_chat", json!(turns(0..20, 120))).await;
        let path = format!("{session}/rebuild");
        let handed_out = app.post(&path, json!({"format": format})).await.text;
        let rebuilt: Rebuilt = serde_json::from_str(&handed_out).unwrap();
        let messages: Vec<&str> = rebuilt.messages.iter().map(|message| message.get()).collect();

        let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        assert_eq!(done["result"]["upstream"]["prefix_reused"], json!(true), "{kind}: {done}");
        assert_eq!(upstream.calls(), 1, "{kind}: {done}");
        let request = upstream.requests().remove(0);
        let system = if kind == "openai" { r#"{"role":"system","content":"Be careful."},"# } else { "" };
        let begin = format!("\"{field}\":[{system}{},{{", messages.join(","));
        assert!(request.text.contains(&begin), "{kind}: {}", request.text);
        assert_eq!(request.body["tools"], tools, "{kind}");
        let beside = match kind {
            "openai" => &Value::Null,
            "anthropic" => &request.body["system"],
            _ => &request.body["instructions"],
        };
        assert!(kind == "openai" || beside == "Be careful.", "{kind}: {beside}");

        // The next context opens otherwise: a new beginning must have been handed out before it is used.
        app.append(&session, "openai_chat", json!(turns(20..40, 120))).await;
        let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        assert_eq!(done["result"]["upstream"]["prefix_reused"], json!(false), "{kind}: {done}");
    }
}
