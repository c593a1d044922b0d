//! Settings as they apply: a session's or a call's, over the server's.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value};

use crate::domain::settings::{SettingError, Settings, Talked, resolve};
use crate::service::core::error::{FieldError, Result, ServiceError};

const CACHED: u64 = 4_096;
const CACHED_FOR: Duration = Duration::from_secs(600);

/// The operator's settings, and those resolved lately.
pub(crate) struct SettingsResolver {
    server: Map<String, Value>,
    /// The upstreams that a session may name; `None`: whatever it likes.
    pub(super) upstreams: Option<BTreeSet<String>>,
    /// By patch, model, and the window that a refusal named.
    resolved: moka::sync::Cache<(String, Option<String>, Option<u32>), Arc<Settings>>,
}

impl SettingsResolver {
    pub fn new(server: Map<String, Value>, upstreams: Option<BTreeSet<String>>) -> SettingsResolver {
        let resolved = moka::sync::Cache::builder().max_capacity(CACHED).time_to_idle(CACHED_FOR).build();
        SettingsResolver { server, upstreams, resolved }
    }

    /// Settings resolved from a stored patch; equal patches share one value.
    pub fn resolve<'a>(&self, patch: &str, talked: impl Into<Talked<'a>>) -> Result<Arc<Settings>> {
        let talked = talked.into();
        let key = (patch.to_owned(), talked.model.map(str::to_owned), talked.refused);
        if let Some(settings) = self.resolved.get(&key) {
            return Ok(settings);
        }
        let map: Map<String, Value> = serde_json::from_str(patch).context("stored settings")?;
        let settings = Arc::new(self.resolve_map(&map, talked)?);
        self.resolved.insert(key, Arc::clone(&settings));
        Ok(settings)
    }

    /// Settings resolved from a patch that a client gave; what is wrong with it is a validation error.
    pub fn resolve_map<'a>(&self, patch: &Map<String, Value>, talked: impl Into<Talked<'a>>) -> Result<Settings> {
        resolve(&self.server, patch, talked).map_err(|errors| {
            let field = |error: SettingError| FieldError { pointer: error.pointer, detail: error.detail };
            ServiceError::Invalid(errors.into_iter().map(field).collect())
        })
    }
}
