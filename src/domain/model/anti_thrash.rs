//! State of the guard against compactions that save too little.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The guard's state, stored per session and shown in snapshots and results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default, ToSchema)]
pub struct AntiThrash {
    /// Compactions in a row that saved less than `min_savings_pct`, or that nobody asked for and that cost more than they
    /// bring.
    pub low_savings_streak: u32,
    pub max_consecutive_low_savings: u32,
    pub tripped: bool,
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
