//! Long arguments shown shorter, the providers' own compactions and thinking, through the API.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;
use crate::drill_valid::{FORMATS, violations};
use crate::patience::eventually;

/// Turns that write a long file each.
fn writing(range: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |n: usize| {
        let content: String = (0..200).map(|line| format!("let v{n}_{line} = {line};\n")).collect();
        let arguments = json!({"path": format!("src/file_{n}.rs"), "content": content});
        let call = json!({"id": format!("call_{n}"), "type": "function",
            "function": {"name": "write", "arguments": arguments.to_string()}});
        [
            json!({"role": "user", "content": asked(n)}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("call_{n}"), "content": "written"}),
            json!({"role": "assistant", "content": "Done."}),
        ]
    };
    range.flat_map(turn).collect()
}

async fn count_with(app: &App, session: &str, estimator: &str) -> Value {
    app.patch(session, json!({"settings": {"estimator": estimator}})).await.expect(200);
    eventually("it is counted again", async || {
        let snapshot = snapshot(app, session).await;
        (snapshot["recounting"] == false).then(|| snapshot["breakdown"].clone())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn long_arguments_are_shown_shorter_and_kept_whole() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let items = writing(0..6);
    app.append(&session, "openai_chat", json!(items)).await;
    let before = snapshot(app, &session).await;
    let done = compact(app, &session, json!({"strategy": "prune"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let after = snapshot(app, &session).await;
    assert_eq!(done["result"]["tokens_after"], after["tokens"]);
    assert_eq!(before["breakdown"]["tool_results"], after["breakdown"]["tool_results"]);
    assert!(after["tokens"].as_u64() < before["tokens"].as_u64());
    let mut elided = 0;
    for format in FORMATS {
        let shown = context(app, &session, format).await;
        assert_eq!(violations(format, messages(&shown), false), Vec::<String>::new(), "{format}");
        assert_eq!(shown["tokens"], after["tokens"]);
        let list = shown["elided"].as_array().unwrap();
        assert!(list.iter().all(|one| one["part"] == "arguments"), "{list:?}");
        elided = list.len();
        let text = shown["messages"].to_string();
        assert!(text.contains("[argument truncated; call_id=call_0; original_characters="), "{format}");
        assert!(text.contains("src/file_0.rs") && !text.contains("let v0_100 = 100;") && text.contains("let v5_100"));
    }
    let rows = all(app, &format!("{session}/tool-calls")).await;
    assert!(elided > 0 && elided < rows.len(), "the tail stays: {elided}");
    for (n, row) in rows.iter().enumerate() {
        let original: Value =
            serde_json::from_str(items[4 * n + 1]["tool_calls"][0]["function"]["arguments"].as_str().unwrap()).unwrap();
        assert_eq!((&row["arguments"], &row["elided"]), (&original, &json!(n < elided)), "{row}");
    }
    assert_eq!(kept_items(app, &session).await, items);
    let again = compact(app, &session, json!({"strategy": "prune"})).await;
    assert_eq!(again["status"], "skipped", "{again}");
    count_with(app, &session, "pi").await;
    assert_eq!(count_with(app, &session, "o200k").await, after["breakdown"], "counted anew, the same");
    app.post(&format!("/v1/compactions/{}/revert", done["id"].as_str().unwrap()), json!({})).await.expect(200);
    assert_eq!(messages(&context(app, &session, "openai_chat").await), &items);
    assert_eq!(snapshot(app, &session).await["tokens"], before["tokens"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pruning_that_gains_too_little_is_not_done() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "openai_chat", json!(writing(0..6))).await;
    let settings = json!({"min_gain_tokens": 1_000_000});
    let done = compact(app, &session, json!({"strategy": "prune", "settings": settings})).await;
    assert_eq!(done["status"], "skipped", "{done}");
    let settings = json!({"exclude_tools": ["write"]});
    let done = compact(app, &session, json!({"strategy": "prune", "settings": settings})).await;
    assert_eq!(done["status"], "skipped", "{done}");
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_providers_compaction_outlives_ours() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let asked =
        |n: usize| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked(n)}]});
    let compaction =
        |n: usize| json!({"type": "compaction", "id": format!("cmp_{n}"), "encrypted_content": "x".repeat(400)});
    let mut items = vec![asked(0), compaction(1), asked(1), compaction(2)];
    for n in 2..40 {
        items.push(asked(n));
        items.push(json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "encrypted_content": "abc"}));
        items.push(said(&format!("Answer {n}: {}", "more words ".repeat(30))));
    }
    app.append(&session, "openai_responses", json!(items)).await;
    for round in 0..2 {
        let done = compact(app, &session, json!({"strategy": "summarize"})).await;
        assert_eq!(done["status"], "succeeded", "{done}");
        let shown = context(app, &session, "openai_responses").await;
        assert_eq!(messages(&shown)[1], compaction(2), "round {round}: behind the first message, unchanged");
        assert_eq!(shown["messages"].to_string().matches("\"compaction\"").count(), 1);
        assert_eq!(violations("openai_responses", messages(&shown), true), Vec::<String>::new());
        let noted = shown["conversion_notes"].as_array().unwrap();
        assert!(noted.iter().all(|note| note["code"] != "reasoning_unpaired"), "{noted:?}");
        let elsewhere = context(app, &session, "anthropic").await;
        assert!(!elsewhere["messages"].to_string().contains("xxxx"));
        let codes: Vec<&Value> =
            elsewhere["conversion_notes"].as_array().unwrap().iter().map(|note| &note["code"]).collect();
        assert!(codes.contains(&&json!("provider_compaction_dropped")), "{codes:?}");
        let more: Vec<Value> = (0..20).flat_map(|n| [asked(50 + n), said(&"more words ".repeat(40))]).collect();
        app.append(&session, "openai_responses", json!(more)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_is_kept_or_stripped_as_set() {
    let app = App::shared();
    let session = app.session(json!({"settings": by_hand()})).await;
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    let items = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "yes"}]},
        {"role": "user", "content": "next"},
    ]);
    app.append(&session, "anthropic", items.clone()).await;
    assert_eq!(context(app, &session, "anthropic").await["messages"], items);
    app.patch(&session, json!({"settings": {"thinking": "strip"}})).await.expect(200);
    let shown = context(app, &session, "anthropic").await;
    assert_eq!(shown["messages"][1]["content"], json!([{"type": "text", "text": "yes"}]));
    assert_eq!(shown["conversion_notes"][0]["code"], "thinking_stripped");
    let refused = app.patch(&session, json!({"settings": {"thinking": "sometimes"}})).await;
    refused.assert_problem(422, "validation_failed");
    assert!(refused.text.contains("/settings/thinking"), "{}", refused.text);
}
