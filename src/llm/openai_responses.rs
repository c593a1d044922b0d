//! OpenAI Responses.

use serde_json::{Value, json};

use super::answer::{ModelAnswer, number, part_texts};
use super::body::RequestBody;
use super::error::UpstreamError;
use super::question::{Before, ModelRequest};
use super::reasoning::is_reasoning_model;
use super::usage::TokenUsage;
use crate::domain::model::message::Stop;

pub(super) fn request(question: &ModelRequest) -> String {
    let body = RequestBody::new(question.model);
    let body = match question.before {
        Before::System(system) => body.field("instructions", &json!(system)).field("input", &json!(question.user)),
        Before::Session(prefix) => {
            let body = match &prefix.system {
                Some(system) => body.raw("instructions", system.get()),
                None => body,
            };
            let body = match &prefix.tools {
                Some(tools) => body.raw("tools", tools.get()).field("tool_choice", &json!("none")),
                None => body,
            };
            body.around("input", None, &prefix.messages, &json!({"role": "user", "content": question.user}))
        }
    };
    let options = question.options;
    let reasons = is_reasoning_model(question.model) || options.reasoning_effort.is_some();
    body.field("max_output_tokens", &json!(question.budget.total()))
        .optional("reasoning", options.reasoning_effort.as_ref().map(|effort| json!({"effort": effort})))
        .optional("temperature", options.temperature.filter(|_| !reasons).map(|value| json!(value)))
        // A transcript's summary is nobody else's to keep.
        .field("store", &json!(false))
        .field("stream", &json!(false))
        .finish()
}

pub(super) fn parse(body: &Value) -> Result<ModelAnswer, UpstreamError> {
    let output = body["output"].as_array().ok_or(UpstreamError::Malformed("no output"))?;
    let parts = |item: &Value| item["content"].as_array().cloned().unwrap_or_default();
    let messages = output.iter().filter(|item| item["type"] == "message");
    let content: Vec<Value> = messages.flat_map(parts).collect();
    Ok(ModelAnswer {
        text: part_texts(&content, &["output_text"]),
        stop: stop(body, output, &content),
        usage: TokenUsage {
            input: number(body, "/usage/input_tokens"),
            output: number(body, "/usage/output_tokens"),
            cached: number(body, "/usage/input_tokens_details/cached_tokens"),
            cache_write: number(body, "/usage/input_tokens_details/cache_write_tokens"),
        },
        model: None,
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
