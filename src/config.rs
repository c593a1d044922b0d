//! The service's configuration: defaults, then the TOML file, then the environment, then the command line.

mod env;
mod error;
mod proxy;
mod sections;
mod server;
mod upstream;

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use figment::providers::{Format, Toml};
use serde_json::Map;

pub use error::ConfigError;
pub use proxy::{AskedCompaction, ProxyConfig, ProxyUpstream};
pub use sections::{Config, DatabaseConfig, LimitsConfig, Log, LogFormat, ProcessRole};
pub use upstream::{MaxTokensFieldSetting, UpstreamKindSetting, UpstreamSection};

/// A lease outlives the slowest model call by this, so that a job is never taken from a worker that still waits for its model.
pub const LEASE_MARGIN: Duration = Duration::from_secs(15);
/// Largest timeout that PostgreSQL takes, in milliseconds.
const MAX_TIMEOUT_MS: u32 = i32::MAX as u32;
const LEASE_SHORTEST: Duration = Duration::from_secs(30);

/// Settings from the command line; they go before everything else.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub listen: Option<SocketAddr>,
    pub data_dir: Option<PathBuf>,
    pub role: Option<ProcessRole>,
    pub dev: bool,
    pub proxy: bool,
}

impl Config {
    /// Reads `file` and the process's environment.
    ///
    /// # Errors
    /// An unreadable file, an unknown key (named), or a value that cannot be (named).
    pub fn load(file: Option<&Path>, overrides: Overrides) -> Result<Self, ConfigError> {
        Self::load_with(file, |name| std::env::var(name).ok(), overrides)
    }

    /// The names of all variables that are read.
    pub fn variables() -> HashSet<String> {
        let asked = RefCell::new(HashSet::new());
        let unset = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            None
        };
        // Nothing is set, so nothing is refused.
        let _ = env::apply(&mut Self::default(), unset);
        asked.into_inner()
    }

    fn load_with(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
        overrides: Overrides,
    ) -> Result<Self, ConfigError> {
        let mut config: Self = match file {
            Some(path) => Figment::from(Toml::file_exact(path)).extract().map_err(Box::new)?,
            None => Self::default(),
        };
        env::apply(&mut config, variable)?;
        config.override_with(overrides);
        if config.upstreams.is_empty() {
            config.upstreams.push(UpstreamSection::default());
        }
        config.check()?;
        Ok(config)
    }

    fn override_with(&mut self, overrides: Overrides) {
        self.listen = overrides.listen.unwrap_or(self.listen);
        self.role = overrides.role.unwrap_or(self.role);
        self.dev |= overrides.dev;
        self.proxy.enabled |= overrides.proxy;
        if let Some(data_dir) = overrides.data_dir {
            self.data_dir = data_dir;
        }
    }

    /// From the request to stop to the end of the process.
    pub fn shutdown(&self) -> Duration {
        Duration::from_millis(self.shutdown_ms)
    }

    /// How long a claimed job stays with its worker between two heartbeats.
    pub fn lease(&self) -> Duration {
        self.worker.lease_ms.map_or_else(|| self.shortest_lease().max(LEASE_SHORTEST), Duration::from_millis)
    }

    /// Zero when every upstream is built in: those cannot hang.
    fn shortest_lease(&self) -> Duration {
        let remote = self.upstreams.iter().filter(|upstream| upstream.kind != UpstreamKindSetting::Builtin);
        remote.map(|upstream| upstream.timeout() + LEASE_MARGIN).max().unwrap_or_default()
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.dev && !self.listen.ip().is_loopback() {
            let detail = format!("--dev needs no key, so it listens on loopback only, not on {}", self.listen);
            return Err(ConfigError::value("listen", detail));
        }
        if self.lease() < self.shortest_lease() {
            let detail = format!(
                "{} ms is shorter than the longest upstream timeout plus {} s: at least {} ms",
                self.lease().as_millis(),
                LEASE_MARGIN.as_secs(),
                self.shortest_lease().as_millis()
            );
            return Err(ConfigError::value("worker.lease_ms", detail));
        }
        self.check_positive()?;
        self.proxy.check()?;
        crate::domain::settings::resolve(&self.settings, &Map::new(), None).map_err(|errors| {
            let first = errors.into_iter().next();
            let (name, detail) = first.map_or_else(Default::default, |error| (error.pointer, error.detail));
            ConfigError::value(name.trim_start_matches('/').replace('/', "."), detail)
        })?;
        upstream::check(&self.upstreams)?;
        let named = self.settings.get("upstream").and_then(serde_json::Value::as_str);
        match named {
            Some(name) if !upstream::names(&self.upstreams).contains(name) => {
                Err(ConfigError::value("settings.upstream", format!("`{name}` is not configured")))
            }
            _ => Ok(()),
        }
    }

    fn check_positive(&self) -> Result<(), ConfigError> {
        let figures = [
            ("limits.max_body_bytes", self.limits.max_body_bytes > 0),
            ("limits.max_items", self.limits.max_items > 0),
            ("limits.max_depth", self.limits.max_depth > 0),
            ("shutdown_ms", self.shutdown_ms > 0),
            ("database.max_connections", self.database.max_connections > 1),
            ("database.acquire_timeout_ms", self.database.acquire_timeout_ms > 0),
            ("database.statement_timeout_ms", (1..=MAX_TIMEOUT_MS).contains(&self.database.statement_timeout_ms)),
            ("database.lock_timeout_ms", (1..=MAX_TIMEOUT_MS).contains(&self.database.lock_timeout_ms)),
            ("worker.concurrency", self.worker.concurrency > 0),
            ("worker.poll_ms", self.worker.poll_ms > 0),
            ("events.keep_hours", self.events.keep_hours > 0),
            ("events.max_streams", self.events.max_streams > 0),
            ("hooks.max_attempts", self.hooks.max_attempts > 0),
            ("hooks.retry_base_ms", self.hooks.retry_base_ms > 0),
            ("hooks.keep_days", self.hooks.keep_days > 0),
        ];
        let of_server = self.server.figures(self.limits.max_body_bytes);
        match figures.iter().chain(&of_server).find(|(_, fine)| !fine) {
            Some((name, _)) => Err(ConfigError::value(*name, "out of range")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
