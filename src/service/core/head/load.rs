//! Heads as they are read and resolved.

use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Map, Value};
use sqlx::PgPool;
use uuid::Uuid;

use crate::domain::settings::{SettingError, Settings, resolve};
use crate::service::core::error::{FieldError, Result, ServiceError};
use crate::service::core::head::{Head, SessionState};
use crate::service::core::state::Inner;
use crate::service::core::tenant::Tenant;
use crate::store::sessions::{self, HeadAndSettings};

impl Inner {
    /// Settings resolved from a stored patch; equal patches share one value.
    pub fn resolve(&self, patch: &str, model: Option<&str>) -> Result<Arc<Settings>> {
        let key = (patch.to_owned(), model.map(str::to_owned));
        if let Some(settings) = self.heads.settings.get(&key) {
            return Ok(settings);
        }
        let map: Map<String, Value> = serde_json::from_str(patch).context("stored settings")?;
        let settings = Arc::new(self.resolve_map(&map, model)?);
        self.heads.settings.insert(key, Arc::clone(&settings));
        Ok(settings)
    }

    /// Settings resolved from a patch that a client gave; what is wrong with it is a validation error.
    pub fn resolve_map(&self, patch: &Map<String, Value>, model: Option<&str>) -> Result<Settings> {
        resolve(&self.options.settings, patch, model).map_err(|errors| {
            let field = |error: SettingError| FieldError { pointer: error.pointer, detail: error.detail };
            ServiceError::Invalid(errors.into_iter().map(field).collect())
        })
    }

    pub async fn load_head(&self, pool: &PgPool, tenant: Tenant, session_id: Uuid) -> Result<Head> {
        let found = sessions::head(pool, tenant.0, session_id).await?.ok_or(ServiceError::NotFound("session"))?;
        self.head_from(session_id, found)
    }

    /// A head as it was just read.
    pub fn head_from(&self, session_id: Uuid, found: HeadAndSettings) -> Result<Head> {
        Ok(Head {
            session_id,
            state: SessionState::read(&found.head.state)?,
            settings: self.resolve(&found.settings, found.model.as_deref())?,
            is_fork: found.parent_session.is_some(),
            model: found.model,
            row: found.head,
        })
    }
}
