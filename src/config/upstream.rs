//! Upstreams in the configuration: who writes summaries, at what price, within which limits.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::ConfigError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamKind {
    /// The deterministic summariser inside the service: no network, no key.
    Builtin,
    Openai,
    OpenaiResponses,
    Anthropic,
}

/// One `[[upstreams]]` table. Prices are US dollars per million tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamSection {
    pub name: String,
    pub kind: UpstreamKind,
    pub base_url: Option<String>,
    pub model: Option<String>,
    pub api_key: Option<SecretString>,
    /// In tokens; unset: by the model's name.
    pub context_window: Option<u32>,
    pub timeout_ms: u64,
    /// Calls at the same time, over all jobs of this process.
    pub max_concurrency: u32,
    pub max_retries: u32,
    pub retry_base_ms: u64,
    pub retry_max_ms: u64,
    pub max_output_tokens: Option<u32>,
    pub price_input_per_mtok: f64,
    pub price_output_per_mtok: f64,
    /// Unset: cached input costs as much as other input.
    pub price_cached_per_mtok: Option<f64>,
    /// Sent with every call.
    pub headers: BTreeMap<String, String>,
}

impl Default for UpstreamSection {
    fn default() -> Self {
        Self {
            name: "default".into(),
            kind: UpstreamKind::Builtin,
            base_url: None,
            model: None,
            api_key: None,
            context_window: None,
            timeout_ms: 120_000,
            max_concurrency: 4,
            max_retries: 3,
            retry_base_ms: 500,
            retry_max_ms: 20_000,
            max_output_tokens: None,
            price_input_per_mtok: 0.0,
            price_output_per_mtok: 0.0,
            price_cached_per_mtok: None,
            headers: BTreeMap::new(),
        }
    }
}

impl UpstreamSection {
    /// Of one call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.name.is_empty() {
            return Err(("name", "is empty".into()));
        }
        if self.kind != UpstreamKind::Builtin && self.model.is_none() {
            return Err(("model", "is needed for this kind".into()));
        }
        if let Some(url) = &self.base_url
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            return Err(("base_url", format!("`{url}` is no http or https address")));
        }
        if self.timeout_ms == 0 || self.max_concurrency == 0 {
            return Err(("timeout_ms, max_concurrency", "must be at least 1".into()));
        }
        if self.context_window == Some(0) || self.max_output_tokens == Some(0) {
            return Err(("context_window, max_output_tokens", "must be at least 1".into()));
        }
        let prices = [self.price_input_per_mtok, self.price_output_per_mtok, self.price_cached_per_mtok.unwrap_or(0.0)];
        if prices.iter().any(|price| !price.is_finite() || *price < 0.0) {
            return Err(("price", "must be 0 or more".into()));
        }
        Ok(())
    }
}

/// Each one by itself, and unique names.
pub(super) fn check(upstreams: &[UpstreamSection]) -> Result<(), ConfigError> {
    let mut names: HashSet<&str> = HashSet::new();
    for upstream in upstreams {
        let at = |field: &str| format!("upstreams.{}.{field}", upstream.name);
        upstream.check().map_err(|(field, detail)| ConfigError::value(at(field), detail))?;
        if !names.insert(&upstream.name) {
            return Err(ConfigError::value(at("name"), "is used twice"));
        }
    }
    Ok(())
}
