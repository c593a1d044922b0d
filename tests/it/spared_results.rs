//! Results that `auto` leaves as they are: those that the agent has not answered yet, and those that there is room for.

use serde_json::{Value, json};

use crate::app::App;
use crate::drill_support::{compact, context, turns};

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look_up", "arguments": json!({"what": id}).to_string()}})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

async fn shown(app: &App, session: &str) -> String {
    context(app, session, "openai_chat").await["messages"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_nobody_has_read_yet_stay() {
    let app = App::shared();
    let settings = json!({"context_window": 16_000, "reserve_tokens": 2_000, "enabled": false});
    let session = app.session(json!({"settings": settings})).await;
    app.append(&session, "openai_chat", json!(turns(0..30, 200))).await;
    let ids = ["u1", "u2", "u3", "u4", "u5", "u6"];
    let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
    let mut items = vec![
        json!({"role": "user", "content": "Look all of them up."}),
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
    ];
    items.extend(
        ids.iter().map(|id| result(id, &format!("{id} costs 1{id} euros. {}", "And so on it goes. ".repeat(60)))),
    );
    app.append(&session, "openai_chat", json!(items)).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let shown = shown(app, &session).await;
    for id in ids {
        assert!(shown.contains(&format!("{id} costs 1{id} euros.")), "{id}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn small_results_stay_where_there_is_room() {
    let app = App::shared();
    let settings = json!({"context_window": 40_000, "reserve_tokens": 4_000, "enabled": false});
    let session = app.session(json!({"settings": settings})).await;
    let mut items = vec![
        json!({"role": "user", "content": "Read the log, then look the parts up."}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("log")]}),
        result("log", &"A line of the log, with words. ".repeat(2_500)),
    ];
    for n in 0..12 {
        let id = format!("part_{n}");
        items.push(json!({"role": "assistant", "content": null, "tool_calls": [call(&id)]}));
        items.push(result(&id, &format!("{id} costs {n}5 euros. {}", "It comes in red and in blue. ".repeat(12))));
    }
    app.append(&session, "openai_chat", json!(items)).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let result = &done["result"];
    assert!(result["tokens_after"].as_u64().unwrap() * 2 < result["tokens_before"].as_u64().unwrap(), "{result}");
    let shown = shown(app, &session).await;
    for n in 0..12 {
        assert!(shown.contains(&format!("part_{n} costs {n}5 euros")), "{n}: {shown}");
    }
    // Whoever asks for masking gets it.
    let masked = app.session(json!({"settings": settings})).await;
    app.append(&masked, "openai_chat", json!(items)).await;
    let done = compact(app, &masked, json!({"strategy": "mask"})).await;
    assert_eq!(done["result"]["tool_results_masked"], 10, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_room_for_is_not_cut() {
    let app = App::shared();
    let settings = json!({"context_window": 40_000, "reserve_tokens": 4_000, "enabled": false});
    let session = app.session(json!({"settings": settings})).await;
    let written =
        |n: usize| format!("{}\nlet port_{n} = 5{n}77;\n{}", "let a = 1;\n".repeat(60), "let b = 2;\n".repeat(60));
    let mut items = vec![
        json!({"role": "user", "content": "Read the log, then look the parts up and write them down."}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("log")]}),
        result("log", &"A line of the log, with words. ".repeat(3_000)),
    ];
    for n in 0..6 {
        let (read, write) = (format!("part_{n}"), format!("write_{n}"));
        let said = "It comes in red and in blue. ".repeat(25);
        let arguments = json!({"path": format!("src/{n}.rs"), "content": written(n)}).to_string();
        let function = json!({"name": "write_file", "arguments": arguments});
        items.push(json!({"role": "assistant", "content": null, "tool_calls": [call(&read)]}));
        items.push(result(&read, &format!("{said}{read} costs {n}5 euros. {said}")));
        items.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": write, "type": "function", "function": function}]}));
        items.push(result(&write, "Written."));
    }
    app.append(&session, "openai_chat", json!(items)).await;
    let done = compact(app, &session, json!({})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let after = done["result"]["tokens_after"].as_u64().unwrap();
    assert!(after * 2 < done["result"]["tokens_before"].as_u64().unwrap(), "{done}");
    assert!(after < 40_000 * 45 / 100, "{done}");
    let shown = shown(app, &session).await;
    for n in 0..6 {
        // Both stand in the middle of what pruning would cut.
        assert!(shown.contains(&format!("part_{n} costs {n}5 euros")), "{n}: {shown}");
        assert!(shown.contains(&format!("let port_{n} = 5{n}77;")), "{n}: {shown}");
    }
}
