//! Request and answer of an append.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::CompactionRef;
use crate::service::ingest::append::overflow::Overflow;

/// Append to a session. All items land, in order, or none.
#[derive(Debug, Clone)]
pub struct Append {
    pub format: Format,
    pub items: Vec<Box<RawValue>>,
    /// The entry to append under; the leaf when absent.
    pub parent_id: Option<Uuid>,
    /// Refuse unless this is the leaf; `Some(None)`: unless the session is empty.
    pub expected_leaf_id: Option<Option<Uuid>>,
    /// The provider's own usage object for the newest answer.
    pub usage: Option<Value>,
    /// The text of a failed model call.
    pub provider_error: Option<String>,
    /// The items end a transcript that was posted whole.
    pub is_whole: bool,
}

/// What an append did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Appended {
    pub entries: Vec<AppendedEntry>,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
    /// The compaction that this append started, or committed where it was prepared ahead, if any.
    pub compaction: Option<CompactionRef>,
    pub warnings: Vec<Warning>,
    /// What follows from `provider_error`; only where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
}

impl Appended {
    /// How large an answer this makes, about.
    pub fn bytes(&self) -> usize {
        bytes(&self.entries, &self.warnings)
    }
}

/// How much entries and warnings take in an answer, about.
pub fn bytes(entries: &[AppendedEntry], warnings: &[Warning]) -> usize {
    192 * entries.len() + warnings.iter().map(|warning| warning.detail.len() + 128).sum::<usize>()
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AppendedEntry {
    pub id: Uuid,
    pub source_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
}

/// Codes of `warnings`: what of an append was taken otherwise than it looks.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    ToSchema,
    strum::EnumMessage,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum WarningCode {
    /// A result without a call is stored, waits for its call, and is never sent out alone.
    OrphanToolResult,
    /// `usage` came without an answer that it could belong to.
    UsageIgnored,
    /// `usage` can't be that of this conversation: more than the window, less than half of what was counted, or in
    /// contradiction to the usage before it. Sizes rest on what is counted.
    UsageNotBelieved,
    /// A file's entry whose parent is not there, or itself, is taken to follow the line before it.
    UnknownParent,
    /// A pi message of an extension's role, which no model is shown, is stored and never sent out.
    NotShown,
}

/// Something about an accepted item that the client should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    pub code: WarningCode,
    /// Pointer to the item in the request.
    pub pointer: String,
    pub detail: String,
}
