//! Preparing: what a compaction would do, without doing it.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::Result;
use super::state::{Service, Tenant};
use crate::domain::compaction::Reason;
use crate::domain::settings::Settings;

#[derive(Debug, Clone, Default)]
pub struct PrepareRequest {
    pub leaf_id: Option<Uuid>,
    /// Settings for this call only.
    pub settings: Map<String, Value>,
    pub include_messages: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Prepared {
    pub possible: bool,
    pub reason: Option<Reason>,
    pub preparation: Option<Preparation>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Preparation {
    pub leaf_id: Option<Uuid>,
    pub first_kept_entry_id: Option<Uuid>,
    pub messages_to_summarize: Vec<PlannedMessage>,
    pub turn_prefix_messages: Vec<PlannedMessage>,
    pub anchor_entry_ids: Vec<Uuid>,
    pub is_split_turn: bool,
    pub tokens_before: u64,
    pub tokens_to_summarize: u64,
    pub tokens_kept: u64,
    pub previous_summary: Option<String>,
    pub file_ops: FileOpsView,
    pub mask: MaskForecast,
    pub estimate: Estimate,
    pub settings: Settings,
}

/// An entry id, or with `include_messages` the message too.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum PlannedMessage {
    Id(Uuid),
    Message {
        entry_id: Uuid,
        #[schema(value_type = Object)]
        message: Value,
    },
}

/// Sorted paths by what was done to them.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct FileOpsView {
    pub read: Vec<String>,
    pub written: Vec<String>,
    pub edited: Vec<String>,
}

/// What masking alone would free, and whether that is enough to leave red.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct MaskForecast {
    pub tool_results: u32,
    pub tokens_freed: u64,
    pub sufficient: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Estimate {
    pub tokens_after: u64,
    pub savings_pct: f64,
    pub summarizer_input_tokens: u64,
    /// Null where the upstream has no price.
    pub cost_usd: Option<f64>,
}

impl Service {
    pub async fn prepare(&self, tenant: Tenant, session_id: Uuid, request: PrepareRequest) -> Result<Prepared> {
        todo!()
    }
}
