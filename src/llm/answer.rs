//! Answer of a model, and how its parts are read.

use serde_json::Value;

use super::usage::TokenUsage;
use crate::domain::model::message::Stop;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelAnswer {
    pub text: String,
    pub stop: Stop,
    pub usage: TokenUsage,
    /// As the upstream names it; the wire formats leave that to the one who called them.
    pub model: Option<String>,
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
