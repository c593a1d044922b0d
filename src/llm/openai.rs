//! Chat completions.

use serde_json::{Value, json};

use super::TokenUsage;
use super::error::UpstreamError;
use super::wire::{Answer, Question, number, part_texts};
use crate::domain::message::Stop;

pub(super) fn request(question: &Question) -> Value {
    let limit = if is_reasoning_model(question.model) { "max_completion_tokens" } else { "max_tokens" };
    json!({
        "model": question.model,
        "messages": [
            {"role": "system", "content": question.system},
            {"role": "user", "content": question.user},
        ],
        limit: question.max_tokens,
        "stream": false,
    })
}

pub(super) fn parse(body: &Value) -> Result<Answer, UpstreamError> {
    let choice = body.pointer("/choices/0").ok_or(UpstreamError::Malformed("no choices"))?;
    let message = choice.get("message").ok_or(UpstreamError::Malformed("no message"))?;
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => part_texts(parts, &["text", "output_text"]),
        Value::Null => String::new(),
        _ => return Err(UpstreamError::Malformed("content is neither text nor parts")),
    };
    Ok(Answer {
        text,
        stop: stop(choice, message),
        usage: TokenUsage {
            input: number(body, "/usage/prompt_tokens"),
            output: number(body, "/usage/completion_tokens"),
            cached: number(body, "/usage/prompt_tokens_details/cached_tokens"),
        },
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
        _ => Stop::End,
    }
}

/// Whether a model refuses `max_tokens`: OpenAI's o-series and GPT-5 and later, with or without a vendor prefix.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let starts_with_digit = |rest: &str| rest.starts_with(|char: char| char.is_ascii_digit());
    if let Some(rest) = name.strip_prefix("gpt-") {
        let major: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return major.parse::<u32>().is_ok_and(|major| major >= 5);
    }
    name.strip_prefix('o').is_some_and(starts_with_digit)
}
