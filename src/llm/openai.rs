//! Chat completions.

use serde_json::{Value, json};

use super::answer::{ModelAnswer, number, part_texts};
use super::body::RequestBody;
use super::config::MaxTokensField;
use super::error::UpstreamError;
use super::question::{Before, ModelRequest};
use super::reasoning::is_reasoning_model;
use super::usage::TokenUsage;
use crate::domain::model::message::Stop;

pub(super) fn request(question: &ModelRequest) -> String {
    let body = RequestBody::new(question.model);
    let user = json!({"role": "user", "content": question.user});
    let body = match question.before {
        Before::System(system) => body.field("messages", &json!([json!({"role": "system", "content": system}), user])),
        Before::Session(prefix) => {
            // A system prompt that is beside the messages elsewhere leads them here.
            let system = prefix.system.as_ref().map(|system| format!(r#"{{"role":"system","content":{system}}}"#));
            let body = match &prefix.tools {
                Some(tools) => body.raw("tools", tools.get()).field("tool_choice", &json!("none")),
                None => body,
            };
            body.around("messages", system, &prefix.messages, &user)
        }
    };
    let options = question.options;
    let reasons = is_reasoning_model(question.model) || options.reasoning_effort.is_some();
    let limit = match options.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensField::Auto if is_reasoning_model(question.model) => "max_completion_tokens",
        MaxTokensField::Auto => "max_tokens",
    };
    body.field(limit, &json!(question.budget.total()))
        .optional("reasoning_effort", options.reasoning_effort.as_ref().map(|effort| json!(effort)))
        .optional("temperature", options.temperature.filter(|_| !reasons).map(|value| json!(value)))
        .field("stream", &json!(false))
        .finish()
}

pub(super) fn parse(body: &Value) -> Result<ModelAnswer, UpstreamError> {
    let choice = body.pointer("/choices/0").ok_or(UpstreamError::Malformed("no choices"))?;
    let message = choice.get("message").ok_or(UpstreamError::Malformed("no message"))?;
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => part_texts(parts, &["text", "output_text"]),
        Value::Null => String::new(),
        _ => return Err(UpstreamError::Malformed("content is neither text nor parts")),
    };
    Ok(ModelAnswer {
        text,
        stop: stop(choice, message),
        usage: TokenUsage {
            input: number(body, "/usage/prompt_tokens"),
            output: number(body, "/usage/completion_tokens"),
            cached: number(body, "/usage/prompt_tokens_details/cached_tokens"),
            cache_write: number(body, "/usage/prompt_tokens_details/cache_write_tokens"),
        },
        model: None,
    })
}

fn stop(choice: &Value, message: &Value) -> Stop {
    if message["refusal"].as_str().is_some_and(|refusal| !refusal.is_empty()) {
        return Stop::Refusal;
    }
    // Some servers say `stop` even where they call a tool.
    if message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()) {
        return Stop::ToolUse;
    }
    match choice["finish_reason"].as_str() {
        Some("length") => Stop::Length,
        Some("tool_calls" | "function_call") => Stop::ToolUse,
        Some("content_filter") => Stop::Refusal,
        Some("error") => Stop::Error,
        _ => Stop::End,
    }
}
