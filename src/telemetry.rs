//! Logs and traces: lines on standard error, spans to an OTLP collector when one is configured.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::{Log, LogFormat};

/// A collector that takes longer loses the last spans: nobody waits for it to stop.
const SHUTDOWN_WITHIN: Duration = Duration::from_millis(500);
const SERVICE: &str = "contextd";
const OTLP_VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Keeps the exporter; [`Telemetry::shutdown`] sends what is still queued.
#[derive(Debug)]
#[must_use = "spans that are not flushed are lost"]
pub struct Telemetry {
    provider: Option<SdkTracerProvider>,
}

/// Installs the process's subscriber: JSON lines when standard error is no terminal (or as `log` says), filtered by `log.filter`.
///
/// # Errors
/// A filter that does not parse, an exporter that cannot be built, or a second call.
pub async fn init(log: &Log) -> anyhow::Result<Telemetry> {
    let provider = if otlp_wanted() { Some(build_provider().await?) } else { None };
    let filter = EnvFilter::try_new(&log.filter).with_context(|| format!("log.filter `{}`", log.filter))?;
    let json = match log.format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = if json { lines.json().flatten_event(true).with_span_list(false).boxed() } else { lines.boxed() };
    let spans = provider.as_ref().map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer(SERVICE)));
    tracing_subscriber::registry().with(filter).with(lines).with(spans).try_init()?;
    Ok(Telemetry { provider })
}

impl Telemetry {
    /// Sends what is queued and ends the exporter.
    pub async fn shutdown(self) {
        let Some(provider) = self.provider else { return };
        // The exporter's HTTP client blocks, which an async thread must not.
        let sent = tokio::task::spawn_blocking(move || provider.shutdown());
        let outcome = tokio::time::timeout(SHUTDOWN_WITHIN, sent).await;
        if !matches!(outcome, Ok(Ok(Ok(())))) {
            tracing::warn!(?outcome, "the last spans were not exported");
        }
    }
}

fn otlp_wanted() -> bool {
    OTLP_VARIABLES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The endpoint, headers and sampling come from the standard `OTEL_*` variables.
async fn build_provider() -> anyhow::Result<SdkTracerProvider> {
    let exporter = tokio::task::spawn_blocking(|| opentelemetry_otlp::SpanExporter::builder().with_http().build())
        .await
        .context("the OTLP exporter's thread")?
        .context("the OTLP exporter")?;
    let mut resource = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name(SERVICE);
    }
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build())
}
