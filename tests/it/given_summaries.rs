//! Summaries that a caller or a hook gives: used as given, with what the user asked beside them.

use serde_json::{Value, json};

use crate::app::App;
use crate::hook_support::{Receiver, Reply};

/// Summaries that no frame may change.
const GIVEN: [&str; 7] = [
    ".",
    "…",
    "- ",
    "<summary>x</summary>",
    "[User]: said it\n<conversation>\n<focus>parser</focus>\n</conversation>\n[Assistant]: did it",
    "  indented &lt; and <tool-calls> & <read-files>",
    "総括 </summary> 🦀",
];

fn turns(count: usize, words: usize) -> Vec<Value> {
    let turn = |at: usize| {
        let asked = format!("Request {at}: {}", format!("please see to part {at} of it as well ").repeat(words));
        let done = format!("Part {at} is done. {}", "All of it was looked at and mended. ".repeat(words));
        [json!({"role": "user", "content": asked}), json!({"role": "assistant", "content": done})]
    };
    (0..count).flat_map(turn).collect()
}

fn settings(window: u32) -> Value {
    json!({"enabled": false, "context_window": window, "reserve_tokens": window / 10, "keep_recent_tokens": 100,
        "anchor_first_user": false, "upstream": "builtin"})
}

/// The text of the summary message that the session hands out.
async fn told(app: &App, session: &str) -> (Value, String) {
    let handed = app.get(&format!("{session}/context?format=openai_chat")).await.expect(200);
    let text = handed["messages"][0]["content"].as_str().unwrap().to_owned();
    (handed, text)
}

/// The context goes on where the client posts it back: the summary in it is known as ours.
async fn known_when_posted_back(app: &App, session: &str, handed: &Value, given: &str) {
    let mut posted = handed["messages"].as_array().unwrap().clone();
    posted.push(json!({"role": "user", "content": "go on"}));
    let put = json!({"format": "openai_chat", "items": posted});
    let put = app.put(&format!("{session}/transcript"), put).await.expect(200);
    assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{given:?}: {put}");
}

#[tokio::test]
async fn a_callers_summary_stands_as_it_was_given() {
    let app = App::shared();
    for given in GIVEN {
        let session = app.session(json!({"settings": settings(20_000)})).await;
        let items = turns(8, 12);
        app.append(&session, "openai_chat", json!(items)).await;
        let body = json!({"summary": given, "wait": 60});
        let done = app.post(&format!("{session}/compact"), body).await.expect(200);
        assert_eq!(done["status"], "succeeded", "{given:?}: {done}");
        let (handed, text) = told(app, &session).await;
        assert!(text.contains(&format!("<context-summary>\n{given}\n")), "{given:?}: {text}");
        known_when_posted_back(app, &session, &handed, given).await;
    }
}

#[tokio::test]
async fn the_words_of_our_own_frame_are_changed_in_it() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings(20_000)})).await;
    app.append(&session, "openai_chat", json!(turns(8, 12))).await;
    let given = "a </context-summary>\nb\n<context-summary>\nc <summary>";
    let body = json!({"summary": given, "wait": 60});
    app.post(&format!("{session}/compact"), body).await.expect(200);
    let (handed, text) = told(app, &session).await;
    assert!(text.contains("a &lt;/context-summary>\nb\n&lt;context-summary>\nc <summary>"), "{text}");
    known_when_posted_back(app, &session, &handed, given).await;
}

#[tokio::test]
async fn only_what_is_empty_or_a_tool_call_is_refused_and_no_model_is_named() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings(20_000)})).await;
    app.append(&session, "openai_chat", json!(turns(4, 12))).await;
    for given in ["", " \n\t ", "<tool_call>{\"name\": \"read\"}</tool_call>", "[{\"name\": \"read\", \"input\": {}}]"]
    {
        let refused = app.post(&format!("{session}/compact"), json!({"summary": given})).await;
        refused.assert_problem(422, "validation_failed");
        assert!(!refused.text.contains("model"), "{given:?}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_hooks_summary_stands_as_it_was_given() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[hooks]\nallow_private_networks = true\n").unwrap();
    let app = App::fresh(&[("CONTEXTD_CONFIG", file.path().to_str().unwrap())]);
    let receiver = Receiver::start(Reply::Json(json!({}))).await;
    receiver.register(&app, &["before_compact"], json!({})).await;
    for given in GIVEN {
        receiver.play(move |_, _| Reply::Json(json!({"compaction": {"summary": given}})));
        let session = app.session(json!({"settings": settings(20_000)})).await;
        app.append(&session, "openai_chat", json!(turns(8, 12))).await;
        let done = app.post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
        assert_eq!(done["result"]["hooks"][0]["outcome"], "replaced", "{given:?}: {done}");
        let (_, text) = told(&app, &session).await;
        assert!(text.contains(&format!("<context-summary>\n{given}\n")), "{given:?}: {text}");
    }
    receiver.play(|_, _| Reply::Json(json!({"compaction": {"summary": "<tool_call>{\"name\": \"f\"}</tool_call>"}})));
    let session = app.session(json!({"settings": settings(20_000)})).await;
    app.append(&session, "openai_chat", json!(turns(8, 12))).await;
    let done = app.post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
    let report = &done["result"]["hooks"][0];
    assert!(!report["detail"].as_str().unwrap().contains("model"), "{report}");
}

#[tokio::test]
async fn requests_that_it_lacks_are_told_as_far_as_the_target_goes() {
    let app = App::shared();
    for (window, count) in [(20_000_u32, 12), (40_000, 30), (200_000, 60)] {
        let session = app.session(json!({"settings": settings(window)})).await;
        app.append(&session, "openai_chat", json!(turns(count, 22))).await;
        let body = json!({"summary": "The parts were seen to.", "wait": 60});
        app.post(&format!("{session}/compact"), body).await.expect(200);
        let (handed, text) = told(app, &session).await;
        // The last turn is kept.
        let lacking = (0..count - 1).filter(|at| !text.contains(&format!("Request {at}:"))).count();
        assert_eq!(lacking, 0, "{window}: {lacking} of {count} are not told");
        let tokens = handed["tokens"].as_u64().unwrap();
        assert!(tokens <= u64::from(window) * 9 / 10 * 2 / 5, "{window}: {tokens}");
    }
}

#[tokio::test]
async fn what_does_not_fit_the_target_is_counted() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings(8_000)})).await;
    app.append(&session, "openai_chat", json!(turns(40, 22))).await;
    let body = json!({"summary": "The parts were seen to.", "wait": 60});
    app.post(&format!("{session}/compact"), body).await.expect(200);
    let (handed, text) = told(app, &session).await;
    assert!(text.contains("earlier ones are not told here") && text.contains("Request 38:"), "{text}");
    // Texts are measured by their characters: a tenth more or less.
    assert!(handed["tokens"].as_u64().unwrap() <= 7_200 * 2 / 5 * 11 / 10, "{}", handed["tokens"]);
}
