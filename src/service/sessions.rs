//! Sessions: create, read, change, list, erase, fork.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::error::Result;
use super::state::{Page, PageRequest, Service, Tenant};
use crate::domain::accounting::Snapshot;
use crate::domain::settings::Settings;

/// A session as the API shows it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Session {
    pub id: Uuid,
    pub external_id: Option<String>,
    pub title: Option<String>,
    #[schema(value_type = Object)]
    pub metadata: Box<RawValue>,
    pub model: Option<String>,
    #[schema(value_type = Option<Value>)]
    pub system: Option<Box<RawValue>>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Box<RawValue>>,
    pub settings: Settings,
    pub leaf_id: Option<Uuid>,
    pub entry_count: i64,
    pub snapshot: Snapshot,
    pub parent_session_id: Option<Uuid>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// What a new session may come with. `system` is a string or a list of blocks, `tools` a list of objects; both are kept as given.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub metadata: Option<Box<RawValue>>,
    pub model: Option<String>,
    pub system: Option<Box<RawValue>>,
    pub tools: Option<Box<RawValue>>,
    pub settings: Map<String, Value>,
}

/// A merge patch: `None` leaves a field, `Some(None)` clears it. `metadata` and `settings` merge key by key, null removes.
#[derive(Debug, Clone, Default)]
pub struct SessionPatch {
    pub title: Option<Option<String>>,
    pub metadata: Option<Map<String, Value>>,
    pub model: Option<Option<String>>,
    pub system: Option<Option<Box<RawValue>>>,
    pub tools: Option<Option<Box<RawValue>>>,
    pub settings: Option<Map<String, Value>>,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub external_id: Option<String>,
    /// `green`, `yellow` or `red`.
    pub state: Option<String>,
    pub updated_after: Option<DateTime<Utc>>,
}

impl Service {
    pub async fn create_session(&self, tenant: Tenant, new: NewSession) -> Result<Session> {
        todo!()
    }
    pub async fn session(&self, tenant: Tenant, session_id: Uuid) -> Result<Session> {
        todo!()
    }
    pub async fn sessions(&self, tenant: Tenant, filter: SessionFilter, page: PageRequest) -> Result<Page<Session>> {
        todo!()
    }
    pub async fn patch_session(&self, tenant: Tenant, session_id: Uuid, patch: SessionPatch) -> Result<Session> {
        todo!()
    }
    pub async fn delete_session(&self, tenant: Tenant, session_id: Uuid) -> Result<()> {
        todo!()
    }
    pub async fn fork_session(&self, tenant: Tenant, session_id: Uuid, entry_id: Option<Uuid>) -> Result<Session> {
        todo!()
    }
    pub async fn snapshot(&self, tenant: Tenant, session_id: Uuid) -> Result<Snapshot> {
        todo!()
    }
    pub async fn reset_anti_thrash(&self, tenant: Tenant, session_id: Uuid) -> Result<Snapshot> {
        todo!()
    }
}
