//! What is configured and what is known, without a secret.

use serde_json::json;

use crate::app::App;
use crate::drill_support::{asking, compact, filled};

#[tokio::test]
async fn upstreams_are_told_without_their_secrets() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = r#"
        [[upstreams]]
        name = "default"
        kind = "openai"
        base_url = "http://127.0.0.1:9/path-secret/v1?key=query-secret"
        model = "gpt-4o-mini"
        api_key = "sk-secret"
        timeout_ms = 900
        max_retries = 0
        requests_per_minute = 600
        fallbacks = ["cheap"]
        price_input_per_mtok = 0.15
        price_output_per_mtok = 0.6
        headers = { x-team = "header-secret" }

        [[upstreams]]
        name = "cheap"
        kind = "anthropic"
        model = "claude-haiku"
        context_window = 50000
    "#;
    std::fs::write(file.path(), config).unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let answer = app.get("/v1/upstreams").await;
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    let found = answer.expect(200);
    assert_eq!(found["next_cursor"], json!(null));
    let names: Vec<_> = found["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["builtin", "cheap", "default"]);
    let (builtin, cheap, default) = (&found["items"][0], &found["items"][1], &found["items"][2]);
    assert_eq!(
        (&builtin["kind"], &builtin["host"], &builtin["context_window"]),
        (&json!("builtin"), &json!(null), &json!(null))
    );
    assert_eq!(builtin["prices"]["input_per_mtok"], 0.0);
    assert_eq!((&cheap["host"], &cheap["context_window"]), (&json!("api.anthropic.com"), &json!(50_000)));
    assert_eq!((&cheap["prices"], &cheap["is_default"]), (&json!(null), &json!(false)));
    assert_eq!((&default["host"], &default["model"]), (&json!("127.0.0.1:9"), &json!("gpt-4o-mini")));
    assert_eq!((&default["context_window"], &default["is_default"]), (&json!(128_000), &json!(true)));
    assert_eq!(
        (&default["limits"]["timeout_ms"], &default["limits"]["requests_per_minute"]),
        (&json!(900), &json!(600))
    );
    assert_eq!((&default["fallbacks"], &default["prices"]["output_per_mtok"]), (&json!(["cheap"]), &json!(0.6)));
    assert_eq!(default["breaker"], json!({"state": "closed", "retry_after_ms": null}));

    let first = app.get("/v1/upstreams?limit=1").await.expect(200);
    let rest = app.get(&format!("/v1/upstreams?after={}", first["next_cursor"].as_str().unwrap())).await.expect(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 2);
    app.get("/v1/upstreams?name=x").await.assert_problem(422, "validation_failed");
}

/// Where nobody answers, five calls that fail open the breaker.
#[tokio::test]
async fn an_upstream_that_is_left_alone_is_told() {
    let envs = crate::drill_support::upstream("http://127.0.0.1:9/v1", "1000");
    let app = App::fresh(&[envs.as_slice(), &[("CONTEXTD_UPSTREAM_MAX_RETRIES", "0")]].concat());
    let mut is_open = false;
    for _ in 0..8 {
        let session = filled(&app, asking("default", "fallback"), 30).await;
        compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        let found = app.get("/v1/upstreams?after=builtin").await.expect(200);
        let breaker = &found["items"][0]["breaker"];
        if breaker["state"] == "open" {
            assert!(breaker["retry_after_ms"].as_u64().is_some_and(|rest| rest <= 30_000), "{breaker}");
            is_open = true;
            break;
        }
    }
    assert!(is_open);
}

#[tokio::test]
async fn the_known_models_are_those_that_decide() {
    let app = App::shared();
    let mut after = String::new();
    let mut known = Vec::new();
    loop {
        let page = app.get(&format!("/v1/models?limit=20{after}")).await.expect(200);
        known.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => after = format!("&after={cursor}"),
            None => break,
        }
    }
    assert!(known.len() > 40);
    for model in &known {
        let prefix = model["prefix"].as_str().unwrap();
        let session = app.session(json!({"model": prefix})).await;
        let settings = app.get(&session).await.expect(200)["settings"].clone();
        assert_eq!(
            (&settings["context_window"], &settings["estimator"]),
            (&model["context_window"], &model["estimator"])
        );
        assert_eq!(model["as_of"], "2026-11");
    }
    let of = |prefix: &str| known.iter().find(|model| model["prefix"] == prefix).unwrap();
    assert_eq!(of("claude")["cache"], json!({"read": 0.1, "write": 1.25}));
    assert_eq!(of("gpt-oss")["cache"], json!(null));
}
