//! Reading what is stored: entries, the tree, the tool-call ledger, files; labels and navigation.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::Result;
use super::state::{Page, PageRequest, Service, Tenant};
use crate::domain::accounting::Snapshot;
use crate::domain::compaction::FileLists;
use crate::domain::format::Format;

/// One entry, whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EntryView {
    pub id: Uuid,
    pub source_id: Option<String>,
    pub parent_id: Option<Uuid>,
    pub seq: i64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub role: Option<&'static str>,
    pub tokens: u32,
    pub label: Option<String>,
    pub created_at: DateTime<Utc>,
    pub source_format: Format,
    /// The item as it came.
    #[schema(value_type = Object)]
    pub item: Box<RawValue>,
    /// The item as the service understands it (native format); null where it says nothing.
    #[schema(value_type = Option<Object>)]
    pub message: Option<Value>,
}

/// Which entries: the path of a leaf (the session's when `None`), or every branch by `seq`.
#[derive(Debug, Clone, Default)]
pub struct EntryQuery {
    pub leaf_id: Option<Uuid>,
    pub all: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tree {
    pub leaf_id: Option<Uuid>,
    pub nodes: Vec<TreeNode>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TreeNode {
    pub id: Uuid,
    pub parent_id: Option<Uuid>,
    #[serde(rename = "type")]
    pub kind: String,
    pub role: Option<String>,
    pub tokens: u32,
    pub label: Option<String>,
}

/// One call of the ledger. `status`: `ok`, `error`, `open` (no result yet), `server` (run by the provider).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallRow {
    pub tool_call_id: String,
    pub name: String,
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub status: &'static str,
    pub entry_id: Uuid,
    pub result_entry_id: Option<Uuid>,
    /// The result is shown elided in the context at this leaf.
    pub elided: bool,
}

/// A call with its whole original result.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolCallDetail {
    #[serde(flatten)]
    pub call: ToolCallRow,
    /// The result's content blocks in the native format; null while the call is open.
    #[schema(value_type = Option<Vec<Object>>)]
    pub result: Option<Value>,
    /// The text of the result; null while the call is open.
    pub result_text: Option<String>,
}

/// Where to move the leaf.
#[derive(Debug, Clone)]
pub struct Navigate {
    /// `None`: before the first entry.
    pub target_id: Option<Uuid>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Navigated {
    pub leaf_id: Option<Uuid>,
    /// The text of the user message that was navigated onto, to be edited and sent again.
    pub editor_text: Option<String>,
    pub summary_entry_id: Option<Uuid>,
    pub snapshot: Snapshot,
}

impl Service {
    pub async fn entries(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        query: EntryQuery,
        page: PageRequest,
    ) -> Result<Page<EntryView>> {
        todo!()
    }
    pub async fn entry(&self, tenant: Tenant, session_id: Uuid, entry_id: Uuid) -> Result<EntryView> {
        todo!()
    }
    pub async fn tree(&self, tenant: Tenant, session_id: Uuid) -> Result<Tree> {
        todo!()
    }
    pub async fn set_label(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        entry_id: Uuid,
        label: Option<String>,
    ) -> Result<EntryView> {
        todo!()
    }
    pub async fn navigate(&self, tenant: Tenant, session_id: Uuid, navigate: Navigate) -> Result<Navigated> {
        todo!()
    }
    pub async fn tool_calls(&self, tenant: Tenant, session_id: Uuid, page: PageRequest) -> Result<Page<ToolCallRow>> {
        todo!()
    }
    /// The newest call of that id on the leaf's path.
    pub async fn tool_call(&self, tenant: Tenant, session_id: Uuid, tool_call_id: &str) -> Result<ToolCallDetail> {
        todo!()
    }
    pub async fn files(&self, tenant: Tenant, session_id: Uuid) -> Result<FileLists> {
        todo!()
    }
}
