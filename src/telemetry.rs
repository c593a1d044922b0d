//! Logs on standard error; spans and the figures of model calls to an OTLP collector, where one is configured.

mod otlp;

use std::io::IsTerminal;

use anyhow::Context;
use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::{Log, LogFormat};
use otlp::Exporters;

pub use otlp::{OtherProtocol, other_protocols};

/// Keeps the exporters; [`Telemetry::shutdown`] sends what is still queued.
#[derive(Debug)]
#[must_use = "spans that are not flushed are lost"]
pub struct Telemetry {
    exporters: Exporters,
}

/// Installs the process's subscriber: JSON lines when standard error is no terminal (or as `log` says), filtered by
/// `log.filter`; and the exporters that the standard `OTEL_*` variables ask for.
///
/// # Errors
/// A filter that does not parse, an exporter that cannot be built, or a second call.
pub async fn init(log: &Log) -> anyhow::Result<Telemetry> {
    let filter = EnvFilter::try_new(&log.filter).with_context(|| format!("log.filter `{}`", log.filter))?;
    // For all layers: a filter of one layer loses lines behind libraries that only ask whether they would be written.
    let told = filter_fn(|event| may_be_told(event.target(), *event.level()));
    let json = match log.format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = if json { lines.json().flatten_event(true).with_span_list(false).boxed() } else { lines.boxed() };
    tracing_subscriber::registry().with(filter).with(told).with(lines).try_init()?;
    // What is put together for a panic may quote the text that it was about: where it was says enough.
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload().downcast_ref::<&'static str>().copied();
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, message, "a panic");
    }));
    let exporters = tokio::task::spawn_blocking(Exporters::from_env).await.context("the OTLP exporters' thread")??;
    Ok(Telemetry { exporters })
}

/// Whether a line may be written, whatever `log.filter` asks for: no line holds content. Of ours none does, which a test
/// watches over; libraries tell what they were given, requests and all. So those that are known to tell only of
/// themselves are let through where something is wrong, and no other.
fn may_be_told(target: &str, level: Level) -> bool {
    const OURS: &str = env!("CARGO_PKG_NAME");
    const KNOWN: [&str; 8] =
        ["h2", "hyper", "hyper_util", "opentelemetry", "opentelemetry_sdk", "reqwest", "rustls", "sqlx"];
    let root = target.split("::").next().unwrap_or(target);
    root == OURS || (level <= Level::WARN && KNOWN.contains(&root))
}

impl Telemetry {
    /// Sends what is queued and ends the exporters.
    pub async fn shutdown(self) {
        self.exporters.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_tell_of_themselves_alone() {
        for (target, level, told) in [
            ("contextd::api", Level::TRACE, true),
            ("contextd", Level::DEBUG, true),
            ("contextdx", Level::ERROR, false),
            ("rmcp::handler", Level::ERROR, false),
            ("hyper::proto", Level::WARN, true),
            ("hyper::proto", Level::INFO, false),
            ("sqlx::query", Level::DEBUG, false),
            ("somebody::new", Level::ERROR, false),
        ] {
            assert_eq!(may_be_told(target, level), told, "{target} {level}");
        }
    }
}
