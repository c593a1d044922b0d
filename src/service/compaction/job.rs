//! A compaction job: what is asked for, its state, and what clients see of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::compaction::result::{CompactionResult, CompactionSpending};
use crate::domain::model::strategy::Strategy;
use crate::domain::tokens::accounting::Snapshot;

/// A job that an append started or, where it was prepared ahead, carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompactionRef {
    pub id: Uuid,
    pub status: Status,
    pub trigger: Trigger,
}

#[derive(
    Debug,
    Clone,
    Copy,
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
pub enum Status {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
    Skipped,
}

#[derive(
    Debug,
    Clone,
    Copy,
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
pub enum Trigger {
    Manual,
    Auto,
    Ahead,
    Chapter,
    Overflow,
}

/// A compaction job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Compaction {
    pub id: Uuid,
    pub session_id: Uuid,
    pub status: Status,
    pub trigger: Trigger,
    pub strategy: Strategy,
    pub attempts: i32,
    /// What went wrong last, for people; null otherwise.
    pub error: Option<String>,
    pub result: Option<CompactionResult>,
    /// What its calls of models came to, whatever became of it.
    pub spent: CompactionSpending,
    pub created_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub reverted_at: Option<DateTime<Utc>>,
    /// Its summary is written and waits for the context to turn red; the status is `running` meanwhile.
    pub prepared: bool,
    /// How full the window was: when it was started, or once it is committed, right before.
    pub snapshot_before: Option<Snapshot>,
    /// How full the window was right after it was committed.
    pub snapshot_after: Option<Snapshot>,
}

/// Request of a compact call; stored with the job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactRequest {
    pub strategy: Option<Strategy>,
    pub focus_topic: Option<String>,
    pub instructions: Option<String>,
    /// Passes the anti-thrash guard.
    pub force: bool,
    /// Wait until no call is open and an answer is the newest message.
    pub at_turn_end: bool,
    /// Bind to a prepared plan: 409 unless this is the leaf.
    pub expected_leaf_id: Option<Uuid>,
    /// The caller's own summary: no model is asked.
    pub summary: Option<String>,
    pub first_kept_entry_id: Option<Uuid>,
    pub details: Option<Value>,
    /// Settings for this compaction only.
    pub settings: Map<String, Value>,
    /// The model's version of a record that code told again: all that is hidden, once more from the originals.
    pub retells: bool,
}

impl CompactRequest {
    /// Asks for nothing that a compaction started by itself would not do.
    pub(super) fn is_plain(&self, strategy: Strategy) -> bool {
        self.strategy.is_none_or(|asked| asked == strategy)
            && self.focus_topic.is_none()
            && self.instructions.is_none()
            && self.summary.is_none()
            && self.first_kept_entry_id.is_none()
            && self.settings.is_empty()
    }

    /// The request's settings: its own fields win over its `settings`.
    pub(crate) fn patch(&self) -> Map<String, Value> {
        let mut patch = self.settings.clone();
        for (name, value) in [("focus_topic", &self.focus_topic), ("instructions", &self.instructions)] {
            if let Some(text) = value {
                patch.insert(name.to_owned(), Value::String(text.clone()));
            }
        }
        patch
    }
}
