//! The proxy in front of providers' APIs.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

use super::error::ConfigError;

/// Whether the proxy is there, and what lies behind it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyConfig {
    pub enabled: bool,
    /// For our own part of a request; one that takes longer is handed on as it came.
    pub timeout_ms: u64,
    pub openai: ProxyUpstream,
    pub anthropic: ProxyUpstream,
}

/// A provider's API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyUpstream {
    /// With its version segment.
    pub base_url: String,
    #[serde(default)]
    pub compaction: AskedCompaction,
}

/// Who does a compaction that a request asks its provider for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedCompaction {
    /// The provider: the request goes on as it came.
    #[default]
    Forward,
    /// This service, for a provider that has none.
    Answer,
}

impl Default for ProxyConfig {
    fn default() -> Self {
        let at = |base_url: &str| ProxyUpstream { base_url: base_url.to_owned(), compaction: AskedCompaction::Forward };
        Self {
            enabled: false,
            timeout_ms: 2_000,
            openai: at("https://api.openai.com/v1"),
            anthropic: at("https://api.anthropic.com/v1"),
        }
    }
}

impl ProxyConfig {
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Refuses an upstream that is this service itself, which listens at `address`.
    ///
    /// # Errors
    /// The upstream's name.
    pub fn check_other_than(&self, address: SocketAddr) -> Result<(), ConfigError> {
        match self.upstreams().into_iter().find(|(_, upstream)| upstream.is_at(address)) {
            Some((name, _)) => Err(ConfigError::value(name, "is this service itself")),
            None => Ok(()),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.timeout_ms == 0 {
            return Err(ConfigError::value("proxy.timeout_ms", "out of range"));
        }
        match self.upstreams().into_iter().find(|(_, upstream)| upstream.url().is_none()) {
            Some((name, upstream)) => {
                let detail = format!("`{}` must be an http or https address without query or user", upstream.base_url);
                Err(ConfigError::value(name, detail))
            }
            None => Ok(()),
        }
    }

    fn upstreams(&self) -> [(&'static str, &ProxyUpstream); 2] {
        [("proxy.openai.base_url", &self.openai), ("proxy.anthropic.base_url", &self.anthropic)]
    }
}

impl ProxyUpstream {
    /// The address; `None`: it can't be one.
    fn url(&self) -> Option<Url> {
        let url = Url::parse(&self.base_url).ok()?;
        let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        (matches!(url.scheme(), "http" | "https") && is_plain && url.password().is_none()).then_some(url)
    }

    fn is_at(&self, address: SocketAddr) -> bool {
        let Some(url) = self.url().filter(|url| url.port_or_known_default() == Some(address.port())) else {
            return false;
        };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_every = address.ip().is_unspecified();
        match host.parse::<IpAddr>() {
            Ok(host) => host == address.ip() || (is_every && (host.is_loopback() || host.is_unspecified())),
            Err(_) => host == "localhost" && (is_every || address.ip().is_loopback()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        let at = |base_url: &str| ProxyUpstream { base_url: base_url.to_owned(), compaction: AskedCompaction::Forward };
        for fine in ["https://api.openai.com/v1", "http://127.0.0.1:9/v1/", "http://[::1]:1"] {
            assert!(at(fine).url().is_some(), "{fine}");
        }
        for bad in ["", "api.openai.com", "ftp://a/v1", "https://a/v1?x=1", "https://a/#b", "https://u:p@a/v1"] {
            assert!(at(bad).url().is_none(), "{bad}");
        }
    }

    #[test]
    fn it_knows_itself() {
        let is_at = |base_url: &str, address: &str| {
            ProxyUpstream { base_url: base_url.to_owned(), compaction: AskedCompaction::Forward }
                .is_at(address.parse().unwrap())
        };
        assert!(is_at("http://127.0.0.1:80/openai/v1", "127.0.0.1:80") && is_at("http://localhost/v1", "127.0.0.1:80"));
        assert!(is_at("http://[::1]:8080/v1", "[::1]:8080") && is_at("http://127.0.0.1:8080", "0.0.0.0:8080"));
        assert!(!is_at("http://127.0.0.1:81/v1", "127.0.0.1:80") && !is_at("https://api.openai.com/v1", "0.0.0.0:443"));
    }
}
