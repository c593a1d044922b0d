//! Entries: the nodes of a session's tree.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::format::Format;
use super::message::Role;
use super::shape::Shape;

/// What an entry is. Only some are visible to the model; see [`EntryType::holds_message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    Message,
    Compaction,
    BranchSummary,
    Chapter,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    ModelChange,
    ThinkingLevelChange,
}

/// The small columns of an entry: all that planning needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryHead {
    pub id: Uuid,
    /// Position in its session, given under the session's lock: 0, 1, 2, …
    pub seq: i64,
    /// Distance from the root of its path: 0 for the first entry. A path holds each depth once.
    pub depth: i64,
    pub kind: EntryType,
    pub role: Option<Role>,
    /// Tokens that this entry adds to a context (0 where it adds none), by the session's estimator.
    pub tokens: u32,
    /// Sum of `tokens` from the root to this entry, itself included.
    pub path_tokens: i64,
    /// The context size that the provider reported with this answer, where it is trustworthy.
    pub usage: Option<u32>,
    pub shape: Shape,
}

/// A whole entry: the head and the item as it came.
#[derive(Debug, Clone)]
pub struct Entry {
    pub head: EntryHead,
    pub parent_id: Option<Uuid>,
    pub source_id: Option<String>,
    pub source_format: Format,
    /// The raw JSON text of the item, byte for byte.
    pub item: String,
    pub created_at: DateTime<Utc>,
}

impl EntryType {
    const ALL: [EntryType; 10] = [
        EntryType::Message,
        EntryType::Compaction,
        EntryType::BranchSummary,
        EntryType::Chapter,
        EntryType::Custom,
        EntryType::CustomMessage,
        EntryType::Label,
        EntryType::SessionInfo,
        EntryType::ModelChange,
        EntryType::ThinkingLevelChange,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EntryType::Message => "message",
            EntryType::Compaction => "compaction",
            EntryType::BranchSummary => "branch_summary",
            EntryType::Chapter => "chapter",
            EntryType::Custom => "custom",
            EntryType::CustomMessage => "custom_message",
            EntryType::Label => "label",
            EntryType::SessionInfo => "session_info",
            EntryType::ModelChange => "model_change",
            EntryType::ThinkingLevelChange => "thinking_level_change",
        }
    }

    pub fn parse(name: &str) -> Option<EntryType> {
        EntryType::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether an entry of this type can put a message before the model by itself. A compaction does not:
    /// its summary enters through the view, at the head of the context.
    pub fn holds_message(self) -> bool {
        matches!(self, EntryType::Message | EntryType::BranchSummary | EntryType::CustomMessage | EntryType::Chapter)
    }
}
