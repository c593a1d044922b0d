//! From the configuration's upstreams to the callers of them.

use std::time::Duration;

use anyhow::Context;

use crate::config::{MaxTokensFieldSetting as ConfiguredField, UpstreamKindSetting as Configured, UpstreamSection};
use crate::domain::settings::models::greatest_request;
use crate::domain::tokens::prices::{Price, Priced, Prices};
use crate::llm::{MaxTokensField, ModelOptions, Upstream, UpstreamConfig, UpstreamKind, Upstreams};
use crate::service::ops::upstreams::{
    Breaker, BreakerState, UpstreamCatalogue, UpstreamInfo, UpstreamLimits, UpstreamPrices,
};

/// The upstreams of a configuration. The first is the default, unless one is named `default`.
///
/// # Errors
/// A model or an address that is missing or can't be.
pub fn upstreams(sections: &[UpstreamSection]) -> anyhow::Result<Upstreams> {
    let default = default_name(sections);
    let configs = sections.iter().map(config).collect();
    Upstreams::new(configs, default.as_deref()).context("upstreams")
}

fn default_name(sections: &[UpstreamSection]) -> Option<String> {
    let named = sections.iter().find(|section| section.name == "default").or(sections.first());
    named.map(|section| section.name.clone())
}

/// Collects the prices of the upstreams.
pub fn prices(sections: &[UpstreamSection]) -> Prices {
    let priced = |section: &UpstreamSection| {
        let given = section.price_input_per_mtok.zip(section.price_output_per_mtok);
        let given = given.map(|(input, output)| Price {
            input,
            output,
            cached: section.price_cached_per_mtok,
            cache_write: section.price_cache_write_per_mtok,
        });
        let price = if section.kind == Configured::Builtin { Some(Price::default()) } else { given };
        (section.name.clone(), Priced { model: section.model.clone(), price })
    };
    Prices { upstreams: sections.iter().map(priced).collect(), default: default_name(sections) }
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
    let window = if kind == UpstreamKind::Builtin { defaults.context_window } else { greatest_request(&model) };
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
        requests_per_minute: section.requests_per_minute,
        max_output_tokens: section.max_output_tokens,
        max_calls: section.max_calls,
        options: options(section),
        fallbacks: section.fallbacks.clone(),
        reuse_prefix: section.reuse_prefix,
        is_priced: section.price_input_per_mtok.is_some() || defaults.is_priced,
        price_input_per_mtok: section.price_input_per_mtok.unwrap_or(0.0),
        price_output_per_mtok: section.price_output_per_mtok.unwrap_or(0.0),
        price_cached_per_mtok: section.price_cached_per_mtok,
        price_cache_write_per_mtok: section.price_cache_write_per_mtok,
        headers: section.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect(),
        ..defaults
    }
}

fn options(section: &UpstreamSection) -> ModelOptions {
    ModelOptions {
        reasoning_effort: section.reasoning_effort.clone(),
        thinking_budget: section.thinking_budget_tokens,
        reasoning_tokens: section.reasoning_tokens,
        max_tokens_field: match section.max_tokens_field {
            None => MaxTokensField::Auto,
            Some(ConfiguredField::MaxTokens) => MaxTokensField::MaxTokens,
            Some(ConfiguredField::MaxCompletionTokens) => MaxTokensField::MaxCompletionTokens,
        },
        temperature: section.temperature,
    }
}

/// The upstreams as tenants may see them.
pub struct Catalogue {
    upstreams: Upstreams,
    prices: Prices,
}

impl Catalogue {
    pub fn new(upstreams: Upstreams, prices: Prices) -> Catalogue {
        Catalogue { upstreams, prices }
    }

    fn shown(&self, upstream: &Upstream) -> UpstreamInfo {
        let config = upstream.config();
        let is_builtin = config.kind == UpstreamKind::Builtin;
        let price = self.prices.of_upstream(Some(&config.name));
        let rest = upstream.rests_for();
        UpstreamInfo {
            name: config.name.clone(),
            kind: config.kind.into_str(),
            is_default: self.upstreams.default_upstream().config().name == config.name,
            model: (!config.model.is_empty()).then(|| config.model.clone()),
            host: host(&config.base_url),
            context_window: (!is_builtin).then_some(config.context_window),
            limits: UpstreamLimits {
                timeout_ms: u64::try_from(config.timeout.as_millis()).unwrap_or(u64::MAX),
                max_concurrency: config.max_concurrency,
                max_retries: config.max_retries,
                requests_per_minute: config.requests_per_minute,
                max_output_tokens: config.max_output_tokens,
                max_calls: config.max_calls,
            },
            fallbacks: config.fallbacks.clone(),
            prices: price.map(|price| UpstreamPrices {
                input_per_mtok: price.input,
                output_per_mtok: price.output,
                cached_per_mtok: price.cached,
                cache_write_per_mtok: price.cache_write,
            }),
            breaker: Breaker {
                state: if rest.is_some() { BreakerState::Open } else { BreakerState::Closed },
                retry_after_ms: rest.map(|rest| u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)),
            },
        }
    }
}

impl UpstreamCatalogue for Catalogue {
    fn upstreams(&self) -> Vec<UpstreamInfo> {
        self.upstreams.all().map(|upstream| self.shown(upstream)).collect()
    }
}

/// Of an address no more than where it is: gateways have keys in paths and queries.
fn host(base_url: &str) -> Option<String> {
    let url = reqwest::Url::parse(base_url.trim()).ok()?;
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn a_host_is_all_that_is_told_of_an_address() {
        for (address, told) in [
            ("https://api.openai.com/v1", Some("api.openai.com")),
            ("https://user:secret@gateway.example:8443/key-123/v1?key=456", Some("gateway.example:8443")),
            ("http://[::1]:9/v1", Some("[::1]:9")),
            ("", None),
            ("nowhere", None),
        ] {
            assert_eq!(host(address).as_deref(), told, "{address}");
        }
    }
}
