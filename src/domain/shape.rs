//! The shape of an entry: what planning and pairing need to know of a message without reading it.
//!
//! It is computed once, when the entry arrives, and stored beside the raw item, so that a view over
//! 100,000 entries is planned from small columns and only what is sent out is ever parsed.

use serde::{Deserialize, Serialize};

use super::message::CallKind;

/// Calls and results of one entry, in order. The default is a message without tool traffic.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shape {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultRef>,
    /// The raw item can't be sent back as it is even in its own format (empty content, response-only
    /// fields, ids to be made up): rendering parses and repairs it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub needs_repair: bool,
    /// The message has something besides tool results (user text in the same message, say).
    #[serde(default, skip_serializing_if = "is_false")]
    pub mixed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    /// The id used for pairing: the source's, or `call_<seq>` where the source has none.
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "is_function")]
    pub kind: ShapeKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRef {
    pub call_id: String,
    /// Tokens of this result alone, as counted on arrival.
    pub tokens: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "is_function")]
    pub kind: ShapeKind,
}

/// [`CallKind`] as far as pairing cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeKind {
    /// Paired across messages: the result must follow the call's message.
    #[default]
    Function,
    /// Paired inside the provider's own turn; never repaired by us.
    Server,
}

impl From<CallKind> for ShapeKind {
    fn from(kind: CallKind) -> ShapeKind {
        match kind {
            CallKind::Function | CallKind::Custom => ShapeKind::Function,
            CallKind::Server => ShapeKind::Server,
        }
    }
}

impl Shape {
    pub fn is_trivial(&self) -> bool {
        *self == Shape::default()
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_function(kind: &ShapeKind) -> bool {
    *kind == ShapeKind::Function
}
