//! Rebuilding: the context that a provider is sent.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::Result;
use super::state::{Service, Tenant};
use crate::domain::compaction::FillState;
use crate::domain::format::Format;

/// Which context.
#[derive(Debug, Clone)]
pub struct Rebuild {
    pub format: Format,
    /// Another leaf than the session's.
    pub leaf_id: Option<Uuid>,
    /// The context must fit in this many tokens.
    pub max_tokens: Option<u64>,
}

/// A context, ready to be sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Context {
    pub session_id: Uuid,
    pub leaf_id: Option<Uuid>,
    pub format: Format,
    /// The system prompt, where the format carries it beside the messages; as it was given.
    #[schema(value_type = Option<serde_json::Value>)]
    pub system: Option<Box<RawValue>>,
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Box<RawValue>>,
    pub tokens: u64,
    pub state: FillState,
    /// The entries shown, in order.
    pub entry_ids: Vec<Uuid>,
    pub summary_entry_id: Option<Uuid>,
    pub elided: Vec<Elided>,
    /// Leading messages unchanged since the previous rebuild at this format.
    pub stable_prefix_messages: usize,
    pub conversion_notes: Vec<ConversionNote>,
}

/// A tool result that is shown shorter than it is; `tool-calls/{tool_call_id}` gives the whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Elided {
    pub tool_call_id: String,
    pub entry_id: Uuid,
    /// Tokens of the original.
    pub tokens: u32,
}

/// What the context says otherwise than the stored items do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConversionNote {
    pub code: &'static str,
    pub entry_id: Option<Uuid>,
    pub detail: String,
}

impl Service {
    pub async fn rebuild(&self, tenant: Tenant, session_id: Uuid, rebuild: Rebuild) -> Result<Context> {
        todo!()
    }
}
