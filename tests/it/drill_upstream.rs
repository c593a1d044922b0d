//! Whatever an upstream answers: nothing but a summary is stored as one, and what happened instead is said.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::violations;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

/// Name, behaviour, and words of its answer that must not be found in any summary.
fn bad() -> Vec<(&'static str, Behaviour, &'static str)> {
    vec![
        ("empty", Behaviour::Empty, "\u{1}"),
        ("truncated", Behaviour::Truncated, "Ship the"),
        ("oversized", Behaviour::Huge(30 << 20), "xxxxxxxx"),
        ("larger", Behaviour::Good("word and more ".repeat(30_000)), "word and more"),
        ("recipe", Behaviour::Good("## Goal\n- Bake a cake of flour, butter and eggs".to_owned()), "flour"),
        ("stuck", Behaviour::Good("- Renamed the module, the tests pass.\n".repeat(24)), "Renamed the module"),
        ("page", Behaviour::Good("<html><body>502 Bad Gateway</body></html>".to_owned()), "Bad Gateway"),
        ("failing", Behaviour::Status(500, None), "a played error"),
        ("forbidden", Behaviour::Status(403, None), "a played error"),
        ("dropped", Behaviour::Drop, "played"),
        ("tool_call", Behaviour::ToolCall, "\u{1}"),
        ("refusal", Behaviour::Refusal, "I cannot help"),
        ("echo", Behaviour::EchoPrompt, "\u{1}"),
        ("malformed", Behaviour::Malformed, "<html>"),
        ("wrong_shape", Behaviour::WrongShape, "hello"),
        ("overflow", Behaviour::Overflow, "too long"),
        ("quota", Behaviour::Quota, "nothing is left"),
        ("silent", Behaviour::Slow(Duration::from_secs(24 * 3600), SUMMARY.to_owned()), "Ship it green"),
    ]
}

struct Stage {
    app: App,
    upstreams: Vec<PlayedUpstream>,
    _config: tempfile::NamedTempFile,
}

/// One instance with an upstream per behaviour, tried once each.
async fn stage() -> Stage {
    let mut upstreams = Vec::new();
    let mut config = String::new();
    for (name, behaviour, _) in bad() {
        let timeout_ms = if matches!(behaviour, Behaviour::Slow(..)) { 2_000 } else { 3_600_000 };
        let upstream = PlayedUpstream::start(behaviour).await;
        write!(
            config,
            "[[upstreams]]\nname = \"{name}\"\nkind = \"openai\"\nmodel = \"played\"\napi_key = \"sk-played\"\n\
             base_url = \"{}\"\ntimeout_ms = {timeout_ms}\nmax_retries = 0\n",
            upstream.base_url()
        )
        .unwrap();
        upstreams.push(upstream);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config).unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    Stage { app, upstreams, _config: file }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bad_answer_is_stored_as_a_summary() {
    let stage = stage().await;
    let app = &stage.app;
    for ((name, _, marker), upstream) in bad().into_iter().zip(&stage.upstreams) {
        let session = filled(app, asking(name, "fallback"), 30).await;
        let before = kept_items(app, &session).await;
        let done = compact(app, &session, json!({})).await;
        let result = &done["result"];
        assert!(upstream.calls() > 0, "{name} was not asked: {done}");
        assert_eq!(done["status"], "succeeded", "{name}: {done}");
        let fallback = &result["fallback"];
        assert_eq!((&fallback["used"], &fallback["from"]), (&json!(true), &json!(name)), "{done}");
        let reason = fallback["reason"].as_str().unwrap_or_default();
        println!("{name}: {reason}");
        assert!(!reason.is_empty() && !reason.contains("sk-played"), "{name}: {done}");
        let shown = context(app, &session, "openai_chat").await;
        assert!(!result["summary"].to_string().contains(marker), "{name}: {result}");
        let summary = messages(&shown).iter().find(|message| !before.contains(message)).expect("a summary is shown");
        assert!(!summary.to_string().contains(marker), "{name}: {summary}");
        assert_eq!(violations("openai_chat", messages(&shown), true), Vec::<String>::new(), "{name}");
        assert_eq!(kept_items(app, &session).await, before, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_wants_no_fallback_stays_as_it_is() {
    let stage = stage().await;
    let app = &stage.app;
    for (name, _, _) in bad() {
        let session = filled(app, asking(name, "fail"), 30).await;
        let before = context(app, &session, "openai_chat").await;
        let done = compact(app, &session, json!({})).await;
        assert_eq!(done["status"], "failed", "{name}: {done}");
        let error = done["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty() && !error.contains("sk-played"), "{name}: {done}");
        let after = context(app, &session, "openai_chat").await;
        assert_eq!(after["messages"], before["messages"], "{name}");
        assert_eq!(after["tokens"], before["tokens"], "{name}");
        assert_eq!(app.get(&session).await.expect(200)["entry_count"], json!(120), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passing_failure_is_tried_again() {
    let upstream = PlayedUpstream::start(Behaviour::then_good([
        Behaviour::Status(503, None),
        Behaviour::Status(429, Some("1".to_owned())),
    ]))
    .await;
    let app = App::fresh(&self::upstream(&upstream.base_url(), "5000"));
    let session = filled(&app, by_hand(), 30).await;
    let done = compact(&app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert_eq!(done["result"]["fallback"]["used"], false, "{done}");
    assert!(upstream.calls() >= 3);
    assert!(done["result"]["summary"].as_str().unwrap().contains("Ship it green."), "{done}");
}
