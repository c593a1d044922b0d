//! The published SDKs, directly and through the proxy (`tests/clients/proxy_sdks.py` and `.mjs`).
//!
//! Ignored in the plain run: they need a Python with the packages, named by `CONTEXTD_CLIENTS_PYTHON`, and a folder whose
//! `node_modules` has them, named by `CONTEXTD_CLIENTS_NODE`.

mod recall;

use serde_json::{Value, json};

use super::Stage;
use super::provider::{Reply, Seen};

pub(super) fn events(all: &[Value]) -> Reply {
    let named = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let mut text: Vec<String> = all.iter().map(named).collect();
    text.insert(1, ": ping\n\n".to_owned());
    if all[0]["type"].is_null() {
        text.push("data: [DONE]\n\n".to_owned());
    }
    let pieces: Vec<&str> = text.iter().map(String::as_str).collect();
    Reply::of(200, "text/event-stream; charset=utf-8", &pieces)
}

fn chat() -> Vec<Value> {
    let chunk = |delta: Value, end: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    };
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "read", "arguments": "{\"path\":"}}]});
    vec![
        chunk(json!({"role": "assistant", "content": "Hél"}), Value::Null),
        chunk(call, Value::Null),
        chunk(json!({}), json!("tool_calls")),
    ]
}

fn response(input: usize, status: &str, output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": status, "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": input, "output_tokens": 3, "total_tokens": input + 3,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}})
}

fn responses(input: usize) -> Vec<Value> {
    let event = |name: &str, number: u64, rest: Value| {
        let mut event = json!({"type": name, "sequence_number": number});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event
    };
    vec![
        event("response.created", 0, json!({"response": response(input, "in_progress", json!([]))})),
        event(
            "response.output_text.delta",
            1,
            json!({"item_id": "msg_1", "output_index": 0, "content_index": 0,
            "delta": "Hé", "logprobs": []}),
        ),
        event("response.completed", 2, json!({"response": response(input, "completed", spoken())})),
    ]
}

/// An output of Responses.
fn spoken() -> Value {
    let part = json!({"type": "output_text", "text": "Hé", "annotations": []});
    json!([{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}])
}

fn message(input: usize, content: Value) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": input, "output_tokens": 1}})
}

fn messages(input: usize) -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": message(input, json!([]))}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hé"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ]
}

fn answer(seen: &Seen) -> Reply {
    let streams = serde_json::from_slice::<Value>(&seen.body).is_ok_and(|body| body["stream"] == true);
    let text = json!([{"type": "text", "text": "Hé"}]);
    let input = seen.body.len() / 4;
    match (seen.uri.split('?').next().unwrap(), streams) {
        ("/v1/chat/completions", true) => events(&chat()),
        ("/v1/responses", true) => events(&responses(input)),
        ("/v1/messages", true) => events(&messages(input)),
        ("/v1/chat/completions", false) => Reply::good(seen, input as u64, 3),
        ("/v1/responses", false) => Reply::json(200, &response(input, "completed", spoken())),
        ("/v1/messages", false) => Reply::json(200, &message(input, text)),
        ("/v1/messages/count_tokens", _) => Reply::json(200, &json!({"input_tokens": input})),
        ("/v1/models", _) => Reply::json(
            200,
            &json!({"object": "list", "data": [
            {"id": "gpt-5", "object": "model", "created": 1, "owned_by": "openai"}]}),
        ),
        other => panic!("{other:?}"),
    }
}

/// Runs a script with this program; it is told the provider's root, the service's, and what to do.
async fn run(stage: &Stage, program: &str, script: &str, task: &[&str]) {
    let script = format!("{}/tests/clients/{script}", env!("CARGO_MANIFEST_DIR"));
    let provider = stage.provider.base_url().replace("/v1", "");
    let mut command = tokio::process::Command::new(program);
    let output = command.arg(script).arg(provider).arg(stage.app.url("")).args(task).output().await.unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn see_no_difference(program: &str, script: &str) {
    let stage = Stage::plain().await;
    stage.provider.play(answer);
    run(&stage, program, script, &["compare"]).await;
    let seen = stage.provider.take();
    let (direct, through) = seen.split_at(seen.len() / 2);
    assert_eq!(direct.len(), 8);
    for (one, other) in direct.iter().zip(through) {
        assert_eq!((&one.method, &one.uri, &one.body), (&other.method, &other.uri, &other.body));
        let ours = ["accept-encoding", "contextd-proxy", "contextd-session", "connection", "host"];
        let rest = |seen: &Seen| {
            let mut headers = seen.headers.clone();
            for name in ours {
                headers.remove(name);
            }
            headers
        };
        assert_eq!(rest(one), rest(other), "{}", one.uri);
    }
}

fn python() -> String {
    std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published SDKs"]
async fn published_sdks_see_no_difference() {
    see_no_difference(&python(), "proxy_sdks.py").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published SDKs"]
async fn published_sdks_recall_every_fact_after_compactions() {
    recall::converse(&python(), "proxy_sdks.py").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_NODE: a folder whose node_modules has the published SDKs"]
async fn published_typescript_sdks_see_no_difference() {
    see_no_difference("node", "proxy_sdks.mjs").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_NODE: a folder whose node_modules has the published SDKs"]
async fn published_typescript_sdks_recall_every_fact_after_compactions() {
    recall::converse("node", "proxy_sdks.mjs").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published SDKs"]
async fn published_sdks_understand_compactions() {
    let stage = Stage::set("", &super::asked::ANSWER).await;
    stage.provider.play(answer);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/proxy_compactions.py");
    let output = tokio::process::Command::new(python()).arg(script).arg(stage.app.url("")).output().await.unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
