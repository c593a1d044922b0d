//! The tables of the configuration, with their defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::proxy::ProxyConfig;
use super::server::Server;
use super::upstream::UpstreamSection;

/// Everything that is fixed while the process runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub listen: SocketAddr,
    /// Where the embedded database lives.
    pub data_dir: PathBuf,
    pub role: ProcessRole,
    /// No key is needed, loopback only, and the schema is brought up to date at the start.
    pub dev: bool,
    /// From the request to stop to the end of the process. Requests and jobs get the greater part of it.
    pub shutdown_ms: u64,
    pub log: Log,
    pub limits: LimitsConfig,
    pub server: Server,
    pub database: DatabaseConfig,
    pub worker: WorkerConfig,
    pub events: EventsConfig,
    pub hooks: HooksConfig,
    pub proxy: ProxyConfig,
    /// Server-wide defaults of the session settings.
    pub settings: Map<String, Value>,
    /// The first one is the default, unless one is named `default`. Never empty once loaded.
    pub upstreams: Vec<UpstreamSection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRole {
    All,
    Api,
    Worker,
}

impl ProcessRole {
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

/// Limits of one request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    pub max_body_bytes: usize,
    pub max_items: usize,
    /// Levels of JSON nesting.
    pub max_depth: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// A PostgreSQL to use in place of the embedded one.
    pub url: Option<SecretString>,
    /// The folder of `postgres` and `initdb` for the embedded one.
    pub pg_bin: Option<PathBuf>,
    pub max_connections: u32,
    pub acquire_timeout_ms: u64,
    /// Milliseconds after which PostgreSQL ends a statement, and a wait for a lock.
    pub statement_timeout_ms: u32,
    pub lock_timeout_ms: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerConfig {
    /// Jobs at the same time.
    pub concurrency: u32,
    /// How long a job stays with a worker that says nothing; unset: the longest upstream timeout plus [`LEASE_MARGIN`](super::LEASE_MARGIN), at least 30 s.
    pub lease_ms: Option<u64>,
    /// How often the queue is looked at when no notification comes.
    pub poll_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsConfig {
    /// How long events are kept for clients that come back.
    pub keep_hours: u32,
    /// Streams that a tenant may have open at this process.
    pub max_streams: usize,
}

/// How hooks are called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HooksConfig {
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

impl Default for HooksConfig {
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
            role: ProcessRole::All,
            dev: false,
            shutdown_ms: 10_000,
            log: Log::default(),
            limits: LimitsConfig::default(),
            server: Server::default(),
            database: DatabaseConfig::default(),
            worker: WorkerConfig::default(),
            events: EventsConfig::default(),
            hooks: HooksConfig::default(),
            proxy: ProxyConfig::default(),
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

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { max_body_bytes: 32 * 1024 * 1024, max_items: 1000, max_depth: 64 }
    }
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            url: None,
            pg_bin: None,
            max_connections: 20,
            acquire_timeout_ms: 10_000,
            statement_timeout_ms: 30_000,
            lock_timeout_ms: 10_000,
        }
    }
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { concurrency: 4, lease_ms: None, poll_ms: 1000 }
    }
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self { keep_hours: 7 * 24, max_streams: 256 }
    }
}
