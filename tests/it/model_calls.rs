//! What a compaction asks of its model: nothing where that can't pay, as much as the span bears, and within a bound of
//! calls.

use serde_json::{Value, json};

use crate::drill_model_faults::instance;
use crate::drill_support::*;
use crate::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

#[tokio::test(flavor = "multi_thread")]
async fn a_short_span_is_told_without_a_model_and_the_result_says_so() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&[("default", &upstream, "kind = \"openai\"\nmodel = \"played\"")]);
    let mut settings = by_hand();
    settings["keep_recent_tokens"] = json!(100);
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(turns(0..3, 60))).await;
    let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    let result = &done["result"];
    assert_eq!(result["fallback"], json!({"used": true, "from": "default", "reason": "too_small"}), "{done}");
    assert_eq!((&result["upstream"]["name"], upstream.calls()), (&json!("builtin"), 0), "{done}");
    assert!(result["summary"].as_str().unwrap().contains("ABC-1"), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_follows_the_span() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let (app, _file) = instance(&[("default", &upstream, "kind = \"openai\"\nmodel = \"played\"")]);
    let mut settings = by_hand();
    settings["reserve_tokens"] = json!(16_384);
    for count in [6, 20, 45] {
        let session = filled(&app, settings.clone(), count).await;
        let before = upstream.calls();
        let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        let replaced = done["result"]["tokens_before"].as_u64().unwrap();
        let asked: Vec<u64> =
            upstream.requests()[before..].iter().map(|one| one.body["max_tokens"].as_u64().unwrap()).collect();
        println!("{replaced} tokens: {asked:?}");
        assert!(!asked.is_empty() && asked.iter().sum::<u64>() * 2 < replaced, "{asked:?} of {replaced}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_2048_takes_one_call() {
    let upstream = PlayedUpstream::start(Behaviour::good()).await;
    let lines = "kind = \"openai\"\nmodel = \"tiny\"\ncontext_window = 2048";
    let (app, _file) = instance(&[("default", &upstream, lines)]);
    let mut settings = by_hand();
    settings["context_window"] = json!(200_000);
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(turns(0..85, 120))).await;
    let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
    let result = &done["result"];
    println!("{} tokens, {} calls", result["tokens_before"], upstream.calls());
    assert_eq!(
        (&result["fallback"]["used"], &result["upstream"]["name"]),
        (&json!(false), &json!("default")),
        "{done}"
    );
    assert_eq!(upstream.calls(), 1);
    assert!(result["summary"].as_str().unwrap().contains("Ship it green."), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_cut_off_is_never_asked_for_in_the_same_words() {
    let done = "## Goal\n- Rename src/module_0.rs and keep every test green (u1)\n\n## Progress\n### Done\n- [x] Twenty modules renamed (inferred)";
    for (bad, calls, told) in [
        (Behaviour::then_good([Behaviour::Truncated]), 2, SUMMARY),
        (Behaviour::CutOff(format!("{done}\n\n### In Prog")), 1, "Twenty modules renamed"),
    ] {
        let upstream = PlayedUpstream::start(bad).await;
        let lines = "kind = \"openai\"\nmodel = \"played\"";
        let (app, _file) = instance(&[("default", &upstream, lines)]);
        let session = filled(&app, by_hand(), 7).await;
        let done = compact(&app, &session, json!({"strategy": "llm_summarize"})).await;
        assert_eq!((&done["result"]["fallback"]["used"], upstream.calls()), (&json!(false), calls), "{done}");
        assert!(done["result"]["summary"].as_str().unwrap().contains(told), "{done}");
        let mut asked: Vec<Value> = upstream.requests().into_iter().map(|request| request.body).collect();
        asked.dedup();
        assert_eq!(asked.len(), calls, "no request is sent twice");
    }
}
