//! Upstreams in the configuration: who writes summaries, at what price, within which limits.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::error::ConfigError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamKindSetting {
    /// The deterministic summariser inside the service: no network, no key.
    Builtin,
    Openai,
    OpenaiResponses,
    Anthropic,
}

/// Name of a chat completion's output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensFieldSetting {
    MaxTokens,
    MaxCompletionTokens,
}

/// The name of the built-in summariser, which is always there.
const BUILTIN: &str = "builtin";
/// OpenAI's words for how much a model reasons; which of them a model takes is its own business.
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];

/// One `[[upstreams]]` table. Prices are US dollars per million tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamSection {
    pub name: String,
    pub kind: UpstreamKindSetting,
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
    /// Calls started within any minute, tries again included.
    pub requests_per_minute: Option<u32>,
    /// Of one answer, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// For one summary: what would take more is told in part by the built-in summariser.
    pub max_calls: u32,
    /// For models that reason: the provider's word. `openai` and `openai_responses`.
    pub reasoning_effort: Option<String>,
    /// Lets the model think for so many tokens. `anthropic`.
    pub thinking_budget_tokens: Option<u32>,
    /// Room for reasoning in the output limit; unset: by effort, budget and the model's name.
    pub reasoning_tokens: Option<u32>,
    /// Name of a chat completion's output limit; unset: by the model's name.
    pub max_tokens_field: Option<MaxTokensFieldSetting>,
    /// Left out where a model that reasons would refuse it.
    pub temperature: Option<f64>,
    /// Upstreams that are asked in this order where this one gives no summary.
    pub fallbacks: Vec<String>,
    /// Sends the session's own context as the beginning of the request, for the provider's prompt cache.
    pub reuse_prefix: bool,
    pub price_input_per_mtok: Option<f64>,
    pub price_output_per_mtok: Option<f64>,
    /// Unset: cached input costs as much as other input.
    pub price_cached_per_mtok: Option<f64>,
    /// Of input that the provider's prompt cache takes in; for `net` alone. Unset: by the model's name.
    pub price_cache_write_per_mtok: Option<f64>,
    /// Sent with every call.
    pub headers: BTreeMap<String, String>,
}

impl Default for UpstreamSection {
    fn default() -> Self {
        Self {
            name: "default".into(),
            kind: UpstreamKindSetting::Builtin,
            base_url: None,
            model: None,
            api_key: None,
            context_window: None,
            timeout_ms: 120_000,
            max_concurrency: 4,
            max_retries: 3,
            retry_base_ms: 500,
            retry_max_ms: 20_000,
            requests_per_minute: None,
            max_output_tokens: None,
            max_calls: 12,
            reasoning_effort: None,
            thinking_budget_tokens: None,
            reasoning_tokens: None,
            max_tokens_field: None,
            temperature: None,
            fallbacks: Vec::new(),
            reuse_prefix: false,
            price_input_per_mtok: None,
            price_output_per_mtok: None,
            price_cached_per_mtok: None,
            price_cache_write_per_mtok: None,
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
        if self.kind != UpstreamKindSetting::Builtin && self.model.is_none() {
            return Err(("model", "is needed for this kind".into()));
        }
        if let Some(url) = &self.base_url
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            return Err(("base_url", format!("`{url}` is no http or https address")));
        }
        self.check_limits()?;
        self.check_options()?;
        let prices = [
            self.price_input_per_mtok,
            self.price_output_per_mtok,
            self.price_cached_per_mtok,
            self.price_cache_write_per_mtok,
        ];
        if prices.iter().flatten().any(|price| !price.is_finite() || *price < 0.0) {
            return Err(("price", "must be 0 or more".into()));
        }
        if self.price_input_per_mtok.is_some() != self.price_output_per_mtok.is_some() {
            return Err(("price", "input and output need a price both, or neither".into()));
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), (&'static str, String)> {
        let limits = [
            ("timeout_ms", Some(self.timeout_ms)),
            ("max_concurrency", Some(self.max_concurrency.into())),
            ("requests_per_minute", self.requests_per_minute.map(u64::from)),
            ("context_window", self.context_window.map(u64::from)),
            ("max_output_tokens", self.max_output_tokens.map(u64::from)),
            ("max_calls", Some(self.max_calls.into())),
        ];
        match limits.iter().find(|(_, limit)| *limit == Some(0)) {
            Some((field, _)) => Err((field, "must be at least 1".into())),
            None => Ok(()),
        }
    }

    /// Options that the kind would drop unseen are refused.
    fn check_options(&self) -> Result<(), (&'static str, String)> {
        let is_anthropic = self.kind == UpstreamKindSetting::Anthropic;
        let is_openai = matches!(self.kind, UpstreamKindSetting::Openai | UpstreamKindSetting::OpenaiResponses);
        let misplaced = [
            ("reasoning_effort", self.reasoning_effort.is_some() && !is_openai),
            ("thinking_budget_tokens", self.thinking_budget_tokens.is_some() && !is_anthropic),
            ("max_tokens_field", self.max_tokens_field.is_some() && self.kind != UpstreamKindSetting::Openai),
            ("reuse_prefix", self.reuse_prefix && self.kind == UpstreamKindSetting::Builtin),
        ];
        if let Some((field, _)) = misplaced.iter().find(|(_, is_misplaced)| *is_misplaced) {
            return Err((field, "is not an option of this kind".into()));
        }
        if self.reasoning_effort.as_deref().is_some_and(|effort| !EFFORTS.contains(&effort)) {
            return Err(("reasoning_effort", format!("must be one of {}", EFFORTS.join(", "))));
        }
        if self.thinking_budget_tokens.is_some_and(|budget| budget < 1_024) {
            return Err(("thinking_budget_tokens", "must be at least 1024".into()));
        }
        if self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
            return Err(("temperature", "must be between 0 and 2".into()));
        }
        Ok(())
    }

    /// Each fallback exists, is another one, and is named once.
    fn check_fallbacks(&self, names: &HashSet<&str>) -> Result<(), String> {
        let mut seen: HashSet<&str> = HashSet::from([self.name.as_str()]);
        for name in &self.fallbacks {
            if !names.contains(name.as_str()) {
                return Err(format!("`{name}` is not configured"));
            }
            if !seen.insert(name) {
                return Err(format!("`{name}` is this upstream itself or named twice"));
            }
        }
        Ok(())
    }
}

/// The upstreams that can be named.
pub(super) fn names(upstreams: &[UpstreamSection]) -> HashSet<&str> {
    upstreams.iter().map(|upstream| upstream.name.as_str()).chain([BUILTIN]).collect()
}

/// Each one by itself, unique names, and fallbacks that exist.
pub(super) fn check(upstreams: &[UpstreamSection]) -> Result<(), ConfigError> {
    let mut names: HashSet<&str> = HashSet::new();
    for upstream in upstreams {
        let at = |field: &str| format!("upstreams.{}.{field}", upstream.name);
        upstream.check().map_err(|(field, detail)| ConfigError::value(at(field), detail))?;
        if !names.insert(&upstream.name) {
            return Err(ConfigError::value(at("name"), "is used twice"));
        }
    }
    let names = self::names(upstreams);
    for upstream in upstreams {
        let at = || format!("upstreams.{}.fallbacks", upstream.name);
        upstream.check_fallbacks(&names).map_err(|detail| ConfigError::value(at(), detail))?;
    }
    Ok(())
}
