//! Hooks: what a tenant's own services are asked and told, how it is signed, where it may go, and what is made of their
//! answers.

pub mod address;
pub mod answer;
pub mod signature;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What a hook is called for.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Event {
    /// Gets the preparation; may cancel the compaction or give its summary.
    BeforeCompact,
    /// Gets the result of a compaction that succeeded.
    AfterCompact,
    /// Gets the move; may cancel it.
    BeforeNavigate,
    AfterNavigate,
    /// The agent is to be asked for chapters.
    ChapterRequested,
    /// Gets tool results; may give shorter ones.
    PruneToolResults,
    /// Gets what is to be summarised; may give the text that the model is shown.
    FormatMessages,
    /// Gets what is to be summarised and the summary before; may give the summary.
    BuildSummary,
}

/// What becomes of the work that a hook was asked about where it gives no good answer.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum OnError {
    /// It goes on as if there were no hook.
    #[default]
    Continue,
    /// It is not done.
    Cancel,
}

/// What a hook made of a compaction; stored with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookReport {
    pub hook_id: Uuid,
    /// In the hook's log.
    pub delivery_id: Uuid,
    pub event: Event,
    pub outcome: HookOutcome,
    /// The hook's reason for cancelling, or what was wrong with its answer.
    pub detail: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum HookOutcome {
    /// It had nothing to say.
    Passed,
    /// The hook gave something, and it was used.
    Replaced,
    /// It gave a summary where none is wanted.
    Unused,
    Cancelled,
    /// No answer or none that can be used; `on_error` says what came of that.
    Failed,
}
