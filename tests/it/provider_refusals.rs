//! What providers refuse (`tests/data/refusals`), over HTTP: lint tells of it, it is stored as it came, and no context, no
//! export in a provider's format and no search hands it out.

use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::violations;

const EXAMPLES: [(&str, &str); 4] = [
    ("anthropic", include_str!("../data/refusals/anthropic.ndjson")),
    ("gemini", include_str!("../data/refusals/gemini.ndjson")),
    ("openai_chat", include_str!("../data/refusals/openai_chat.ndjson")),
    ("openai_responses", include_str!("../data/refusals/openai_responses.ndjson")),
];

#[derive(Deserialize)]
struct Example {
    row: String,
    refused: bool,
    items: Vec<Box<RawValue>>,
}

impl Example {
    /// The JSON of the items, with halves of characters in it. `None`: it is too long to be written down.
    fn body(&self, format: &str) -> Option<String> {
        let items: Vec<&str> = self.items.iter().map(|item| item.get()).collect();
        let body = format!("{{\"format\":\"{format}\",\"items\":[{}]}}", items.join(","));
        (!body.contains("\"@")).then_some(body)
    }
}

fn examples(lines: &str) -> impl Iterator<Item = Example> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
}

async fn linted(app: &App, body: String) -> Value {
    app.send(Method::POST, "/v1/lint", &[("content-type", "application/json")], body).await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_providers_refuse_is_told_of_and_never_handed_out() {
    let app = App::shared();
    for (format, lines) in EXAMPLES {
        for example in examples(lines) {
            let Some(body) = example.body(format) else { continue };
            let found = linted(app, body.clone()).await;
            let row = &example.row;
            assert_eq!(found["valid"], json!(!example.refused), "{row}: {body} {found}");
            let session = app.session(json!({"settings": by_hand()})).await;
            let path = format!("{session}/transcript");
            let put = app.send(Method::PUT, &path, &[("content-type", "application/json")], body.clone()).await;
            if put.status == 422 {
                continue;
            }
            put.expect(200);
            for (target, _) in EXAMPLES {
                let context = app.get(&format!("{session}/context?format={target}")).await;
                // A backslash that is written out makes six characters of what follows, and no half.
                let text = context.text.replace(r"\\", "").to_lowercase();
                assert!(!text.contains(r"\ud"), "{row}: {}", context.text);
                let messages = context.expect(200)["messages"].as_array().unwrap().clone();
                if target == format && target != "gemini" {
                    assert_eq!(violations(target, &messages, true), Vec::<String>::new(), "{row}: {body}");
                }
                let again = linted(app, json!({"format": target, "items": messages}).to_string()).await;
                assert_eq!(again["valid"], true, "{row} of {format} as {target}: {body}: {again}");
                // The client goes on with what it was given: nothing of it is new, and nothing forks.
                if target == format && !messages.is_empty() {
                    let posted = app.put(&path, json!({"format": target, "items": messages})).await.expect(200);
                    assert_eq!((&posted["appended"], &posted["forked"]), (&json!(0), &json!(false)), "{row}: {body}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn halves_of_characters_are_stored_as_they_came_and_handed_out_nowhere() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = r#"[{"role":"user","content":"a needle \ud99c here"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\\ud99c\":\"\\udc00\"}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"needle \udfff"}]"#;
    let body = format!("{{\"format\":\"openai_chat\",\"items\":{items}}}");
    let header = [("content-type", "application/json")];
    app.send(Method::PUT, &format!("{session}/transcript"), &header, body).await.expect(200);
    let is_half = |text: &str| {
        let text = text.to_lowercase();
        ["\\ud99c", "\\udc00", "\\udfff"].iter().any(|half| text.contains(half))
    };
    let stored = app.get(&format!("{session}/entries")).await.text;
    assert!(is_half(&stored), "stored as it came: {stored}");
    let formats = ["native", "openai_chat", "openai_responses", "anthropic", "gemini", "pi"];
    for format in formats {
        for path in [format!("{session}/context?format={format}"), format!("{session}/export?format={format}")] {
            let text = app.get(&path).await.text;
            assert!(!is_half(&text) && text.contains("needle"), "{path}: {text}");
        }
    }
    let found = app.get(&format!("{session}/search?q=needle")).await.text;
    assert!(!is_half(&found) && found.contains("needle"), "{found}");
    let page = app.get(&format!("/ui/sessions/{}", id_of(&session))).await.text;
    assert!(!is_half(&page), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_configuration_holds_across_a_compaction() {
    let app = App::shared();
    let effort = |effort: &str| json!({"type": "configuration_update", "reasoning": {"effort": effort}});
    let said = |role: &str, n: usize| json!({"type": "message", "role": role, "content": format!("{n} {}", asked(n).repeat(40))});
    let turns =
        |range: std::ops::Range<usize>| range.flat_map(|n| [said("user", n), said("assistant", n)]).collect::<Vec<_>>();
    let items = [vec![said("user", 0), effort("high")], turns(1..20), vec![effort("low")], turns(20..60)].concat();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_responses", json!(items)).await;
    compact(app, &session, json!({})).await;
    let context = context(app, &session, "openai_responses").await;
    let kept: Vec<&Value> = messages(&context).iter().filter(|item| item["type"] == "configuration_update").collect();
    assert!(context["summary_entry_id"].is_string(), "{context}");
    assert_eq!(kept.last().map(|item| &item["reasoning"]["effort"]), Some(&json!("low")), "{kept:?}");
    assert_eq!(violations("openai_responses", messages(&context), true), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_the_messages_counts_too() {
    let app = App::shared();
    let mark = json!({"type": "ephemeral"});
    let text = |text: &str| json!([{"type": "text", "text": text, "cache_control": mark}]);
    let items = json!([
        {"role": "user", "content": text("one")},
        {"role": "system", "content": "Use tabs."},
        {"role": "assistant", "content": text("two")},
        {"role": "user", "content": text("three")},
    ]);
    let marks = |context: &Value| context["messages"].to_string().matches("cache_control").count();
    let plain = app.session(json!({"model": "claude-opus-5"})).await;
    app.append(&plain, "anthropic", items.clone()).await;
    let shown = context(app, &plain, "anthropic").await;
    assert_eq!((&shown["messages"], &shown["conversion_notes"]), (&items, &json!([])));
    // An older model takes no system messages among the others.
    let older = app.session(json!({"model": "claude-sonnet-4-5"})).await;
    app.append(&older, "anthropic", items.clone()).await;
    let shown = context(app, &older, "anthropic").await;
    assert!(messages(&shown).iter().all(|message| message["role"] != "system"), "{shown}");
    assert!(shown["messages"].to_string().contains("Use tabs."), "{shown}");
    assert_eq!(violations("anthropic", messages(&shown), true), Vec::<String>::new());
    // Marks of the system prompt and of tools are among the four.
    let tools = json!([{"name": "read", "input_schema": {"type": "object"}, "cache_control": mark}]);
    let system = json!([{"type": "text", "text": "a", "cache_control": mark}, {"type": "text", "text": "b", "cache_control": mark}]);
    let marked = app.session(json!({"model": "claude-opus-5", "system": system, "tools": tools})).await;
    app.append(&marked, "anthropic", items).await;
    let shown = context(app, &marked, "anthropic").await;
    assert_eq!(marks(&shown), 1, "{shown}");
    assert!(messages(&shown)[3].to_string().contains("cache_control"), "the newest stays: {shown}");
    assert!(shown["conversion_notes"].to_string().contains("cache_marks_removed"), "{shown}");
}
