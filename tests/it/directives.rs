//! System messages that a provider takes among the others, where a compaction leaves them without the messages around them.

use serde_json::{Value, json};

use crate::app::App;

fn conversation(directive: &Value) -> Vec<Value> {
    let words = "lorem ipsum dolor sit amet ".repeat(40);
    let mut items: Vec<Value> = (0..10)
        .flat_map(|at| {
            [
                json!({"role": "user", "content": format!("ask {at} {words}")}),
                json!({"role": "assistant", "content": format!("say {at} {words}")}),
            ]
        })
        .collect();
    items.insert(3, directive.clone());
    items
}

#[tokio::test]
async fn a_directive_in_force_outlives_compactions() {
    let app = App::shared();
    let tool = |kind: &str| json!({"type": kind, "name": "zz"});
    let with = |content: Value, more: Value| {
        let mut item = json!({"role": "system", "content": content});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    let effort = json!({"output_config": {"effort": "low"}});
    let directives = [
        with(json!([tool("tool_addition")]), json!({})),
        with(json!([tool("tool_addition")]), effort.clone()),
        with(json!([{"type": "text", "text": "Use zz no more."}, tool("tool_removal")]), json!({})),
        with(json!([{"type": "text", "text": "Think less."}]), effort.clone()),
        with(json!([]), effort),
    ];
    for directive in &directives {
        for settings in
            [json!({"keep_recent_tokens": 800}), json!({"keep_recent_tokens": 100, "anchor_first_user": false})]
        {
            let mut all =
                json!({"enabled": false, "context_window": 6_000, "reserve_tokens": 500, "upstream": "builtin"});
            all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
            let session = app.session(json!({"settings": all})).await;
            app.append(&session, "anthropic", json!(conversation(directive))).await;
            for _ in 0..2 {
                let done = app.post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
                assert_eq!(done["status"], "succeeded", "{directive}: {done}");
                let handed = app.get(&format!("{session}/context?format=anthropic")).await.expect(200);
                let messages = handed["messages"].as_array().unwrap();
                assert!(messages.contains(directive), "{directive} {settings}: {handed}");
                let lint = app.post("/v1/lint", json!({"format": "anthropic", "items": messages})).await.expect(200);
                assert_eq!(lint["valid"], true, "{directive}: {lint}");
                app.append(&session, "anthropic", json!(conversation(&json!({"role": "user", "content": "x"})))).await;
            }
        }
    }
}

#[tokio::test]
async fn each_tool_that_was_added_stays_until_it_is_taken_away() {
    let app = App::shared();
    let change =
        |kind: &str, name: &str| json!({"role": "system", "content": [{"type": kind, "tool": {"name": name}}]});
    let settings = json!({"enabled": false, "context_window": 6_000, "reserve_tokens": 500, "keep_recent_tokens": 100,
        "upstream": "builtin"});
    let session = app.session(json!({"settings": settings})).await;
    for (kind, name) in
        [("tool_addition", "aa"), ("tool_addition", "bb"), ("tool_addition", "cc"), ("tool_removal", "aa")]
    {
        app.append(&session, "anthropic", json!(conversation(&change(kind, name)))).await;
    }
    app.post(&format!("{session}/compact"), json!({"wait": 60})).await.expect(200);
    let handed = app.get(&format!("{session}/context?format=anthropic")).await.expect(200);
    let text = handed["messages"].to_string();
    for change in [change("tool_addition", "bb"), change("tool_addition", "cc"), change("tool_removal", "aa")] {
        assert!(text.contains(&change["content"][0].to_string()), "{change}: {handed}");
    }
}
