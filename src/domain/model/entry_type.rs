//! The kinds of entries.

use serde::{Deserialize, Serialize};

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

    /// The types that can put a message before the model.
    pub fn messages() -> impl Iterator<Item = EntryType> {
        EntryType::ALL.into_iter().filter(|kind| kind.holds_message())
    }

    /// Whether an entry of this type can put a message before the model by itself. A compaction does not:
    /// its summary enters through the view, at the head of the context.
    pub fn holds_message(self) -> bool {
        matches!(self, EntryType::Message | EntryType::BranchSummary | EntryType::CustomMessage | EntryType::Chapter)
    }
}
