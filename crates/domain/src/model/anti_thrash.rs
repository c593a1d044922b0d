//! State of the guard against compactions that save too little.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why the guard gave up: every compaction saved too little (`savings`), every one cost more than it brings (`cost`), or
/// some the one and some the other (`both`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrippedBy {
    Savings,
    Cost,
    Both,
}

/// The guard's state, stored per session and shown in snapshots and results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct AntiThrash {
    /// Compactions in a row that saved less than `min_savings_pct`, or that nobody asked for and that cost more than they
    /// bring.
    pub low_savings_streak: u32,
    pub max_consecutive_low_savings: u32,
    /// Of these, those that saved enough and were a loss of money.
    #[serde(default)]
    #[schema(required = true)]
    pub losses: u32,
    pub tripped: bool,
    /// Why it gave up; null unless it has.
    #[serde(default)]
    #[schema(required = true)]
    pub tripped_by: Option<TrippedBy>,
    /// The size at which it gave up.
    pub tripped_at_tokens: Option<u64>,
    /// The number of messages in the context when it gave up.
    #[serde(default)]
    pub tripped_at_messages: Option<u64>,
    /// The size from which it tries again; `null` unless it waits for growth.
    pub retry_at_tokens: Option<u64>,
    pub last_savings_pct: Option<f64>,
    pub min_savings_pct: f64,
    /// Why it was last re-armed: `growth`, `new_messages`, `manual`, `settings`.
    pub reset_reason: Option<String>,
}
