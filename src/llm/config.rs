//! Configuration of one upstream: what it is and how it is called.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::usage::TokenUsage;
use crate::domain::model::format::Format;
use crate::domain::tokens::nano_usd::NanoUsd;

/// Which API an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum UpstreamKind {
    /// The service's own summariser: no network, no model.
    Builtin,
    /// Chat completions, of OpenAI or any compatible server.
    Openai,
    OpenaiResponses,
    /// Messages.
    Anthropic,
}

impl UpstreamKind {
    /// The format of the requests; `None` for the builtin.
    pub fn format(self) -> Option<Format> {
        match self {
            UpstreamKind::Builtin => None,
            UpstreamKind::Openai => Some(Format::OpenaiChat),
            UpstreamKind::OpenaiResponses => Some(Format::OpenaiResponses),
            UpstreamKind::Anthropic => Some(Format::Anthropic),
        }
    }

    /// The provider's own address; empty for the builtin.
    pub fn default_base_url(self) -> &'static str {
        match self {
            UpstreamKind::Builtin => "",
            UpstreamKind::Openai | UpstreamKind::OpenaiResponses => "https://api.openai.com/v1",
            UpstreamKind::Anthropic => "https://api.anthropic.com",
        }
    }
}

/// Options that only some models take. Unset ones are left out of the request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelOptions {
    /// The provider's word, such as `low`; OpenAI's formats only.
    pub reasoning_effort: Option<String>,
    /// Anthropic only.
    pub thinking_budget: Option<u32>,
    /// Room for reasoning in the output limit; `None`: by effort, budget and the model's name.
    pub reasoning_tokens: Option<u32>,
    pub max_tokens_field: MaxTokensField,
    /// Left out where a model that reasons would refuse it.
    pub temperature: Option<f64>,
}

/// Name of the output limit in chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MaxTokensField {
    /// By the model's name.
    #[default]
    Auto,
    MaxTokens,
    MaxCompletionTokens,
}

/// The configuration of one upstream. Start from [`UpstreamConfig::new`] and set what differs.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    pub name: String,
    pub kind: UpstreamKind,
    /// With or without a version segment such as `/v1`, or the full address of the endpoint. http or https.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    /// The model's window, tokens.
    pub context_window: u32,
    /// For one attempt, from the connection to the last byte of the answer.
    pub timeout: Duration,
    /// Calls at a time; a call holds its slot while it waits to try again.
    pub max_concurrency: usize,
    /// How long a call waits for a slot before it fails as busy.
    pub max_wait: Duration,
    /// Attempts after the first.
    pub max_retries: u32,
    pub retry_base: Duration,
    /// The longest pause between attempts.
    pub retry_max: Duration,
    /// Calls that fail in a row, their retries included, before the upstream is left alone; 0: never.
    pub breaker_failures: u32,
    /// How long it is left alone before one call probes it.
    pub breaker_rest: Duration,
    /// Attempts started within any minute.
    pub requests_per_minute: Option<u32>,
    /// Caps what a call asks for, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Caps the questions of one compaction, parts and folds included; attempts at the same one do not count.
    pub max_calls: u32,
    /// How the model is asked beside the prompt.
    pub options: ModelOptions,
    /// Names of the upstreams that are asked in turn where this one gives no summary.
    pub fallbacks: Vec<String>,
    /// Sends a session's own context as the beginning of the request where the provider has it cached.
    pub reuse_prefix: bool,
    /// True: the prices below are known.
    pub is_priced: bool,
    /// US dollars for a million tokens; 0 where unknown.
    pub price_input_per_mtok: f64,
    pub price_output_per_mtok: f64,
    /// `None`: cached input costs as much as other input.
    pub price_cached_per_mtok: Option<f64>,
    /// `None`: input that the cache takes in costs as much as other input.
    pub price_cache_write_per_mtok: Option<f64>,
    /// Sent with every request, over the headers that the kind brings. Values may be secret.
    pub headers: BTreeMap<String, SecretString>,
}

impl UpstreamConfig {
    /// A configuration with the defaults: the provider's own address, no key, no prices.
    pub fn new(name: impl Into<String>, kind: UpstreamKind) -> UpstreamConfig {
        UpstreamConfig {
            name: name.into(),
            kind,
            base_url: kind.default_base_url().to_owned(),
            model: String::new(),
            api_key: None,
            context_window: if kind == UpstreamKind::Builtin { u32::MAX } else { 128_000 },
            timeout: Duration::from_secs(120),
            max_concurrency: 4,
            max_wait: Duration::from_secs(600),
            max_retries: 3,
            retry_base: Duration::from_secs(2),
            retry_max: Duration::from_secs(60),
            breaker_failures: 5,
            breaker_rest: Duration::from_secs(30),
            requests_per_minute: None,
            max_output_tokens: None,
            max_calls: 12,
            options: ModelOptions::default(),
            fallbacks: Vec::new(),
            reuse_prefix: false,
            // The builtin costs nothing.
            is_priced: kind == UpstreamKind::Builtin,
            price_input_per_mtok: 0.0,
            price_output_per_mtok: 0.0,
            price_cached_per_mtok: None,
            price_cache_write_per_mtok: None,
            headers: BTreeMap::new(),
        }
    }

    /// The cost of one call, rounded this once.
    pub(super) fn cost(&self, usage: &TokenUsage) -> NanoUsd {
        NanoUsd::of_usd(self.cost_usd(usage))
    }

    /// Computes the cost of `usage` at this upstream's prices, in US dollars.
    pub fn cost_usd(&self, usage: &TokenUsage) -> f64 {
        let cached_price = self.price_cached_per_mtok.unwrap_or(self.price_input_per_mtok);
        let write_price = self.price_cache_write_per_mtok.unwrap_or(self.price_input_per_mtok);
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let micros = (usage.input - cached - written) as f64 * self.price_input_per_mtok
            + cached as f64 * cached_price
            + written as f64 * write_price
            + usage.output as f64 * self.price_output_per_mtok;
        micros / 1e6
    }
}

/// Why an upstream could not be set up. Values of keys and headers are never shown.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("upstream `{name}`: base_url {reason}")]
    BaseUrl { name: String, reason: &'static str },
    #[error("upstream `{name}`: model is missing")]
    Model { name: String },
    #[error("upstream `{name}`: {header} is not a valid header")]
    Header { name: String, header: String },
    #[error("upstream `{name}`: {field} must be at least 1")]
    Zero { name: String, field: &'static str },
    #[error("upstream `{name}`: no HTTP client: {reason}")]
    Client { name: String, reason: String },
    #[error("upstream `{name}` is defined twice")]
    Duplicate { name: String },
    #[error("upstream `{name}`: the fallback `{fallback}` is not defined")]
    UnknownFallback { name: String, fallback: String },
    #[error("the default upstream `{name}` is not defined")]
    UnknownDefault { name: String },
}
