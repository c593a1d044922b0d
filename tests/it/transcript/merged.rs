//! Contexts whose client merged our summary with the user's messages beside it.

use serde_json::{Value, json};

use super::{figures, put};
use crate::app::App;
use crate::drill_support::{by_hand, compact, context, filled, kept_items, messages};

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect(),
    }
}

fn text_in(message: &Value) -> String {
    message["content"].to_string()
}

fn parts_of(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        blocks => blocks.as_array().unwrap().clone(),
    }
}

fn is_plain_user(message: &Value) -> bool {
    message["role"] == "user" && parts_of(message).iter().all(|part| part["type"] == "text")
}

/// The context with neighbouring messages of the user's as one.
fn merged(context: &[Value], join: fn(&Value, &Value) -> Value) -> Vec<Value> {
    let mut whole: Vec<Value> = Vec::new();
    for message in context {
        match whole.last_mut().filter(|last| is_plain_user(last) && is_plain_user(message)) {
            Some(last) => last["content"] = join(last, message),
            None => whole.push(message.clone()),
        }
    }
    whole
}

fn as_text(one: &Value, other: &Value) -> Value {
    json!(format!("{}\n\n{}", text_of(one), text_of(other)))
}

fn on_the_same_line(one: &Value, other: &Value) -> Value {
    json!(format!("{} {}", text_of(one), text_of(other)))
}

fn as_blocks(one: &Value, other: &Value) -> Value {
    json!([parts_of(one), parts_of(other)].concat())
}

/// A session whose context is a summary and what the user asked behind it.
async fn compacted(app: &App) -> String {
    let session = filled(app, by_hand(), 12).await;
    let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    session
}

#[tokio::test]
async fn a_summary_that_was_merged_is_known_again() {
    let app = App::shared();
    let news = [json!({"role": "assistant", "content": "Done."}), json!({"role": "user", "content": "And then?"})];
    for format in ["anthropic", "openai_chat"] {
        for join in [as_text, on_the_same_line, as_blocks] {
            let session = compacted(app).await;
            app.append(&session, "openai_chat", json!([{"role": "user", "content": "Go on, please."}])).await;
            let before = kept_items(app, &session).await;
            let held = messages(&context(app, &session, format).await).clone();
            let mut posted = merged(&held, join);
            assert!(posted.len() < held.len(), "{format}: {held:?}");
            posted.extend(news.clone());
            let said = put(app, &session, format, &posted).await;
            assert_eq!(figures(&said), (2, posted.len() as u64 - 2, false), "{format}: {said}");
            let again = put(app, &session, format, &posted).await;
            assert_eq!(figures(&again), (0, posted.len() as u64, false), "{format}: {again}");
            assert_eq!(kept_items(app, &session).await.len(), before.len() + 2, "{format}");
        }
    }
}

#[tokio::test]
async fn what_was_edited_behind_a_merged_summary_is_stored_without_it() {
    let app = App::shared();
    for format in ["anthropic", "openai_chat"] {
        for join in [as_text, as_blocks] {
            let session = compacted(app).await;
            let held = messages(&context(app, &session, format).await).clone();
            let end = held.iter().position(|message| text_in(message).contains("</context-summary>")).unwrap() + 1;
            let mut posted = held[..end].to_vec();
            posted.push(json!({"role": "user", "content": "Do something else."}));
            let posted = merged(&posted, join);
            let said = put(app, &session, format, &posted).await;
            assert_eq!((&said["forked"], &said["appended"]), (&json!(true), &json!(1)), "{format}: {said}");
            let kept = kept_items(app, &session).await;
            let last = kept.last().unwrap().to_string();
            assert!(last.contains("Do something else.") && !last.contains("context-summary"), "{format}: {last}");
        }
    }
}
