//! Identifiers that compactions carry on.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Something that a summary should keep literally, and how much it was used: old uses count less with every
/// compaction, so that what is used least and longest ago goes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrackedIdentifier {
    pub text: String,
    pub weight: u32,
    #[serde(skip_serializing_if = "IdentifierKind::is_plain")]
    pub kind: IdentifierKind,
    /// Of a message: where the whole of it stands. Of messages left out: where the first of them does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Uuid>,
    /// Of a short message: the agent's question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Of a number, a date, a ticket or a setting: the agent's words that it stood in last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl TrackedIdentifier {
    /// Returns what is shown of it: a number means nothing without its words.
    pub fn shown(&self) -> &str {
        self.about.as_deref().unwrap_or(&self.text)
    }
}

/// Sort of a [`TrackedIdentifier`]. All but the plain ones are words of the user's, or stand for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentifierKind {
    /// A path, number, name or the like.
    #[default]
    Identifier,
    /// How things are to be from then on.
    Rule,
    /// A rule that a later one took the place of.
    Replaced,
    /// One of the newest requests, and what was said between them.
    Request,
    /// What the user said before those.
    Message,
    /// Messages of the user's that are carried no more; the weight is their number.
    LeftOut,
    /// The agent's question at the end of a span, for an answer that comes after it.
    Question,
}

impl IdentifierKind {
    fn is_plain(&self) -> bool {
        *self == IdentifierKind::Identifier
    }

    /// Returns true for what is a message of the user's, or stands for some.
    pub fn is_said(self) -> bool {
        matches!(self, IdentifierKind::Request | IdentifierKind::Message | IdentifierKind::LeftOut)
    }
}
