//! The service's configuration: defaults, then the TOML file, then the environment, then the command line.

mod env;
mod upstream;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use figment::providers::{Format, Toml};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use upstream::{MaxTokensField, UpstreamKind, UpstreamSection};

/// A lease outlives the slowest model call by this, so that a job is never taken from a worker that still waits for its model.
pub const LEASE_MARGIN: Duration = Duration::from_secs(15);
const LEASE_SHORTEST: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{0}")]
    File(#[from] Box<figment::Error>),
    #[error("{name}: {detail}")]
    Value { name: String, detail: String },
}

impl ConfigError {
    fn value(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Value { name: name.into(), detail: detail.into() }
    }
}

/// Everything that is fixed while the process runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: SocketAddr,
    /// Where the embedded database lives.
    pub data_dir: PathBuf,
    pub role: Role,
    /// No key is needed, loopback only, and the schema is brought up to date at the start.
    pub dev: bool,
    /// How long requests and jobs may go on after a stop was asked for.
    pub shutdown_ms: u64,
    pub log: Log,
    pub limits: Limits,
    pub database: Database,
    pub worker: Worker,
    pub events: Events,
    pub hooks: Hooks,
    /// Server-wide defaults of the session settings.
    pub settings: Map<String, Value>,
    /// The first one is the default, unless one is named `default`. Never empty once loaded.
    pub upstreams: Vec<UpstreamSection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    All,
    Api,
    Worker,
}

impl Role {
    pub fn serves_api(self) -> bool {
        self != Self::Worker
    }

    pub fn works(self) -> bool {
        self != Self::Api
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub format: LogFormat,
    /// `tracing-subscriber`'s filter syntax.
    pub filter: String,
}

/// `auto`: JSON unless standard error is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Auto,
    Json,
    Text,
}

/// What one request may ask for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub max_body_bytes: usize,
    pub max_items: usize,
    /// Levels of JSON nesting.
    pub max_depth: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Database {
    /// A PostgreSQL to use in place of the embedded one.
    pub url: Option<SecretString>,
    /// The folder of `postgres` and `initdb` for the embedded one.
    pub pg_bin: Option<PathBuf>,
    pub max_connections: u32,
    pub acquire_timeout_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Worker {
    /// Jobs at the same time.
    pub concurrency: u32,
    /// How long a job stays with a worker that says nothing; unset: the longest upstream timeout plus [`LEASE_MARGIN`], at least 30 s.
    pub lease_ms: Option<u64>,
    /// How often the queue is looked at when no notification comes.
    pub poll_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    /// How long events are kept for clients that come back.
    pub keep_hours: u32,
    /// Streams that a tenant may have open at this process.
    pub max_streams: usize,
}

/// How hooks are called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hooks {
    /// Loopback, private, link-local and all other addresses outside of the public internet may be called.
    pub allow_private_networks: bool,
    /// Most hooks of a tenant.
    pub max_per_tenant: u32,
    /// Attempts at telling a hook before that counts as failed.
    pub max_attempts: u32,
    /// The pause after the first failed attempt; doubled each time, up to `retry_max_ms`.
    pub retry_base_ms: u64,
    pub retry_max_ms: u64,
    /// How long the log of a hook goes back.
    pub keep_days: u32,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            allow_private_networks: false,
            max_per_tenant: 50,
            max_attempts: 8,
            retry_base_ms: 2000,
            retry_max_ms: 600_000,
            keep_days: 30,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data_dir: PathBuf::from(".contextd"),
            role: Role::All,
            dev: false,
            shutdown_ms: 10_000,
            log: Log::default(),
            limits: Limits::default(),
            database: Database::default(),
            worker: Worker::default(),
            events: Events::default(),
            hooks: Hooks::default(),
            settings: Map::new(),
            upstreams: Vec::new(),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Auto, filter: "info,sqlx=warn,hyper=warn".into() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_body_bytes: 32 * 1024 * 1024, max_items: 1000, max_depth: 64 }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self { url: None, pg_bin: None, max_connections: 20, acquire_timeout_ms: 10_000 }
    }
}

impl Default for Worker {
    fn default() -> Self {
        Self { concurrency: 4, lease_ms: None, poll_ms: 1000 }
    }
}

impl Default for Events {
    fn default() -> Self {
        Self { keep_hours: 7 * 24, max_streams: 256 }
    }
}

/// What the command line says; it goes before everything else.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub listen: Option<SocketAddr>,
    pub data_dir: Option<PathBuf>,
    pub role: Option<Role>,
    pub dev: bool,
}

impl Config {
    /// Reads `file` and the process's environment.
    ///
    /// # Errors
    /// An unreadable file, an unknown key (named), or a value that cannot be (named).
    pub fn load(file: Option<&Path>, overrides: Overrides) -> Result<Self, ConfigError> {
        Self::load_with(file, |name| std::env::var(name).ok(), overrides)
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
        if let Some(data_dir) = overrides.data_dir {
            self.data_dir = data_dir;
        }
    }

    /// How long a claimed job stays with its worker between two heartbeats.
    pub fn lease(&self) -> Duration {
        self.worker.lease_ms.map_or_else(|| self.shortest_lease().max(LEASE_SHORTEST), Duration::from_millis)
    }

    /// Zero when every upstream is built in: those cannot hang.
    fn shortest_lease(&self) -> Duration {
        let remote = self.upstreams.iter().filter(|upstream| upstream.kind != UpstreamKind::Builtin);
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
        crate::domain::settings::resolve(&self.settings, &Map::new(), None).map_err(|errors| {
            let first = errors.into_iter().next();
            let (name, detail) = first.map_or_else(Default::default, |error| (error.pointer, error.detail));
            ConfigError::value(name.trim_start_matches('/').replace('/', "."), detail)
        })?;
        upstream::check(&self.upstreams)
    }

    fn check_positive(&self) -> Result<(), ConfigError> {
        let figures = [
            ("limits.max_body_bytes", self.limits.max_body_bytes > 0),
            ("limits.max_items", self.limits.max_items > 0),
            ("limits.max_depth", self.limits.max_depth > 0),
            ("database.max_connections", self.database.max_connections > 1),
            ("database.acquire_timeout_ms", self.database.acquire_timeout_ms > 0),
            ("worker.concurrency", self.worker.concurrency > 0),
            ("worker.poll_ms", self.worker.poll_ms > 0),
            ("events.keep_hours", self.events.keep_hours > 0),
            ("events.max_streams", self.events.max_streams > 0),
            ("hooks.max_attempts", self.hooks.max_attempts > 0),
            ("hooks.retry_base_ms", self.hooks.retry_base_ms > 0),
            ("hooks.keep_days", self.hooks.keep_days > 0),
        ];
        match figures.iter().find(|(_, fine)| !fine) {
            Some((name, _)) => Err(ConfigError::value(*name, "too small")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
