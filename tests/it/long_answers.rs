//! A newest message that alone overfills the window: an answer is cut to the room and says so, as results are; what the
//! user asks stays whole.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

const WINDOW: u64 = 12_000;
const ASKED: &str = "Write the whole report, please, and name ticket OPS-9 in it.";

fn settings() -> Value {
    json!({"context_window": WINDOW, "reserve_tokens": 1_000})
}

/// About so many tokens of an answer, none of its characters of one byte alone.
fn long(words: usize) -> String {
    let body: String = (0..words).map(|n| format!("größe {n} wächst 📦. ")).collect();
    format!("The report begins. {body}The report ends.")
}

fn signed() -> Value {
    json!({"type": "thinking", "thinking": "I shall write it.", "signature": "c2lnbmVk"})
}

async fn fits(app: &App, session: &str, format: &str) -> Value {
    let shown = context(app, session, format).await;
    assert!(shown["exceeds_window"].is_null(), "{format}: {}", shown["exceeds_window"]);
    assert!(shown["tokens"].as_u64().unwrap() <= WINDOW, "{format}: {}", shown["tokens"]);
    let linted = app.post("/v1/lint", json!({"format": format, "items": messages(&shown)})).await.expect(200);
    assert_eq!(linted["valid"], true, "{format}: {}", linted["violations"]);
    let text = json!(messages(&shown)).to_string();
    for part in [ASKED, "The report begins.", "The report ends.", "[message truncated; entry_id="] {
        assert!(text.contains(part), "{format}: {part}: {}", &text[..2_000.min(text.len())]);
    }
    shown
}

/// Whatever the session's strategy is: whoever asks for a compaction gets what a rebuild would give.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_is_asked_for_fits_under_every_strategy() {
    let app = App::shared();
    for strategy in ["auto", "mask", "prune", "summarize", "truncate", "sliding", "smart"] {
        let mut settings = settings();
        settings["strategy"] = json!(strategy);
        let session = app.session(json!({"settings": settings, "model": "claude-sonnet-4-5"})).await;
        let items = json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": long(2_500)}]);
        app.append(&session, "openai_chat", items).await;
        let done = compact(app, &session, json!({})).await;
        assert_eq!(done["status"], "succeeded", "{strategy}: {done}");
        let left = snapshot(app, &session).await["tokens"].as_u64().unwrap();
        assert!(left <= WINDOW, "{strategy}: {left}");
        fits(app, &session, "openai_chat").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_alone_overfills_the_window_is_cut_and_says_so() {
    let app = App::shared();
    let answer = long(2_500);
    for format in ["openai_chat", "anthropic", "openai_responses", "gemini"] {
        let items = match format {
            "gemini" => {
                json!([{"role": "user", "parts": [{"text": ASKED}]}, {"role": "model", "parts": [{"text": answer}]}])
            }
            "anthropic" => json!([{"role": "user", "content": ASKED},
                {"role": "assistant", "content": [signed(), {"type": "text", "text": answer}]}]),
            "openai_responses" => {
                json!([{"role": "user", "content": ASKED}, {"type": "message", "id": "msg_1", "status": "completed",
                "role": "assistant", "content": [{"type": "output_text", "text": answer, "annotations": []}]}])
            }
            _ => json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": answer}]),
        };
        let session = app.session(json!({"settings": settings(), "model": "claude-sonnet-4-5"})).await;
        app.append(&session, format, items.clone()).await;
        for target in ["openai_chat", "anthropic", "openai_responses", "gemini", "pi"] {
            let shown = fits(app, &session, target).await;
            assert_eq!(shown["elided"][0]["part"], "words", "{format} as {target}: {}", shown["elided"]);
        }
        let shown = fits(app, &session, format).await;
        if format == "anthropic" {
            assert!(json!(messages(&shown)).to_string().contains("c2lnbmVk"), "signed thinking stays whole");
        }
        assert_eq!(json!(kept_items(app, &session).await), items, "the original is as it came");
        // It comes back, and on with it.
        let mut posted = messages(&shown).clone();
        posted.push(match format {
            "gemini" => json!({"role": "user", "parts": [{"text": "Shorter, please."}]}),
            _ => json!({"role": "user", "content": "Shorter, please."}),
        });
        let put =
            app.put(&format!("{session}/transcript"), json!({"format": format, "items": posted})).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{format}: {put}");
        fits(app, &session, format).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_by_hand_cuts_it_as_the_next_rebuild_would() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings()})).await;
    let items = json!([{"role": "user", "content": ASKED}, {"role": "assistant", "content": long(2_500)}]);
    app.append(&session, "openai_chat", items).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert!(done["result"]["tokens_after"].as_u64().unwrap() <= WINDOW, "{done}");
    fits(app, &session, "openai_chat").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beside_long_words_stay_valid_and_the_users_words_whole() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings()})).await;
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "save", "arguments": "{\"path\":\"report.md\"}"}});
    let items = json!([{"role": "user", "content": ASKED},
        {"role": "assistant", "content": long(2_500), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "saved"}]);
    app.append(&session, "openai_chat", items).await;
    let shown = fits(app, &session, "openai_chat").await;
    let arguments =
        messages(&shown).iter().find_map(|message| message["tool_calls"][0]["function"]["arguments"].as_str());
    assert_eq!(serde_json::from_str::<Value>(arguments.unwrap()).unwrap(), json!({"path": "report.md"}));
    assert!(json!(messages(&shown)).to_string().contains("saved"), "a small result need not go for it");
    // The user's own newest request is never cut.
    let session = app.session(json!({"settings": settings()})).await;
    let request = long(2_500);
    app.append(&session, "openai_chat", json!([{"role": "user", "content": request}])).await;
    let shown = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&shown)[0]["content"], json!(request));
    assert_eq!(shown["exceeds_window"]["reason"], "fixed_overhead");
}

/// Whatever small stands before it, between or behind: where the next rebuild fits, so does a compaction by hand.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_by_hand_fits_wherever_the_long_one_stands() {
    let app = App::shared();
    let (user, agent) = (
        |text: &str| json!({"role": "user", "content": text}),
        |text: &str| json!({"role": "assistant", "content": text}),
    );
    let big = long(2_500);
    let older = [user(ASKED), agent("One."), user("And?")];
    let histories = [
        [older.to_vec(), vec![agent(&big), user("Shorter, please.")]].concat(),
        [older.to_vec(), vec![agent(&big)]].concat(),
        [older.to_vec(), vec![agent(&big), agent("And that is all."), user("Shorter, please.")]].concat(),
        vec![user(ASKED), agent(&big), agent(&big), user("Shorter, please.")],
        vec![user("Hello."), agent("Hello."), user(&big), agent("I have read it."), user(ASKED)],
    ];
    for (case, items) in histories.into_iter().enumerate() {
        for (enabled, force) in [(true, false), (true, true), (false, false)] {
            let mut settings = settings();
            settings["enabled"] = json!(enabled);
            let session = app.session(json!({"settings": settings})).await;
            app.append(&session, "openai_chat", json!(items)).await;
            let done = compact(app, &session, json!({"force": force})).await;
            assert_eq!(done["status"], "succeeded", "{case}, {enabled}, {force}: {done}");
            assert!(done["result"]["tokens_after"].as_u64().unwrap() <= WINDOW, "{case}: {done}");
            let shown = context(app, &session, "openai_chat").await;
            assert!(shown["exceeds_window"].is_null(), "{case}: {}", shown["exceeds_window"]);
            let text = json!(messages(&shown)).to_string();
            assert!(text.contains("OPS-9"), "{case}: the request stands");
        }
    }
}
