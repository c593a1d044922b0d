//! Paging back in what a context shows shorter: the answer is the original, never another placeholder.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::compact;

const LONG: &str = "line of the original output that is worth reading\n";

fn call(id: &str, arguments: &str) -> Value {
    json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

async fn recall(app: &App, session: &str, id: &str) -> Value {
    app.get(&format!("{session}/tool-calls/{id}")).await.expect(200)
}

#[tokio::test]
async fn what_each_strategy_hides_comes_back_whole() {
    let app = App::shared();
    let long = LONG.repeat(60);
    let arguments = json!({"path": "a.rs", "text": LONG.repeat(40)}).to_string();
    for strategy in ["mask", "prune", "summarize"] {
        let settings = json!({"keep_recent_results": 0, "keep_recent_tokens": 1, "preserve_recent": 1, "min_gain_tokens": 0, "ahead_at": null});
        let session = app.session(json!({"settings": settings})).await;
        let items = json!([
            {"role": "user", "content": "read it"},
            call("c1", &arguments), result("c1", &long), call("c2", "{}"), result("c2", &long),
            {"role": "assistant", "content": "Read."}, {"role": "user", "content": "go on"}, {"role": "assistant", "content": "Yes."},
        ]);
        app.append(&session, "openai_chat", items).await;
        let done = compact(app, &session, json!({"strategy": strategy, "force": true})).await;
        assert_eq!(done["status"], "succeeded", "{strategy}: {done}");
        let context =
            app.get(&format!("{session}/context?format=openai_chat")).await.expect(200)["messages"].to_string();
        assert!(!context.contains(&LONG.trim().repeat(2)) && context.matches(LONG.trim()).count() < 120, "{strategy}");
        for id in ["c1", "c2"] {
            let found = recall(app, &session, id).await;
            assert_eq!(found["result_text"], long, "{strategy} {id}");
            assert_eq!((&found["original_missing"], &found["original_entry_id"]), (&json!(false), &json!(null)));
        }
        assert_eq!(recall(app, &session, "c1").await["arguments"]["text"], LONG.repeat(40), "{strategy}");
        let ledger = app.get(&format!("{session}/tool-calls")).await.expect(200);
        assert_eq!(ledger["items"].as_array().unwrap().len(), 2, "{strategy}");
    }
}

#[tokio::test]
async fn an_echoed_placeholder_is_answered_with_what_it_stands_for() {
    let app = App::shared();
    let session = app.session(json!({"settings": {"enabled": false}})).await;
    let original = result("c1", "the first words");
    app.append(&session, "openai_chat", json!([{"role": "user", "content": "hi"}, call("c1", "{}"), original])).await;
    let whole = format!("{}and so on", "x ".repeat(200));
    let echoes = json!([
        call("c1", "{}"),
        result("c1", "[tool_result elided; call_id=c1; original_tokens=9]"),
        call("c2", "{}"),
        result("c2", "[tool_result duplicate; call_id=c2; same_as=c1; original_tokens=9]"),
        call("c3", "{}"),
        result("c3", "[tool_result duplicate; call_id=c3; same_as=c2; original_tokens=9]"),
        call("c4", &json!({"text": whole}).to_string()),
        result("c4", &whole),
        call("c4", r#"{"text":"x x\n[argument truncated; call_id=c4; original_characters=409]\non"}"#),
        result("c4", "x x\n[tool_result truncated; call_id=c4; original_characters=409]\non"),
    ]);
    app.append(&session, "openai_chat", echoes).await;
    for id in ["c1", "c2", "c3"] {
        let found = recall(app, &session, id).await;
        assert_eq!(found["result_text"], "the first words", "{id}");
        assert_ne!(found["original_entry_id"], found["result_entry_id"], "{id}");
        assert_eq!(found["original_missing"], false);
    }
    let found = recall(app, &session, "c4").await;
    assert_eq!((found["result_text"].as_str(), found["arguments"]["text"].as_str()), (Some(&*whole), Some(&*whole)));
}

#[tokio::test]
async fn an_original_is_found_on_another_branch_and_one_that_never_was_is_named_missing() {
    let app = App::shared();
    let session = app.session(json!({})).await;
    let first =
        app.append(&session, "openai_chat", json!([{"role": "user", "content": "hi"}])).await["leaf_id"].clone();
    app.append(&session, "openai_chat", json!([call("c1", "{}"), result("c1", "on the other branch")])).await;
    let echo = json!([
        call("c1", "{}"),
        result("c1", "[tool_result elided; call_id=c1; original_tokens=9]"),
        call("c9", "{}"),
        result("c9", "[tool_result duplicate; call_id=c9; same_as=c9; original_tokens=9]"),
        call("c8", "{}"),
        result("c8", "quoted:\n[tool_result truncated; call_id=other; original_characters=9]\nso it says"),
    ]);
    app.post(&format!("{session}/entries"), json!({"format": "openai_chat", "items": echo, "parent_id": first}))
        .await
        .expect(201);
    assert_eq!(recall(app, &session, "c1").await["result_text"], "on the other branch");
    let lost = recall(app, &session, "c9").await;
    assert_eq!(
        (&lost["result"], &lost["result_text"], &lost["original_missing"]),
        (&json!(null), &json!(null), &json!(true))
    );
    let quoted = recall(app, &session, "c8").await;
    assert!(
        quoted["result_text"].as_str().unwrap().ends_with("so it says") && quoted["original_missing"] == false,
        "{quoted}"
    );
}

#[tokio::test]
async fn what_was_fetched_twice_stands_in_the_next_summaries_for_a_while() {
    let app = App::shared();
    let settings = json!({"keep_recent_tokens": 1, "preserve_recent": 1, "min_gain_tokens": 0, "ahead_at": null});
    let session = app.session(json!({"settings": settings})).await;
    // Of a file that was read a record says only how many lines it has.
    let result_of = |n: usize| format!("{}the gate of pier {n} is opened by lever {n}\n", LONG.repeat(36));
    let round = |n: usize| {
        let said = |role: &str, text: String| json!({"role": role, "content": text});
        let (id, long) = (format!("call_{n}"), "another word of it ".repeat(1_200));
        let read = call(&id, &json!({"path": format!("pier{n}.txt")}).to_string());
        json!([
            said("user", format!("look at pier {n}")),
            read,
            result(&id, &result_of(n)),
            said("assistant", format!("I looked at it. {long}")),
            said("user", "go on".into()),
            said("assistant", "Yes.".into())
        ])
    };
    let summary = async |n: usize| {
        app.append(&session, "openai_chat", round(n)).await;
        let done = compact(app, &session, json!({"strategy": "summarize", "force": true})).await;
        assert_eq!(done["status"], "succeeded", "{n}: {done}");
        let context = app.get(&format!("{session}/context?format=openai_chat")).await.expect(200);
        let messages = context["messages"].as_array().unwrap();
        messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
    };
    let is_told = |context: &str| context.contains("asked for again") || context.contains("lever 0");
    let first = summary(0).await;
    assert!(!is_told(&first) && first.contains("- #1 read(pier0.txt) → 37 lines"), "{first}");
    assert_eq!(recall(app, &session, "call_0").await["elided"], true);
    assert!(!is_told(&summary(1).await), "once is no habit");
    assert_eq!(recall(app, &session, "call_0").await["result_text"], result_of(0));
    for n in 2..=4 {
        let context = summary(n).await;
        let whole = format!("Results that were asked for again:\n- #1 read(pier0.txt) → {}", result_of(0).trim());
        assert!(context.contains(&whole), "{n}: {context}");
        assert!(!context.contains("lever 1"), "what nobody asked for is told as before: {context}");
    }
    assert!(!is_told(&summary(5).await), "three compactions later nobody needs it");
}
