//! Logs on standard error; spans and the figures of model calls to an OTLP collector, where one is configured.

mod otlp;

use std::io::IsTerminal;

use anyhow::Context;
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
    let json = match log.format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = if json { lines.json().flatten_event(true).with_span_list(false).boxed() } else { lines.boxed() };
    tracing_subscriber::registry().with(filter).with(lines).try_init()?;
    let exporters = tokio::task::spawn_blocking(Exporters::from_env).await.context("the OTLP exporters' thread")??;
    Ok(Telemetry { exporters })
}

impl Telemetry {
    /// Sends what is queued and ends the exporters.
    pub async fn shutdown(self) {
        self.exporters.shutdown().await;
    }
}
