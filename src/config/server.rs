//! Limits of the listener: how long each part of a request may take, and how much there may be at once.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::ui::Network;

/// Bodies of the largest size that are held at once when nothing is configured, for all tenants and for one.
const BODIES_AT_ONCE: usize = 8;
const BODIES_OF_A_TENANT: usize = 4;

/// Whether a header can carry a key as it is, and it is too long to be guessed by the way.
fn is_sent_whole(key: &SecretString) -> bool {
    let key = key.expose_secret();
    (16..=1_024).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Times and counts of connections and requests.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// From the first byte of a request, or from the start of a connection, to the end of its headers.
    pub header_timeout_ms: u64,
    /// For a body; larger ones get a second more for each 256 KiB that have come.
    pub body_timeout_ms: u64,
    /// How long a connection may stay open between two requests.
    pub idle_timeout_ms: u64,
    /// How long a client may leave its answer unread.
    pub write_timeout_ms: u64,
    /// From the end of the body to the beginning of the answer. What a call waits for by its own wish comes on top.
    pub request_timeout_ms: u64,
    /// Connections at once; fewer where the process may not open as many files.
    pub max_connections: usize,
    /// Bytes of bodies held at once; unset: [`BODIES_AT_ONCE`] of the largest allowed.
    pub max_buffered_bytes: Option<usize>,
    /// The same for one tenant; unset: [`BODIES_OF_A_TENANT`] of the largest allowed.
    pub max_buffered_bytes_per_tenant: Option<usize>,
    /// The nice value, 0 to 19, that long work is done at, beside the process's own. Linux only.
    pub background_nice: u8,
    /// What the cookies of `/ui` are signed with, the same for all processes of an installation. Without it a login holds
    /// at one process, until that ends.
    pub ui_secret: Option<SecretString>,
    /// Proxies in front of this service, by address or network: what they say in `X-Forwarded-For` is believed. It counts
    /// where wrong keys are paced by address.
    pub trusted_proxies: Vec<Network>,
    /// What `/metrics` wants as a bearer; unset, or with `--dev`: anybody may read it.
    pub metrics_key: Option<SecretString>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            header_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            idle_timeout_ms: 75_000,
            write_timeout_ms: 30_000,
            request_timeout_ms: 120_000,
            max_connections: 4096,
            max_buffered_bytes: None,
            max_buffered_bytes_per_tenant: None,
            background_nice: crate::background::STEP_BACK,
            ui_secret: None,
            trusted_proxies: Vec::new(),
            metrics_key: None,
        }
    }
}

impl Server {
    pub fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub fn body_timeout(&self) -> Duration {
        Duration::from_millis(self.body_timeout_ms)
    }

    pub fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }

    pub fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    /// Bytes of bodies held at once, where one body may have `max_body`.
    pub fn buffered(&self, max_body: usize) -> usize {
        self.max_buffered_bytes.unwrap_or_else(|| max_body.saturating_mul(BODIES_AT_ONCE))
    }

    /// The same for one tenant.
    pub fn buffered_per_tenant(&self, max_body: usize) -> usize {
        let given = self.max_buffered_bytes_per_tenant;
        given.unwrap_or_else(|| max_body.saturating_mul(BODIES_OF_A_TENANT)).min(self.buffered(max_body))
    }

    /// Each figure by name, with whether it can be.
    pub(super) fn figures(&self, max_body: usize) -> [(&'static str, bool); 11] {
        [
            ("server.header_timeout_ms", self.header_timeout_ms > 0),
            ("server.body_timeout_ms", self.body_timeout_ms > 0),
            ("server.idle_timeout_ms", self.idle_timeout_ms > 0),
            ("server.write_timeout_ms", self.write_timeout_ms > 0),
            ("server.request_timeout_ms", self.request_timeout_ms > 0),
            ("server.max_connections", self.max_connections > 0),
            ("server.background_nice", self.background_nice <= 19),
            ("server.ui_secret", self.ui_secret.as_ref().is_none_or(|secret| secret.expose_secret().len() >= 32)),
            ("server.metrics_key", self.metrics_key.as_ref().is_none_or(is_sent_whole)),
            // Else there are bodies that are allowed and never accepted.
            ("server.max_buffered_bytes", self.buffered(max_body) >= max_body),
            ("server.max_buffered_bytes_per_tenant", self.buffered_per_tenant(max_body) >= max_body),
        ]
    }
}
