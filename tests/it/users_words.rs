//! What the user said outlives every summary: the newest requests and the standing rules, word for word, whoever wrote
//! the summary and however often it was written anew.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::hook_support::{Receiver, Reply};
use crate::played_upstream::{Behaviour, PlayedUpstream};

/// Remembers the work, and of what the user said the first request alone.
const FORGETFUL: &str = "## Goal\n- Rename the modules of the service, one after the other (u1).\n\n## Progress\n### Done\n\
    - src/module_1.rs was renamed (#2).";

const RULES: [&str; 8] = [
    "Never push to main.",
    "IMPORTANT: the public API is frozen until 2027-03-01.",
    "Use tabs, not spaces, in Makefiles.",
    "Keep your answers short.",
    "stop fucking using var",
    "Antworte immer auf Deutsch.",
    "不要修改公共接口。",
    "新しい依存関係を追加しないでください。",
];
const OLD: &str = "Use double quotes.";
const NEW: &str = "No, use single quotes.";

fn says(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn done(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A preamble, the first request, the rules; large turns, the second time with a correction among them.
fn round(n: usize) -> Vec<Value> {
    let mut items = Vec::new();
    if n == 0 {
        items.push(says("<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>"));
        items.push(says("Rename the modules of the service, please."));
        items.push(done("I begin."));
        for rule in RULES.iter().chain([&OLD]) {
            items.extend([says(rule), done("Understood.")]);
        }
    }
    if n == 1 {
        items.extend([says(NEW), done("Single quotes it is.")]);
    }
    items.extend(turns(n * 5..n * 5 + 5, 700));
    items
}

/// The texts of a context, white space aside.
async fn shown(app: &App, session: &str) -> Vec<String> {
    let context = context(app, session, "openai_chat").await;
    let texts = messages(&context).iter().filter_map(|message| message["content"].as_str());
    texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Three compactions in a row: after each, the newest three requests and every rule are shown, and what was said later
/// stands behind what was said earlier.
async fn three_rounds(app: &App, settings: Value, strategy: &str) {
    let session = app.session(json!({"settings": settings})).await;
    for n in 0..3 {
        app.append(&session, "openai_chat", json!(round(n))).await;
        let done = compact(app, &session, json!({"force": true, "strategy": strategy})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let shown = shown(app, &session).await;
        assert_eq!(shown[0], "Rename the modules of the service, please.", "{strategy}, round {n}: the anchor");
        let summary = shown.iter().find(|text| text.contains("<context-summary>")).expect("a summary");
        let newest = n * 5 + 4;
        for request in (newest - 2..=newest).map(asked) {
            assert!(shown.iter().any(|text| text.contains(&request)), "{strategy}, round {n}: {request} in {summary}");
        }
        let corrected = if n == 0 { &[OLD][..] } else { &[OLD, NEW] };
        for rule in RULES.iter().chain(corrected) {
            assert!(summary.contains(rule), "{strategy}, round {n}: {rule} in {summary}");
        }
        assert!(n == 0 || summary.find(OLD) < summary.find(NEW), "{strategy}, round {n}: {summary}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_forgets_the_users_words_loses_none_of_them() {
    let upstream = PlayedUpstream::start(Behaviour::Good(FORGETFUL.to_owned())).await;
    let app = App::fresh(&crate::drill_support::upstream(&upstream.base_url(), "5000"));
    three_rounds(&app, by_hand(), "llm_summarize").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_does_the_builtin_summariser() {
    three_rounds(App::shared(), by_hand(), "summarize").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_a_hook() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[hooks]\nallow_private_networks = true\n[worker]\npoll_ms = 50\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let receiver = Receiver::start(Reply::Json(json!({"summary": FORGETFUL}))).await;
    receiver.register(&app, &["build_summary"], json!({})).await;
    three_rounds(&app, by_hand(), "llm_summarize").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_a_caller() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(round(0))).await;
    compact(app, &session, json!({"force": true, "summary": FORGETFUL})).await;
    let shown = shown(app, &session).await.join("\n");
    for words in RULES.into_iter().map(str::to_owned).chain((2..5).map(asked)) {
        assert!(shown.contains(&words), "{words} in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_summary_is_not_taken_from_a_caller_either() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(round(0))).await;
    // What else a text may be is the caller's to decide (`hooks::a_callers_summary_is_used_as_given`).
    let call = r#"<tool_call>{"name": "read", "arguments": {}}</tool_call>"#;
    for summary in ["", " \n\n\t", call] {
        let answer = app.post(&format!("{session}/compact"), json!({"force": true, "summary": summary})).await;
        assert_eq!((answer.status, &answer.body["errors"][0]["pointer"]), (422, &json!("/summary")), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_do_strategies_that_leave_messages_out() {
    for strategy in ["truncate", "sliding", "smart"] {
        let app = App::shared();
        let mut settings = by_hand();
        settings["target_tokens"] = json!(5_000);
        let session = app.session(json!({"settings": settings})).await;
        app.append(&session, "openai_chat", json!(round(0))).await;
        let done = compact(app, &session, json!({"force": true, "strategy": strategy})).await;
        assert_eq!(done["status"], "succeeded", "{strategy}: {done}");
        let shown = shown(app, &session).await.join("\n");
        for words in RULES.into_iter().map(str::to_owned).chain((2..5).map(asked)) {
            assert!(shown.contains(&words), "{strategy}: {words} in {shown}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_request_head_and_tail_are_shown_and_the_cut_is_marked() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(turns(0..5, 700))).await;
    let long =
        format!("Go through this list of names: {}and say which are taken.", "name and another name, ".repeat(1_000));
    let appended = app.append(&session, "openai_chat", json!([says(&long), done("None is taken.")])).await;
    app.append(&session, "openai_chat", json!(turns(5..7, 700))).await;
    compact(app, &session, json!({"force": true, "strategy": "summarize"})).await;
    let summary = shown(app, &session).await.into_iter().find(|text| text.contains("<context-summary>")).unwrap();
    let (_, told) =
        summary.split_once("u6 User: Go through this list of names: name and another name").expect("its head");
    let (list, _) =
        told.split_once("and say which are taken. Agent: None is taken.").expect("its tail and its outcome");
    assert!(list.contains("[…]") && list.len() < long.len(), "{summary}");
    let entry = appended["entries"][0]["id"].as_str().unwrap();
    let whole = app.get(&format!("{session}/entries/{entry}")).await.expect(200);
    assert_eq!(whole["item"]["content"], long);
}
