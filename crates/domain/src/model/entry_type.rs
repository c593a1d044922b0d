//! The kinds of entries.

use serde::{Deserialize, Serialize};
use strum::VariantArray as _;

/// Kind of an entry. Only some kinds are visible to the model; see [`EntryType::holds_message`].
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
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
    /// The types that can put a message before the model.
    pub fn messages() -> impl Iterator<Item = EntryType> {
        EntryType::VARIANTS.iter().copied().filter(|kind| kind.holds_message())
    }

    /// Returns true for an entry that tells what others say.
    pub fn is_summary(self) -> bool {
        matches!(self, EntryType::Compaction | EntryType::BranchSummary | EntryType::Chapter)
    }

    /// Returns true if an entry of this type can put a message before the model by itself. A compaction does not:
    /// its summary enters through the view, at the head of the context.
    pub fn holds_message(self) -> bool {
        matches!(self, EntryType::Message | EntryType::BranchSummary | EntryType::CustomMessage | EntryType::Chapter)
    }
}
