//! OpenAI Responses.

use serde_json::{Value, json};

use super::TokenUsage;
use super::error::UpstreamError;
use super::wire::{Answer, Question, number, part_texts};
use crate::domain::message::Stop;

pub(super) fn request(question: &Question) -> Value {
    json!({
        "model": question.model,
        "instructions": question.system,
        "input": question.user,
        "max_output_tokens": question.max_tokens,
        // A transcript's summary is nobody else's to keep.
        "store": false,
        "stream": false,
    })
}

pub(super) fn parse(body: &Value) -> Result<Answer, UpstreamError> {
    let output = body["output"].as_array().ok_or(UpstreamError::Malformed("no output"))?;
    let parts = |item: &Value| item["content"].as_array().cloned().unwrap_or_default();
    let messages = output.iter().filter(|item| item["type"] == "message");
    let content: Vec<Value> = messages.flat_map(parts).collect();
    Ok(Answer {
        text: part_texts(&content, &["output_text"]),
        stop: stop(body, output, &content),
        usage: TokenUsage {
            input: number(body, "/usage/input_tokens"),
            output: number(body, "/usage/output_tokens"),
            cached: number(body, "/usage/input_tokens_details/cached_tokens"),
        },
    })
}

fn stop(body: &Value, output: &[Value], content: &[Value]) -> Stop {
    let is_call = |item: &Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"));
    if content.iter().any(|part| part["type"] == "refusal") {
        return Stop::Refusal;
    }
    match (body["status"].as_str(), body.pointer("/incomplete_details/reason").and_then(Value::as_str)) {
        (Some("incomplete"), Some("content_filter")) => Stop::Refusal,
        (Some("incomplete"), _) => Stop::Length,
        (Some("failed" | "cancelled"), _) => Stop::Error,
        _ if output.iter().any(is_call) => Stop::ToolUse,
        _ => Stop::End,
    }
}
