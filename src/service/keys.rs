//! API keys and the tenants they belong to.

use chrono::{DateTime, Utc};
use serde::Serialize;
use uuid::Uuid;

use super::error::Result;
use super::state::{Service, Tenant};

#[derive(Debug, Clone, Serialize)]
pub struct KeyRow {
    pub tenant: String,
    pub id: Uuid,
    pub name: String,
    pub created_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
}

impl Service {
    /// Creates a key for a tenant (made when new) and returns its text, shown this once only.
    pub async fn create_key(&self, tenant_name: &str, key_name: &str) -> Result<String> {
        todo!()
    }
    pub async fn keys(&self) -> Result<Vec<KeyRow>> {
        todo!()
    }
    pub async fn revoke_key(&self, id: Uuid) -> Result<()> {
        todo!()
    }
    /// The tenant of a key; `None` for an unknown or revoked one.
    pub async fn authenticate(&self, key: &str) -> Result<Option<Tenant>> {
        todo!()
    }
    /// The tenant that `--dev` works as.
    pub async fn dev_tenant(&self) -> Result<Tenant> {
        todo!()
    }
}
