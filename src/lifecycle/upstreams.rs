//! From the configuration's upstreams to the callers of them.

use std::time::Duration;

use anyhow::Context;

use crate::config::{UpstreamKind as Configured, UpstreamSection};
use crate::domain::models::context_window;
use crate::llm::{UpstreamConfig, UpstreamKind, Upstreams};

/// The upstreams of a configuration. The first is the default, unless one is named `default`.
///
/// # Errors
/// A model or an address that is missing or can't be.
pub fn upstreams(sections: &[UpstreamSection]) -> anyhow::Result<Upstreams> {
    let named = sections.iter().find(|section| section.name == "default").or(sections.first());
    let default = named.map(|section| section.name.clone());
    let configs = sections.iter().map(config).collect();
    Upstreams::new(configs, default.as_deref()).context("upstreams")
}

fn config(section: &UpstreamSection) -> UpstreamConfig {
    let kind = match section.kind {
        Configured::Builtin => UpstreamKind::Builtin,
        Configured::Openai => UpstreamKind::Openai,
        Configured::OpenaiResponses => UpstreamKind::OpenaiResponses,
        Configured::Anthropic => UpstreamKind::Anthropic,
    };
    let defaults = UpstreamConfig::new(section.name.clone(), kind);
    let model = section.model.clone().unwrap_or_default();
    let window = if kind == UpstreamKind::Builtin { defaults.context_window } else { context_window(&model) };
    UpstreamConfig {
        base_url: section.base_url.clone().unwrap_or(defaults.base_url),
        context_window: section.context_window.unwrap_or(window),
        model,
        api_key: section.api_key.clone(),
        timeout: section.timeout(),
        max_concurrency: section.max_concurrency as usize,
        max_retries: section.max_retries,
        retry_base: Duration::from_millis(section.retry_base_ms),
        retry_max: Duration::from_millis(section.retry_max_ms),
        max_output_tokens: section.max_output_tokens,
        price_input_per_mtok: section.price_input_per_mtok,
        price_output_per_mtok: section.price_output_per_mtok,
        price_cached_per_mtok: section.price_cached_per_mtok,
        headers: section.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect(),
        ..defaults
    }
}
