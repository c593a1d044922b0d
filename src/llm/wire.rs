//! The wire formats: what is posted where, and how the answer is read.

use reqwest::header::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use serde_json::value::RawValue;

use super::TokenUsage;
use super::budget::OutputBudget;
use super::config::{ModelOptions, UpstreamKind};
use super::error::UpstreamError;
use super::{anthropic, openai, openai_responses};
use crate::domain::message::Stop;
use crate::domain::summary::prefix::SessionPrefix;

/// One question to a model.
pub(super) struct Question<'a> {
    pub model: &'a str,
    pub options: &'a ModelOptions,
    /// What comes before the user's words.
    pub before: Before<'a>,
    pub user: &'a str,
    pub budget: OutputBudget,
}

/// What a model reads first.
#[derive(Clone, Copy)]
pub(super) enum Before<'a> {
    System(&'a str),
    /// A session's context, of the format that is written.
    Session(&'a SessionPrefix),
}

impl Question<'_> {
    /// Texts of the whole prompt.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts = match self.before {
            Before::System(system) => vec![system],
            Before::Session(prefix) => prefix.texts(),
        };
        texts.push(self.user);
        texts
    }
}

/// A request's body, field by field. Raw JSON goes in to the byte: a provider's cache knows bytes, not values.
pub(super) struct Body(String);

impl Body {
    pub(super) fn new(model: &str) -> Body {
        Body("{".to_owned()).field("model", &Value::from(model))
    }

    pub(super) fn field(self, name: &str, value: &Value) -> Body {
        self.raw(name, &value.to_string())
    }

    pub(super) fn optional(self, name: &str, value: Option<Value>) -> Body {
        match value {
            Some(value) => self.field(name, &value),
            None => self,
        }
    }

    pub(super) fn raw(mut self, name: &str, json: &str) -> Body {
        let comma = if self.0.len() > 1 { "," } else { "" };
        self.0.push_str(&format!("{comma}\"{name}\":"));
        self.0.push_str(json);
        self
    }

    /// An array of `first`, the raw items and `last`.
    pub(super) fn around(self, name: &str, first: Option<String>, items: &[Box<RawValue>], last: &Value) -> Body {
        let last = last.to_string();
        let first = first.as_deref().into_iter();
        let all: Vec<&str> = first.chain(items.iter().map(|item| item.get())).chain([last.as_str()]).collect();
        self.raw(name, &format!("[{}]", all.join(",")))
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub text: String,
    pub stop: Stop,
    pub usage: TokenUsage,
}

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

    pub(super) fn request(self, question: &Question) -> String {
        match self {
            Wire::ChatCompletions => openai::request(question),
            Wire::Responses => openai_responses::request(question),
            Wire::Messages => anthropic::request(question),
        }
    }

    pub(super) fn parse(self, body: &Value) -> Result<Answer, UpstreamError> {
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

/// The number at `pointer`, 0 where there is none. Some servers count in floats.
pub(super) fn number(body: &Value, pointer: &str) -> u64 {
    let float = |value: &Value| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64);
    body.pointer(pointer).and_then(|value| value.as_u64().or_else(|| float(value))).unwrap_or(0)
}

/// The texts of the parts of one of the types `types`, joined without a separator, as the model wrote them.
pub(super) fn part_texts(parts: &[Value], types: &[&str]) -> String {
    let is_wanted = |part: &&Value| part["type"].as_str().is_some_and(|kind| types.contains(&kind));
    parts.iter().filter(is_wanted).filter_map(|part| part["text"].as_str()).collect()
}
