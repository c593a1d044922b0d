//! What contexts look like where they used to be refused, or changed without need.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::*;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn calls(ids: &[&str]) -> Value {
    let block = |id: &&str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    json!({"role": "assistant", "content": ids.iter().map(block).collect::<Vec<_>>()})
}

fn results(ids: &[&str]) -> Value {
    let block = |id: &&str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    json!({"role": "user", "content": ids.iter().map(block).collect::<Vec<_>>()})
}

fn notes(context: &Value) -> Vec<&str> {
    let notes = context["conversion_notes"].as_array().unwrap();
    notes.iter().map(|note| note["code"].as_str().unwrap()).collect()
}

async fn lints(app: &App, format: &str, context: &Value) {
    let linted = app.post("/v1/lint", json!({"format": format, "items": messages(context)})).await.expect(200);
    assert_eq!(linted["valid"], true, "{linted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_anthropic_joins_itself_come_back_as_they_were() {
    let app = App::shared();
    let apart = json!([user("hi"), calls(&["a"]), calls(&["b"]), results(&["a", "b"]), user("go on")]);
    let session = app.session(json!({})).await;
    app.append(&session, "anthropic", apart.clone()).await;
    let own = context(app, &session, "anthropic").await;
    assert_eq!((&own["messages"], notes(&own)), (&apart, vec![]));
    lints(app, "anthropic", &own).await;
    // Elsewhere calls without their results between them are refused: one message makes both.
    let chat = context(app, &session, "openai_chat").await;
    assert_eq!(messages(&chat)[1]["tool_calls"].as_array().unwrap().len(), 2, "{chat}");
    // Results in two messages, and an open call, still take a repair.
    let split = json!([user("hi"), calls(&["a"]), calls(&["b"]), results(&["b"]), results(&["a"]), calls(&["c"])]);
    let session = app.session(json!({})).await;
    app.append(&session, "anthropic", split).await;
    let own = context(app, &session, "anthropic").await;
    assert_eq!(messages(&own)[1], calls(&["a", "b"]));
    assert!(notes(&own).contains(&"messages_merged"), "{own}");
    lints(app, "anthropic", &own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_answer_said_elsewhere_is_a_string_in_responses() {
    let app = App::shared();
    let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {}}]});
    let items = json!([user("hi"), {"role": "assistant", "content": "yes"}, answer, results(&["a"])]);
    let session = app.session(json!({})).await;
    app.append(&session, "anthropic", items).await;
    let context = context(app, &session, "openai_responses").await;
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    assert_eq!(messages(&context)[1..4], [said("yes"), said("a"), said("b")]);
    assert_eq!(messages(&context)[4]["type"], "function_call");
    lints(app, "openai_responses", &context).await;
    // It is known again when it comes back.
    let put = json!({"format": "openai_responses", "items": context["messages"]});
    let put = app.put(&format!("{session}/transcript"), put).await.expect(200);
    assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{put}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_ends_in_an_answer_ends_in_no_white_space() {
    let app = App::shared();
    let blocks = json!([{"type": "text", "text": "one \n"}, {"type": "text", "text": "two \n", "cache_control": {"type": "ephemeral"}}]);
    for (content, trimmed) in [
        (json!("yes \n"), json!("yes")),
        (blocks.clone(), json!([blocks[0], {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}])),
    ] {
        let session = app.session(json!({})).await;
        let answer = json!({"role": "assistant", "content": content});
        app.append(&session, "anthropic", json!([user("hi"), answer])).await;
        let own = context(app, &session, "anthropic").await;
        assert_eq!(messages(&own)[1]["content"], trimmed);
        assert_eq!(notes(&own), ["trailing_space_trimmed"]);
        lints(app, "anthropic", &own).await;
        let put = json!({"format": "anthropic", "items": own["messages"]});
        let put = app.put(&format!("{session}/transcript"), put).await.expect(200);
        assert_eq!((&put["appended"], &put["forked"]), (&json!(0), &json!(false)), "{put}");
        // Where somebody speaks after it, nothing is wrong with it.
        app.append(&session, "anthropic", json!([user("go on")])).await;
        let own = context(app, &session, "anthropic").await;
        assert_eq!((&messages(&own)[1], notes(&own)), (&answer, vec![]));
    }
    let session = app.session(json!({})).await;
    app.append(&session, "openai_chat", json!([user("hi"), {"role": "assistant", "content": "yes "}])).await;
    assert_eq!(messages(&context(app, &session, "anthropic").await)[1]["content"][0]["text"], "yes");
    assert_eq!(messages(&context(app, &session, "openai_chat").await)[1]["content"], "yes ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pi_entry_without_its_parent_follows_the_line_before_it_alone_and_in_a_file() {
    let app = App::shared();
    let entry = |id: &str, parent: Value| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": id}});
    let header = json!({"type": "session", "version": 3, "id": "head", "cwd": "/"});
    for (parent, says) in [("nowhere", "\"nowhere\""), ("a2", "its own parent")] {
        let lost = entry("a2", json!(parent));
        let alone = app.session(json!({})).await;
        app.append(&alone, "pi", json!([header, entry("a1", Value::Null)])).await;
        let one = app.append(&alone, "pi", json!([lost])).await;
        let file = app.session(json!({})).await;
        let two = app.append(&file, "pi", json!([header, entry("a1", Value::Null), lost])).await;
        for (answer, pointer) in [(&one, "/items/0/parentId"), (&two, "/items/2/parentId")] {
            let warning = &answer["warnings"][0];
            assert_eq!((&warning["code"], &warning["pointer"]), (&json!("unknown_parent"), &json!(pointer)));
            assert!(warning["detail"].as_str().unwrap().contains(says), "{warning}");
        }
        for session in [&alone, &file] {
            let context = context(app, session, "openai_chat").await;
            assert_eq!(messages(&context), &[user("a1"), user("a2")], "the conversation before it stays");
            assert_eq!(all(app, &format!("{session}/entries?all=true")).await.len(), 3, "nothing is lost");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_pi_shows_to_no_model_is_named() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let odd = json!({"type": "message", "id": "1", "message": {"role": "usr", "content": "hi"}});
    let answer = app.append(&session, "pi", json!([odd])).await;
    assert_eq!(answer["warnings"][0]["code"], "not_shown", "{answer}");
    assert_eq!(messages(&context(app, &session, "openai_chat").await), &Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_that_may_be_refused_is_named() {
    let app = App::shared();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let answer = json!({"role": "assistant", "content": [thought, {"type": "text", "text": "yes"}]});
    let session = app.session(json!({"model": "claude-sonnet-4-5"})).await;
    app.append(&session, "anthropic", json!([user("hi"), answer, user("more")])).await;
    let own = async || context(app, &session, "anthropic").await;
    app.patch(&session, json!({"model": "anthropic/claude-sonnet-4-5-20250929"})).await.expect(200);
    assert_eq!(notes(&own().await), Vec::<&str>::new(), "another name of the same model");
    app.patch(&session, json!({"model": "claude-opus-4-6"})).await.expect(200);
    let changed = own().await;
    assert_eq!(notes(&changed), ["thinking_dropped"]);
    assert_eq!(messages(&changed)[1]["content"], json!([{"type": "text", "text": "yes"}]));
    app.append(&session, "anthropic", json!([answer, user("go on")])).await;
    assert_eq!(messages(&own().await)[3], answer, "what the new model signed stays");

    let round = |n: usize| {
        let call = json!({"type": "tool_use", "id": format!("t{n}"), "name": "run", "input": {}});
        let result =
            json!({"type": "tool_result", "tool_use_id": format!("t{n}"), "content": "long output ".repeat(200)});
        [json!({"role": "assistant", "content": [thought, call]}), json!({"role": "user", "content": [result]})]
    };
    let items: Vec<Value> = std::iter::once(user("hi")).chain((0..6).flat_map(round)).collect();
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    app.append(&session, "anthropic", json!(items)).await;
    assert_eq!(notes(&context(app, &session, "anthropic").await), Vec::<&str>::new());
    assert_eq!(compact(app, &session, json!({"strategy": "mask"})).await["status"], "succeeded");
    let masked = context(app, &session, "anthropic").await;
    assert_eq!(notes(&masked), ["thinking_after_compaction"]);
    assert!(!notes(&context(app, &session, "openai_chat").await).contains(&"thinking_after_compaction"));

    // Behind a summary, as far as there is thinking there.
    let session = app.session(json!({"settings": by_hand()})).await;
    app.append(&session, "anthropic", json!(items)).await;
    let summarised = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    assert_eq!(summarised["status"], "succeeded", "{summarised}");
    let shown = context(app, &session, "anthropic").await;
    let ids = shown["entry_ids"].as_array().unwrap();
    let path = all(app, &format!("{session}/entries")).await;
    let signs = |entry: &&Value| entry["item"]["content"][0] == thought && ids.contains(&entry["id"]);
    let first = path.iter().find(signs).expect("a kept answer");
    let signed = messages(&shown).iter().filter(|message| message["content"][0] == thought).count();
    let note = &shown["conversion_notes"][0];
    assert_eq!(notes(&shown), ["thinking_after_compaction"]);
    assert_eq!(note["entry_id"], first["id"], "{note}");
    assert!(signed < 6 && note["detail"].as_str().unwrap().starts_with(&format!("{signed} answer")), "{note}");
    let talk = (0..8).flat_map(|n| [user(&format!("{n}: {}", "more words ".repeat(150))), {
        json!({"role": "assistant", "content": [{"type": "text", "text": format!("{n}: {}then.", "so be it, ".repeat(150))}]})
    }]);
    app.append(&session, "anthropic", talk.collect()).await;
    let summarised = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
    assert_eq!(summarised["status"], "succeeded", "{summarised}");
    assert_eq!(notes(&context(app, &session, "anthropic").await), Vec::<&str>::new());
}
