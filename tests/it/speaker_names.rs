//! The names that messages of several people came with, in formats that have no field for them.

use serde_json::{Value, json};

use crate::app::App;

fn chat() -> Value {
    json!([
        {"role": "user", "name": "Ana", "content": "Use tabs."},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "name": "Bo", "content": [{"type": "text", "text": "No, spaces.\n\nEverywhere."}]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "name": "李雷", "content": "不要用 docker。"},
        {"role": "user", "name": "Eve", "content": "Eve: never log."}
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn names_stand_before_the_words_in_every_format_and_only_once() {
    let app = App::fresh(&[]);
    for format in ["anthropic", "openai_responses", "gemini", "pi", "native"] {
        let session = app.session(json!({})).await;
        let put = json!({"format": "openai_chat", "items": chat()});
        app.put(&format!("{session}/transcript"), put).await.expect(200);
        let context = app.get(&format!("{session}/context?format={format}")).await.expect(200);
        let text = context["messages"].to_string();
        for told in ["Ana: Use tabs.", "Bo: No, spaces.", "李雷: 不要用 docker。", "Eve: never log."] {
            assert_eq!(text.matches(told).count(), 1, "{format}: {told} in {text}");
        }
        assert!(!text.contains("Eve: Eve:"), "{format}: {text}");
        // What is posted back is known again, with what is new behind it.
        let mut items = context["messages"].as_array().unwrap().clone();
        let again = json!({"format": format, "items": items});
        let put = app.put(&format!("{session}/transcript"), again).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{format}: {put}");
        if format == "pi" {
            continue;
        }
        items.extend(match format {
            "gemini" => vec![json!({"role": "model", "parts": [{"text": "Done."}]})],
            "native" => vec![json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})],
            _ => vec![json!({"role": "assistant", "content": "Done."})],
        });
        let put = json!({"format": format, "items": items});
        let put = app.put(&format!("{session}/transcript"), put).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(1), &json!(false)), "{format}: {put}");
        let kept = app.get(&format!("{session}/context?format=openai_chat")).await.expect(200);
        assert_eq!(kept["messages"][2]["name"], "Bo", "{format}");
        assert!(!kept["messages"].to_string().contains("Bo: "), "{format}");
    }
}

/// The words of the agent and of the system stay as they are; that their names are gone is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_format_has_room_for_is_noted() {
    let app = App::fresh(&[]);
    let session = app.session(json!({})).await;
    let items = json!([
        {"role": "user", "name": "Ana", "content": "Plan it."},
        {"role": "assistant", "name": "Planer", "content": "Erst messen."},
        {"role": "user", "content": "Und dann?"},
        {"role": "assistant", "name": "审核", "content": "再看一遍。"}
    ]);
    app.put(&format!("{session}/transcript"), json!({"format": "openai_chat", "items": items})).await.expect(200);
    for (format, noted) in [("anthropic", 2), ("openai_responses", 2), ("gemini", 2), ("openai_chat", 0)] {
        let context = app.get(&format!("{session}/context?format={format}")).await.expect(200);
        let notes = context["conversion_notes"].as_array().unwrap();
        assert_eq!(notes.iter().filter(|note| note["code"] == "name_dropped").count(), noted, "{format}: {notes:?}");
        assert!(context["messages"].to_string().contains("Erst messen."), "{format}");
    }
}
