//! Many small calls of one step, and their results: what is handed out fits, though none of them is large.

use serde_json::{Value, json};

use crate::app::App;

const FORMATS: [&str; 4] = ["openai_chat", "openai_responses", "anthropic", "gemini"];
const WINDOW: u64 = 12_000;

fn request(format: &str) -> Value {
    let text = "Look at each of the modules and say which of them has no test yet.";
    if format == "gemini" {
        json!({"role": "user", "parts": [{"text": text}]})
    } else {
        json!({"role": "user", "content": text})
    }
}

/// What the agent says and what it is answered: so many calls, with arguments and results of so many words.
fn step(format: &str, calls: usize, arguments: usize, results: usize) -> (Vec<Value>, Vec<Value>) {
    let ids = || (0..calls).map(|n| (n, format!("call_{n}")));
    let said = |n: usize| json!({"path": format!("src/module_{n}.rs {}", "deep ".repeat(arguments))});
    let told = |n: usize| format!("module {n} {}", "holds lines ".repeat(results / 2));
    let call = |(n, id): (usize, String)| match format {
        "openai_chat" => json!({"id": id, "type": "function",
            "function": {"name": "read", "arguments": said(n).to_string()}}),
        "openai_responses" => json!({"type": "function_call", "call_id": id, "name": "read",
            "arguments": said(n).to_string()}),
        "anthropic" => json!({"type": "tool_use", "id": id, "name": "read", "input": said(n)}),
        _ => json!({"functionCall": {"id": id, "name": "read", "args": said(n)}}),
    };
    let result = |(n, id): (usize, String)| match format {
        "openai_chat" => json!({"role": "tool", "tool_call_id": id, "content": told(n)}),
        "openai_responses" => json!({"type": "function_call_output", "call_id": id, "output": told(n)}),
        "anthropic" => json!({"type": "tool_result", "tool_use_id": id, "content": told(n)}),
        _ => json!({"functionResponse": {"id": id, "name": "read", "response": {"output": told(n)}}}),
    };
    let (calls, results): (Vec<Value>, Vec<Value>) = (ids().map(call).collect(), ids().map(result).collect());
    match format {
        "openai_chat" => (vec![json!({"role": "assistant", "content": null, "tool_calls": calls})], results),
        "openai_responses" => (calls, results),
        "anthropic" => {
            (vec![json!({"role": "assistant", "content": calls})], vec![json!({"role": "user", "content": results})])
        }
        _ => (vec![json!({"role": "model", "parts": calls})], vec![json!({"role": "user", "parts": results})]),
    }
}

async fn count(app: &App, format: &str, items: &Value) -> u64 {
    let counted = app.post("/v1/count", json!({"format": format, "items": items})).await.expect(200);
    counted["tokens"].as_u64().unwrap()
}

async fn session(app: &App) -> String {
    app.session(json!({"settings": {"context_window": WINDOW}})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_results_of_one_step_fit() {
    let app = App::shared();
    for format in FORMATS {
        for (calls, arguments, results) in [(200, 1, 30), (200, 1, 60), (300, 1, 24), (200, 16, 16)] {
            let (asked, answered) = step(format, calls, arguments, results);
            let before = [vec![request(format)], asked].concat();
            let whole = json!([before.clone(), answered.clone()].concat());
            assert!(count(app, format, &whole).await > 10_000);
            for way in ["appended", "posted"] {
                let session = session(app).await;
                let told = format!("{calls} calls of {arguments} and {results}, {format}, {way}");
                let context = if way == "appended" {
                    app.append(&session, format, json!(before)).await;
                    let body = json!({"format": format, "items": answered, "return_context": format});
                    app.post(&format!("{session}/entries"), body).await.expect(201)["context"].clone()
                } else {
                    let body = json!({"format": format, "items": whole, "return_context": format});
                    app.put(&format!("{session}/transcript"), body).await.expect(200)["context"].clone()
                };
                let handed = count(app, format, &context["messages"]).await;
                assert!(handed <= WINDOW, "{told}: {handed}, {}", context["exceeds_window"]);
                assert_eq!(context["exceeds_window"], json!(null), "{told}");
                let lint = json!({"format": format, "items": context["messages"]});
                let lint = app.post("/v1/lint", lint).await.expect(200);
                assert_eq!(lint["valid"], true, "{told}: {lint}");
                // Who posts it back has said nothing new.
                let back = json!({"format": format, "items": context["messages"]});
                let back = app.put(&format!("{session}/transcript"), back).await.expect(200);
                assert_eq!((&back["appended"], &back["forked"]), (&json!(0), &json!(false)), "{told}: {back}");
            }
        }
    }
}

/// No result can go that far: the calls themselves are too many.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_alone_are_too_many_are_named() {
    let app = App::shared();
    for format in ["openai_chat", "anthropic"] {
        let (asked, answered) = step(format, 900, 1, 30);
        let session = session(app).await;
        let items = [vec![request(format)], asked, answered].concat();
        let body = json!({"format": format, "items": items, "return_context": format});
        let context = app.post(&format!("{session}/entries"), body).await.expect(201)["context"].clone();
        let excess = &context["exceeds_window"];
        assert_eq!(excess["reason"], "fixed_overhead", "{format}: {excess}");
        assert!(excess["fixed"]["newest"].as_u64().unwrap() > WINDOW, "{format}: {excess}");
    }
}
