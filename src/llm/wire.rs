//! The wire formats: what is posted where, and how the answer is read.

use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::answer::ModelAnswer;
use super::config::UpstreamKind;
use super::error::UpstreamError;
use super::question::ModelRequest;
use super::{anthropic, openai, openai_responses};

/// The formats that go over HTTP.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire {
    ChatCompletions,
    Responses,
    Messages,
}

impl Wire {
    /// `None` for the builtin.
    pub(super) fn of(kind: UpstreamKind) -> Option<Wire> {
        match kind {
            UpstreamKind::Builtin => None,
            UpstreamKind::Openai => Some(Wire::ChatCompletions),
            UpstreamKind::OpenaiResponses => Some(Wire::Responses),
            UpstreamKind::Anthropic => Some(Wire::Messages),
        }
    }

    /// The endpoint's path after the version segment.
    pub(super) fn path(self) -> &'static str {
        match self {
            Wire::ChatCompletions => "chat/completions",
            Wire::Responses => "responses",
            Wire::Messages => "messages",
        }
    }

    pub(super) fn request(self, question: &ModelRequest) -> String {
        match self {
            Wire::ChatCompletions => openai::request(question),
            Wire::Responses => openai_responses::request(question),
            Wire::Messages => anthropic::request(question),
        }
    }

    pub(super) fn parse(self, body: &Value) -> Result<ModelAnswer, UpstreamError> {
        match self {
            Wire::ChatCompletions => openai::parse(body),
            Wire::Responses => openai_responses::parse(body),
            Wire::Messages => anthropic::parse(body),
        }
    }

    /// The headers that the format needs; `None` where the key cannot be a header's value.
    pub(super) fn headers(self, key: Option<&SecretString>) -> Option<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Wire::Messages = self {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        if let Some(key) = key {
            let (name, value) = match self {
                Wire::Messages => ("x-api-key", key.expose_secret().to_owned()),
                _ => ("authorization", format!("Bearer {}", key.expose_secret())),
            };
            headers.insert(name, secret_value(&value)?);
        }
        Some(headers)
    }
}

/// A header value that `Debug` does not show.
pub(super) fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
