//! Compactions that say the same: whose context a posted one is shows in what it keeps.

use serde_json::{Value, json};

use super::{figures, put};
use crate::app::App;
use crate::drill_support::{all, compact, context, messages};

fn said(format: &str, role: &str, text: &str) -> Value {
    match format {
        "gemini" => json!({"role": if role == "user" { "user" } else { "model" }, "parts": [{"text": text}]}),
        "openai_responses" => {
            let kind = if role == "user" { "input_text" } else { "output_text" };
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
        }
        _ => json!({"role": role, "content": text}),
    }
}

/// A harness's preamble and a talk.
fn items(format: &str) -> Vec<Value> {
    let words = |word: &str, count: usize| vec![word; count].join(" ");
    let preamble = format!("<environment_context>\n{}\n</environment_context>", words("cwd", 600));
    let texts = [
        ("user", preamble),
        ("user", words("please", 30)),
        ("assistant", words("fine", 60)),
        ("user", words("more", 30)),
        ("assistant", words("good", 60)),
    ];
    texts.iter().map(|(role, text)| said(format, role, text)).collect()
}

#[tokio::test]
async fn a_context_from_before_the_newest_compaction_goes_on() {
    let app = App::shared();
    let settings =
        json!({"enabled": false, "context_window": 40_000, "reserve_tokens": 4_000, "keep_recent_tokens": 1});
    for format in ["openai_chat", "anthropic", "openai_responses", "gemini", "native"] {
        let session = app.session(json!({"settings": settings})).await;
        put(app, &session, format, &items(format)).await;
        let entries = all(app, &format!("{session}/entries")).await;
        let (mut held, mut told) = (Vec::new(), Vec::new());
        for first_kept in [1, 3] {
            // It quotes what the user said, so nothing stands beside it that would tell one from the other.
            let body = json!({"summary": vec!["please"; 30].join(" "), "force": true,
                              "first_kept_entry_id": entries[first_kept]["id"]});
            let done = compact(app, &session, body).await;
            assert_eq!(done["status"], "succeeded", "{format}: {done}");
            held.push(messages(&context(app, &session, format).await).clone());
            told.push(done["result"]["summary"].clone());
            if held.len() == 1 {
                let more = said(format, "user", "x");
                app.append(&session, format, json!([more])).await;
                held[0].push(more);
            }
        }
        assert_eq!(told[0], told[1], "{format}: the summaries are twins");
        for (place, context) in held.into_iter().enumerate() {
            let known = context.len() as u64;
            let text = format!("One more thing, number {place}.");
            let answer = put(app, &session, format, &[context, vec![said(format, "user", &text)]].concat()).await;
            assert_eq!(figures(&answer), (1, known, false), "{format}, {place}: {answer}");
            app.post(&format!("{session}/navigate"), json!({"target_id": before_last(app, &session).await}))
                .await
                .expect(200);
        }
    }
}

/// The leaf's parent.
async fn before_last(app: &App, session: &str) -> Value {
    all(app, &format!("{session}/entries")).await.last().unwrap()["parent_id"].clone()
}
