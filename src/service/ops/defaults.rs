//! What a session gets that sets nothing, and what is known of models.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::settings::models::{self, AS_OF, ModelLimits};
use crate::domain::settings::{Estimator, Settings};
use crate::domain::tokens::prices::CacheRates;
use crate::service::core::error::Result;
use crate::service::core::state::Service;

/// Models whose names begin alike; of several beginnings the longest counts.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct KnownModel {
    /// The beginning of their names, without what providers put before it.
    pub prefix: &'static str,
    /// Prompt and answer together, in tokens.
    pub context_window: u32,
    /// The most that they take in one request, in tokens: the window, or less.
    pub max_input_tokens: u32,
    /// How their tokens are counted where the settings do not say.
    pub estimator: Estimator,
    /// Null: not known; a tenth for reading is then assumed. Prices themselves are the operator's to give
    /// (`GET /v1/upstreams`).
    pub cache: Option<KnownCacheRates>,
    /// The month in which this was collected from public documentation.
    pub as_of: &'static str,
}

/// Prices of cached input as shares of the price of plain input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub struct KnownCacheRates {
    pub read: f64,
    pub write: f64,
}

impl Service {
    /// The settings of a session that sets nothing but, where one is given, its preset: the operator's over the preset's.
    ///
    /// # Errors
    /// `Invalid` for a preset that does not exist.
    pub fn default_settings(&self, preset: Option<&str>) -> Result<Settings> {
        let own = preset.map(|preset| ("preset".to_owned(), Value::from(preset)));
        self.inner.settings.resolve_map(&own.into_iter().collect(), None)
    }

    /// The table of known models, by the beginnings of their names.
    ///
    /// # Errors
    /// A fault of ours.
    pub fn known_models(&self) -> Result<Vec<KnownModel>> {
        let shown = |(prefix, limits): (&'static str, ModelLimits)| {
            let rates = CacheRates::of_family(prefix);
            Ok(KnownModel {
                prefix,
                context_window: limits.window,
                max_input_tokens: limits.input.unwrap_or(limits.window),
                estimator: self.inner.settings.resolve_map(&Map::new(), Some(prefix))?.estimator,
                cache: rates.map(|CacheRates { read, write }| KnownCacheRates { read, write }),
                as_of: AS_OF,
            })
        };
        let mut known = models::known().map(shown).collect::<Result<Vec<_>>>()?;
        known.sort_unstable_by_key(|model| model.prefix);
        Ok(known)
    }
}
