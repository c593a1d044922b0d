//! Faults of the way to the model: what passes is waited for, what lasts is told, and what an upstream says about
//! its own usage is believed only where it can be.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

const HTML: &str = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
const HALF_A_STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"## Goal\\nHalf\"}}]}\n\ndata: {\"cho";

/// An instance with one upstream for each of the played ones, and these lines in each of their tables.
pub fn instance(upstreams: &[(&str, &PlayedUpstream, &str)]) -> (App, tempfile::NamedTempFile) {
    let file = configured(upstreams);
    (App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]), file)
}

/// As [`instance`], with its log in a file.
pub fn instance_logging(
    upstreams: &[(&str, &PlayedUpstream, &str)],
    envs: &[(&str, &str)],
    log: std::fs::File,
) -> (App, tempfile::NamedTempFile) {
    let file = configured(upstreams);
    let path = file.path().to_str().unwrap().to_owned();
    (App::logging(&[envs, &[("CONTEXTD_CONFIG", path.as_str())]].concat(), log), file)
}

fn configured(upstreams: &[(&str, &PlayedUpstream, &str)]) -> tempfile::NamedTempFile {
    let mut config = String::new();
    for (name, upstream, lines) in upstreams {
        write!(
            config,
            "[[upstreams]]\nname = \"{name}\"\nbase_url = \"{}\"\napi_key = \"sk-played\"\ntimeout_ms = 3600000\n{lines}\n",
            upstream.base_url()
        )
        .unwrap();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn lasting_faults_are_told_and_leave_the_history_as_it_was() {
    let minute = Behaviour::Status(429, Some("3600".to_owned()));
    let faults = [
        ("html", Behaviour::StatusBody(502, HTML.to_owned()), "server_error", "Ship"),
        ("html_200", Behaviour::StatusBody(200, HTML.to_owned()), "malformed", "nginx"),
        ("half_stream", Behaviour::StatusBody(200, HALF_A_STREAM.to_owned()), "malformed", "Half"),
        ("cut_json", Behaviour::StatusBody(200, "{\"choices\":[{\"mess".to_owned()), "dropped", "choices"),
        ("limited", minute, "rate_limited", "a played error"),
        ("huge", Behaviour::Huge(30 << 20), "too_large", "xxxxxxxx"),
        ("gone", Behaviour::Drop, "dropped", "played"),
        ("tool_call", Behaviour::ToolCall, "tool_call", "\u{1}"),
        ("truncated", Behaviour::Truncated, "length", "Ship the"),
    ];
    let mut played = Vec::new();
    for (name, behaviour, ..) in &faults {
        played.push((*name, PlayedUpstream::start(behaviour.clone()).await));
    }
    let lines = "kind = \"openai\"\nmodel = \"played\"\nmax_retries = 1\nretry_base_ms = 10";
    let upstreams: Vec<(&str, &PlayedUpstream, &str)> =
        played.iter().map(|(name, upstream)| (*name, upstream, lines)).collect();
    let (app, _file) = instance(&upstreams);
    for (name, _, reason, marker) in faults {
        let session = filled(&app, asking(name, "fallback"), 20).await;
        let before = kept_items(&app, &session).await;
        let done = compact(&app, &session, json!({})).await;
        let result = &done["result"];
        assert_eq!(result["fallback"], json!({"used": true, "from": name, "reason": reason}), "{name}: {done}");
        assert_eq!(result["upstream"]["name"], "builtin", "{name}: {done}");
        assert!(!result["summary"].as_str().unwrap().contains(marker), "{name}: {done}");
        assert_eq!(kept_items(&app, &session).await, before, "{name}");

        let session = filled(&app, asking(name, "fail"), 20).await;
        let before = context(&app, &session, "openai_chat").await;
        let done = compact(&app, &session, json!({})).await;
        assert_eq!(done["status"], "failed", "{name}: {done}");
        println!("{name}: {reason}: {}", done["error"]);
        assert!(done["error"].as_str().is_some_and(|error| !error.is_empty()), "{name}: {done}");
        assert_eq!(context(&app, &session, "openai_chat").await["messages"], before["messages"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_that_says_how_long_is_waited_out() {
    let limited = Behaviour::Status(429, Some("1".to_owned()));
    let upstream = PlayedUpstream::start(Behaviour::then_good([limited.clone(), limited])).await;
    let lines = "kind = \"openai\"\nmodel = \"played\"\nmax_concurrency = 1";
    let (app, _file) = instance(&[("default", &upstream, lines)]);
    let session = filled(&app, by_hand(), 20).await;
    let started = std::time::Instant::now();
    let done = compact(&app, &session, json!({})).await;
    assert_eq!((&done["status"], &done["result"]["fallback"]["used"]), (&json!("succeeded"), &json!(false)), "{done}");
    assert!(done["result"]["summary"].as_str().unwrap().contains("Ship it green."), "{done}");
    assert_eq!(done["result"]["is_split_turn"], json!(true), "{done}");
    assert_eq!(done["result"]["upstream"]["calls"], json!(2 + 1), "the few lines of the split turn take none: {done}");
    assert!(started.elapsed().as_secs() >= 2, "it came back before it was asked to");
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_that_is_missing_or_absurd_neither_breaks_nor_bills() {
    let usages = [
        Value::Null,
        json!("none"),
        json!({"prompt_tokens": -5, "completion_tokens": "many"}),
        json!({"prompt_tokens": 9_000_000_000_000_000_000_u64, "completion_tokens": 9_000_000_000_000_000_000_u64}),
        json!({"prompt_tokens": 1.5e300, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 7e200}}),
    ];
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let lines = "kind = \"openai\"\nmodel = \"played\"\nprice_input_per_mtok = 1.0\nprice_output_per_mtok = 1.0";
    let (app, _file) = instance(&[("default", &upstream, lines)]);
    for usage in usages {
        upstream.play(Behaviour::Usage(usage.clone()));
        let session = filled(&app, by_hand(), 20).await;
        let done = compact(&app, &session, json!({})).await;
        assert!(done["result"]["summary"].as_str().unwrap().contains(SUMMARY.lines().next().unwrap()), "{done}");
        let spent = &done["result"]["upstream"];
        let (input, cost) = (spent["input_tokens"].as_u64().unwrap(), spent["cost_usd"].as_f64().unwrap());
        assert!((500..100_000).contains(&input), "{usage}: {spent}");
        assert!(cost > 0.0 && cost < 1.0, "{usage}: {spent}");
    }
}
