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
    /// Of a request: where the whole of it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Uuid>,
}

/// Sort of a [`TrackedIdentifier`]. All but the plain ones are words of the user's.
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
    /// One of the newest requests.
    Request,
}

impl IdentifierKind {
    fn is_plain(&self) -> bool {
        *self == IdentifierKind::Identifier
    }
}
