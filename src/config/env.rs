//! The environment. Every variable is applied by name and type, so a key that looks like a number stays a text.

use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::error::ConfigError;
use super::sections::Config;
use super::server::Server;
use super::upstream::UpstreamSection;

/// The upstream that the `CONTEXTD_UPSTREAM_*` variables describe.
const DEFAULT_UPSTREAM: &str = "default";

/// An empty variable counts as unset.
pub(super) fn apply(config: &mut Config, variable: impl Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
    let env = Env(&|name: &str| variable(name).filter(|value| !value.is_empty()));
    env.parse("CONTEXTD_LISTEN", &mut config.listen)?;
    env.parse("CONTEXTD_DATA_DIR", &mut config.data_dir)?;
    env.word("CONTEXTD_ROLE", &mut config.role)?;
    env.parse("CONTEXTD_SHUTDOWN_MS", &mut config.shutdown_ms)?;
    env.parse("CONTEXTD_LOG", &mut config.log.filter)?;
    env.word("CONTEXTD_LOG_FORMAT", &mut config.log.format)?;
    env.parse("CONTEXTD_MAX_BODY_BYTES", &mut config.limits.max_body_bytes)?;
    env.parse("CONTEXTD_MAX_ITEMS", &mut config.limits.max_items)?;
    env.parse("CONTEXTD_MAX_DEPTH", &mut config.limits.max_depth)?;
    server(&mut config.server, &env)?;
    env.parse("CONTEXTD_DATABASE_MAX_CONNECTIONS", &mut config.database.max_connections)?;
    env.parse("CONTEXTD_DATABASE_ACQUIRE_TIMEOUT_MS", &mut config.database.acquire_timeout_ms)?;
    env.parse("CONTEXTD_DATABASE_STATEMENT_TIMEOUT_MS", &mut config.database.statement_timeout_ms)?;
    env.parse("CONTEXTD_DATABASE_LOCK_TIMEOUT_MS", &mut config.database.lock_timeout_ms)?;
    env.parse("CONTEXTD_WORKER_CONCURRENCY", &mut config.worker.concurrency)?;
    env.option("CONTEXTD_WORKER_LEASE_MS", &mut config.worker.lease_ms)?;
    env.parse("CONTEXTD_WORKER_POLL_MS", &mut config.worker.poll_ms)?;
    env.parse("CONTEXTD_EVENTS_KEEP_HOURS", &mut config.events.keep_hours)?;
    env.parse("CONTEXTD_EVENTS_MAX_STREAMS", &mut config.events.max_streams)?;
    env.parse("CONTEXTD_HOOKS_ALLOW_PRIVATE_NETWORKS", &mut config.hooks.allow_private_networks)?;
    env.parse("CONTEXTD_PROXY", &mut config.proxy.enabled)?;
    env.parse("CONTEXTD_PROXY_TIMEOUT_MS", &mut config.proxy.timeout_ms)?;
    env.parse("CONTEXTD_PROXY_OPENAI_BASE_URL", &mut config.proxy.openai.base_url)?;
    env.parse("CONTEXTD_PROXY_ANTHROPIC_BASE_URL", &mut config.proxy.anthropic.base_url)?;
    env.word("CONTEXTD_PROXY_OPENAI_COMPACTION", &mut config.proxy.openai.compaction)?;
    env.word("CONTEXTD_PROXY_ANTHROPIC_COMPACTION", &mut config.proxy.anthropic.compaction)?;
    if let Some(url) = env.get("DATABASE_URL") {
        config.database.url = Some(url.into());
    }
    if let Some(folder) = env.get("CONTEXTD_PG_BIN") {
        config.database.pg_bin = Some(PathBuf::from(folder));
    }
    default_upstream(config, &env)
}

