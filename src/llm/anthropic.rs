//! Anthropic Messages.

use serde_json::{Value, json};

use super::answer::{ModelAnswer, number, part_texts};
use super::body::RequestBody;
use super::budget::THINKING_MIN;
use super::error::UpstreamError;
use super::question::{Before, ModelRequest};
use super::usage::TokenUsage;
use crate::domain::model::message::Stop;
use crate::domain::summary::prefix::SessionPrefix;

/// The version of the API that this file speaks.
pub(super) const VERSION: &str = "2023-06-01";

/// Blocks of one request that may be marked for the cache.
const CACHE_MARKS: usize = 4;

pub(super) fn request(question: &ModelRequest) -> String {
    let body = RequestBody::new(question.model);
    let body = match question.before {
        Before::System(system) => {
            let messages = json!([{"role": "user", "content": question.user}]);
            body.field("system", &json!(system)).field("messages", &messages)
        }
        Before::Session(prefix) => session(body, prefix, question.user),
    };
    let budget = question.budget;
    let thinks = question.options.thinking_budget.is_some() && budget.reasoning >= THINKING_MIN;
    let thinking = json!({"type": "enabled", "budget_tokens": budget.reasoning});
    body.field("max_tokens", &json!(budget.total()))
        .optional("thinking", thinks.then_some(thinking))
        .optional("temperature", question.options.temperature.filter(|_| !thinks).map(|value| json!(value)))
        .finish()
}

/// The mark on the last block is what makes the provider look for the session's cached beginning before it. No
/// `tool_choice`: another one than the session's loses the cache of all messages.
fn session(body: RequestBody, prefix: &SessionPrefix, user: &str) -> RequestBody {
    let body = match &prefix.tools {
        Some(tools) => body.raw("tools", tools.get()),
        None => body,
    };
    let body = match &prefix.system {
        Some(system) => body.raw("system", system.get()),
        None => body,
    };
    let marks: usize = prefix.texts().iter().map(|text| text.matches("\"cache_control\"").count()).sum();
    let mut block = json!({"type": "text", "text": user});
    if marks < CACHE_MARKS {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    body.around("messages", None, &prefix.messages, &json!({"role": "user", "content": [block]}))
}

pub(super) fn parse(body: &Value) -> Result<ModelAnswer, UpstreamError> {
    let content = body["content"].as_array().ok_or(UpstreamError::Malformed("no content"))?;
    let stop = match body["stop_reason"].as_str() {
        Some("max_tokens") => Stop::Length,
        Some("tool_use") => Stop::ToolUse,
        Some("refusal") => Stop::Refusal,
        // The answer goes on in a further call that nobody makes.
        Some("pause_turn") => Stop::Error,
        Some(reason @ "model_context_window_exceeded") => {
            return Err(UpstreamError::ContextOverflow { message: reason.to_owned() });
        }
        _ => Stop::End,
    };
    let cached = number(body, "/usage/cache_read_input_tokens");
    let written = number(body, "/usage/cache_creation_input_tokens");
    Ok(ModelAnswer {
        text: part_texts(content, &["text"]),
        stop,
        usage: TokenUsage {
            // Anthropic counts what a cache served or took apart from the rest.
            input: number(body, "/usage/input_tokens").saturating_add(cached).saturating_add(written),
            output: number(body, "/usage/output_tokens"),
            cached,
            cache_write: written,
        },
        model: None,
    })
}
