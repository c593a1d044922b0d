//! An agent that posts the context it was given, with its new messages behind it, through several compactions.

use serde_json::{Value, json};

use super::{figures, put};
use crate::app::App;
use crate::drill_support::{all, compact, context, kept_items, messages, turns};

/// The messages of one turn in a format.
pub fn turn(format: &str, n: usize) -> Vec<Value> {
    let chat = turns(n..n + 1, 60);
    let (asked, output, answer) = (&chat[0]["content"], &chat[2]["content"], &chat[3]["content"]);
    let id = format!("call_{n}");
    let path = json!({"path": format!("src/module_{n}.rs")});
    match format {
        "anthropic" => vec![
            json!({"role": "user", "content": asked}),
            json!({"role": "assistant", "content": [{"type": "text", "text": format!("Let me look at {n}.")},
                {"type": "tool_use", "id": id, "name": "read", "input": path}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": answer}]}),
        ],
        "openai_responses" => vec![
            json!({"type": "message", "role": "user", "content": asked}),
            json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": []}),
            json!({"type": "function_call", "call_id": id, "name": "read", "arguments": path.to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": output}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]}),
        ],
        "native" => vec![
            json!({"role": "user", "content": asked}),
            json!({"role": "assistant", "content": [{"type": "tool_call", "id": id, "name": "read", "arguments": path}]}),
            json!({"role": "tool", "content": [{"type": "tool_result", "tool_call_id": id, "content": output}]}),
            json!({"role": "assistant", "content": answer}),
        ],
        "pi" => {
            let entry = |k: usize, message: Value| {
                json!({"type": "message", "id": format!("{n:04x}{k:04x}"),
                "timestamp": "2026-01-01T00:00:00Z", "message": message})
            };
            vec![
                entry(0, json!({"role": "user", "content": asked, "timestamp": 1})),
                entry(
                    1,
                    json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "read", "arguments": path}],
                    "stopReason": "toolUse", "timestamp": 1}),
                ),
                entry(
                    2,
                    json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false,
                    "content": [{"type": "text", "text": output}], "timestamp": 1}),
                ),
                entry(
                    3,
                    json!({"role": "assistant", "content": [{"type": "text", "text": answer}], "stopReason": "stop", "timestamp": 1}),
                ),
            ]
        }
        _ => chat,
    }
}

pub fn settings() -> Value {
    json!({"enabled": false, "context_window": 20_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500,
        "keep_recent_results": 1})
}

async fn works_in(format: &str, foreign: bool) {
    let app = App::shared();
    let session = app.session(json!({"settings": settings()})).await;
    let mut history: Vec<Value> = Vec::new();
    if foreign {
        history = turns(900..904, 60);
        app.append(&session, "openai_chat", json!(history)).await;
    }
    let mut held: Vec<Value> = Vec::new();
    let (mut compactions, mut stale) = (0, Vec::new());
    for n in 0..14 {
        held = messages(&context(app, &session, format).await).clone();
        let new = turn(format, n);
        // In the middle of the turn, and at its end, as agents do.
        for upto in [2, new.len()] {
            let mut posted = held.clone();
            posted.extend(new[..upto].iter().cloned());
            let answer = put(app, &session, format, &posted).await;
            assert_eq!(answer["forked"], false, "{format} turn {n}, {upto}: {answer}");
        }
        history.extend(new.iter().cloned());
        assert_eq!(kept_items(app, &session).await, history, "{format} turn {n}");
        let mut whole = held.clone();
        whole.extend(new);
        assert_eq!(figures(&put(app, &session, format, &whole).await).0, 0, "{format} turn {n}: posted again");
        if n % 3 == 2 {
            let strategy = ["llm_summarize", "mask", "auto"][(n / 3) % 3];
            let done = compact(app, &session, json!({"strategy": strategy, "force": true})).await;
            compactions += usize::from(done["status"] == "succeeded");
            // The agent does not know yet: it goes on with what it has.
            assert_eq!(
                figures(&put(app, &session, format, &whole).await),
                (0, whole.len() as u64, false),
                "{format} {n}"
            );
            stale = whole;
        }
    }
    assert!(compactions >= 3, "{format}: {compactions}");
    assert!(!stale.is_empty() && !held.is_empty());
    if !foreign {
        assert_eq!(
            figures(&put(app, &session, format, &history).await),
            (0, history.len() as u64, false),
            "{format}: raw"
        );
    }
    assert_eq!(kept_items(app, &session).await, history);
    let entries = all(app, &format!("{session}/entries?all=true")).await;
    assert!(entries.iter().filter(|entry| entry["type"] == "message").all(|entry| {
        let text = entry["item"].to_string();
        !text.contains("<context-summary>") && !text.contains("tool_result elided")
    }));
}

#[tokio::test]
async fn an_agent_on_chat_completions() {
    works_in("openai_chat", false).await;
}

#[tokio::test]
async fn an_agent_on_messages() {
    works_in("anthropic", false).await;
    works_in("anthropic", true).await;
}

#[tokio::test]
async fn an_agent_on_responses() {
    works_in("openai_responses", false).await;
    works_in("openai_responses", true).await;
}

#[tokio::test]
async fn an_agent_on_native_messages() {
    works_in("native", false).await;
    works_in("native", true).await;
}

#[tokio::test]
async fn an_agent_on_pi() {
    works_in("pi", false).await;
}

#[tokio::test]
async fn an_edit_behind_the_summary_forks_and_one_before_it_is_refused() {
    let app = App::shared();
    let session = app.session(json!({"settings": settings()})).await;
    let history: Vec<Value> = (0..6).flat_map(|n| turn("openai_chat", n)).collect();
    put(app, &session, "openai_chat", &history).await;
    let done = compact(app, &session, json!({"strategy": "llm_summarize"})).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    let mut held = messages(&context(app, &session, "openai_chat").await).clone();
    let last = held.len() - 1;
    held[last] = json!({"role": "assistant", "content": "No, that failed."});
    let answer = put(app, &session, "openai_chat", &held).await;
    assert_eq!(figures(&answer), (1, last as u64, true));
    let kept = kept_items(app, &session).await;
    assert_eq!((kept.len(), &kept[..kept.len() - 1]), (history.len(), &history[..history.len() - 1]));
    held[0] = json!({"role": "user", "content": "another task"});
    let refused = app.put(&format!("{session}/transcript"), json!({"format": "openai_chat", "items": held})).await;
    refused.assert_problem(422, "validation_failed");
    assert_eq!(refused.body["errors"][0]["pointer"], "/items/0");
}
