//! The published SDKs, directly and through the proxy (`tests/clients/proxy_sdks.py`).
//!
//! Ignored in the plain run: it needs a Python with the packages, named by `CONTEXTD_CLIENTS_PYTHON`.

use serde_json::{Value, json};

use super::Stage;
use super::provider::{Reply, Seen};

fn events(all: &[Value]) -> Reply {
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

fn response(status: &str, output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": status, "output": output,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}})
}

fn responses() -> Vec<Value> {
    let part = json!({"type": "output_text", "text": "Hé", "annotations": []});
    let item = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]});
    let event = |name: &str, number: u64, rest: Value| {
        let mut event = json!({"type": name, "sequence_number": number});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event
    };
    vec![
        event("response.created", 0, json!({"response": response("in_progress", json!([]))})),
        event(
            "response.output_text.delta",
            1,
            json!({"item_id": "msg_1", "output_index": 0, "content_index": 0,
            "delta": "Hé", "logprobs": []}),
        ),
        event("response.completed", 2, json!({"response": response("completed", json!([item]))})),
    ]
}

fn message(content: Value) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 9, "output_tokens": 1}})
}

fn messages() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": message(json!([]))}),
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
    match (seen.uri.split('?').next().unwrap(), streams) {
        ("/v1/chat/completions", true) => events(&chat()),
        ("/v1/responses", true) => events(&responses()),
        ("/v1/messages", true) => events(&messages()),
        ("/v1/chat/completions", false) => Reply::good(seen, 9, 3),
        ("/v1/responses", false) => Reply::json(200, &response("completed", json!([]))),
        ("/v1/messages", false) => Reply::json(200, &message(text)),
        ("/v1/messages/count_tokens", _) => Reply::json(200, &json!({"input_tokens": 9})),
        ("/v1/models", _) => Reply::json(
            200,
            &json!({"object": "list", "data": [
            {"id": "gpt-5", "object": "model", "created": 1, "owned_by": "openai"}]}),
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published SDKs"]
async fn published_sdks_see_no_difference() {
    let python = std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON");
    let stage = Stage::plain().await;
    stage.provider.play(answer);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/proxy_sdks.py");
    let provider = stage.provider.base_url().replace("/v1", "");
    let mut command = tokio::process::Command::new(python);
    let output = command.arg(script).arg(provider).arg(stage.app.url("")).output().await.unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CONTEXTD_CLIENTS_PYTHON: a Python with the published SDKs"]
async fn published_sdks_understand_compactions() {
    let python = std::env::var("CONTEXTD_CLIENTS_PYTHON").expect("CONTEXTD_CLIENTS_PYTHON");
    let stage = Stage::set("", &super::asked::ANSWER).await;
    stage.provider.play(answer);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/proxy_compactions.py");
    let output = tokio::process::Command::new(python).arg(script).arg(stage.app.url("")).output().await.unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