fn server(server: &mut Server, env: &Env) -> Result<(), ConfigError> {
    if let Some(secret) = env.get("CONTEXTD_UI_SECRET") {
        server.ui_secret = Some(secret.into());
    }
    if let Some(key) = env.get("CONTEXTD_METRICS_KEY") {
        server.metrics_key = Some(key.into());
    }
    if let Some(networks) = env.get("CONTEXTD_TRUSTED_PROXIES") {
        let each = networks.split(',').map(|network| network.trim().parse());
        let all: Result<_, String> = each.collect();
        server.trusted_proxies = all.map_err(|error| ConfigError::value("CONTEXTD_TRUSTED_PROXIES", error))?;
    }
    env.parse("CONTEXTD_HEADER_TIMEOUT_MS", &mut server.header_timeout_ms)?;
    env.parse("CONTEXTD_BODY_TIMEOUT_MS", &mut server.body_timeout_ms)?;
    env.parse("CONTEXTD_IDLE_TIMEOUT_MS", &mut server.idle_timeout_ms)?;
    env.parse("CONTEXTD_WRITE_TIMEOUT_MS", &mut server.write_timeout_ms)?;
    env.parse("CONTEXTD_REQUEST_TIMEOUT_MS", &mut server.request_timeout_ms)?;
    env.parse("CONTEXTD_MAX_CONNECTIONS", &mut server.max_connections)?;
    env.parse("CONTEXTD_BACKGROUND_NICE", &mut server.background_nice)?;
    env.option("CONTEXTD_MAX_BUFFERED_BYTES", &mut server.max_buffered_bytes)?;
    env.option("CONTEXTD_MAX_BUFFERED_BYTES_PER_TENANT", &mut server.max_buffered_bytes_per_tenant)
}

/// Changes the upstream named `default`, which is made when a variable asks for it.
fn default_upstream(config: &mut Config, env: &Env) -> Result<(), ConfigError> {
    const FIELDS: [&str; 6] = ["KIND", "BASE_URL", "MODEL", "API_KEY", "CONTEXT_WINDOW", "TIMEOUT_MS"];
    if !FIELDS.iter().any(|field| env.get(&format!("CONTEXTD_UPSTREAM_{field}")).is_some()) {
        return Ok(());
    }
    let position = config.upstreams.iter().position(|upstream| upstream.name == DEFAULT_UPSTREAM);
    let mut upstream = match position {
        Some(position) => config.upstreams.remove(position),
        None => UpstreamSection::default(),
    };
    env.word("CONTEXTD_UPSTREAM_KIND", &mut upstream.kind)?;
    env.option("CONTEXTD_UPSTREAM_BASE_URL", &mut upstream.base_url)?;
    env.option("CONTEXTD_UPSTREAM_MODEL", &mut upstream.model)?;
    if let Some(key) = env.get("CONTEXTD_UPSTREAM_API_KEY") {
        upstream.api_key = Some(key.into());
    }
    env.option("CONTEXTD_UPSTREAM_CONTEXT_WINDOW", &mut upstream.context_window)?;
    env.parse("CONTEXTD_UPSTREAM_TIMEOUT_MS", &mut upstream.timeout_ms)?;
    config.upstreams.insert(0, upstream);
    Ok(())
}

struct Env<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Env<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    fn parse<T: FromStr<Err: std::fmt::Display>>(&self, name: &str, into: &mut T) -> Result<(), ConfigError> {
        if let Some(text) = self.get(name) {
            *into = text.parse().map_err(|error: T::Err| ConfigError::value(name, format!("`{text}`: {error}")))?;
        }
        Ok(())
    }

    fn option<T: FromStr<Err: std::fmt::Display> + Default>(
        &self,
        name: &str,
        into: &mut Option<T>,
    ) -> Result<(), ConfigError> {
        if self.get(name).is_some() {
            self.parse(name, into.insert(T::default()))?;
        }
        Ok(())
    }

    /// One of an enum's words, as the file spells them.
    fn word<T: for<'de> Deserialize<'de>>(&self, name: &str, into: &mut T) -> Result<(), ConfigError> {
        if let Some(text) = self.get(name) {
            let word: StrDeserializer<Error> = text.as_str().into_deserializer();
            *into = T::deserialize(word).map_err(|error| ConfigError::value(name, error.to_string()))?;
        }
        Ok(())
    }
}
