//! Anthropic Messages.

use serde_json::{Value, json};

use super::TokenUsage;
use super::error::UpstreamError;
use super::wire::{Answer, Question, number, part_texts};
use crate::domain::message::Stop;

/// The version of the API that this file speaks.
pub(super) const VERSION: &str = "2023-06-01";

pub(super) fn request(question: &Question) -> Value {
    json!({
        "model": question.model,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
        "max_tokens": question.max_tokens,
    })
}

pub(super) fn parse(body: &Value) -> Result<Answer, UpstreamError> {
    let content = body["content"].as_array().ok_or(UpstreamError::Malformed("no content"))?;
    let stop = match body["stop_reason"].as_str() {
        Some("max_tokens") => Stop::Length,
        Some("tool_use") => Stop::ToolUse,
        Some("refusal") => Stop::Refusal,
        Some(reason @ "model_context_window_exceeded") => {
            return Err(UpstreamError::ContextOverflow { message: reason.to_owned() });
        }
        _ => Stop::End,
    };
    let cached = number(body, "/usage/cache_read_input_tokens");
    let written = number(body, "/usage/cache_creation_input_tokens");
    Ok(Answer {
        text: part_texts(content, &["text"]),
        stop,
        usage: TokenUsage {
            // Anthropic counts what a cache served or took apart from the rest.
            input: number(body, "/usage/input_tokens").saturating_add(cached).saturating_add(written),
            output: number(body, "/usage/output_tokens"),
            cached,
        },
    })
}
