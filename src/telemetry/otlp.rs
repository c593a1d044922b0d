//! The OTLP exporters. Endpoints, headers, sampling, batches and limits come from the standard `OTEL_*` variables. What is
//! to be exported waits in bounded queues on threads of their own, so that a collector that is away holds nothing up.

use std::env;
use std::time::Duration;

use anyhow::Context;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, KeyValue, global};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::service::core::clock;
use crate::trace;

/// A collector that takes longer loses the last spans: nobody waits for it to stop.
const SHUTDOWN_WITHIN: Duration = Duration::from_millis(500);
const SERVICE: &str = "contextd";

/// What is spoken; gRPC and JSON are not.
const PROTOCOL: &str = "http/protobuf";

/// A variable that asks for a protocol that is not spoken.
#[derive(Debug, PartialEq, Eq)]
pub struct OtherProtocol {
    pub variable: String,
    pub protocol: String,
}

/// What is exported.
#[derive(Debug, Default)]
pub(super) struct Exporters {
    spans: Option<SdkTracerProvider>,
    figures: Option<SdkMeterProvider>,
}

impl Exporters {
    /// Must not run on an async thread: the exporters' HTTP client blocks.
    ///
    /// # Errors
    /// An endpoint or a header that does not parse.
    pub(super) fn from_env() -> anyhow::Result<Exporters> {
        for OtherProtocol { variable, protocol } in other_protocols() {
            tracing::warn!(variable, protocol, "only `{PROTOCOL}` is spoken; that is sent to the endpoint");
        }
        let spans = if is_wanted("TRACES") { Some(spans().context("the OTLP exporter of spans")?) } else { None };
        let figures =
            if is_wanted("METRICS") { Some(figures().context("the OTLP exporter of metrics")?) } else { None };
        if let Some(spans) = &spans {
            trace::install(global::BoxedTracer::new(Box::new(spans.tracer(SERVICE))));
        }
        if let Some(figures) = &figures {
            global::set_meter_provider(figures.clone());
        }
        Ok(Exporters { spans, figures })
    }

    /// Sends what is queued, as long as that takes little time.
    pub(super) async fn shutdown(self) {
        let Exporters { spans, figures } = self;
        let spans = ended(move || spans.map_or(Ok(()), |spans| spans.shutdown()));
        let figures = ended(move || figures.map_or(Ok(()), |figures| figures.shutdown()));
        let both = async { tokio::join!(spans, figures) };
        if !matches!(tokio::time::timeout(SHUTDOWN_WITHIN, both).await, Ok((true, true))) {
            tracing::warn!("the last spans or metrics were not exported");
        }
    }
}

async fn ended(shutdown: impl FnOnce() -> OTelSdkResult + Send + 'static) -> bool {
    matches!(tokio::task::spawn_blocking(shutdown).await, Ok(Ok(())))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Of `TRACES` or `METRICS`: an endpoint is named, and nothing says that there is to be no export.
fn is_wanted(signal: &str) -> bool {
    let endpoint = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    let is_named = variable(&endpoint).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT")).is_some();
    let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
    if !is_named || is_disabled {
        return false;
    }
    let name = format!("OTEL_{signal}_EXPORTER");
    let exporter = variable(&name).unwrap_or_else(|| "otlp".to_owned());
    let wanted = exporter.split(',').any(|one| one.trim() == "otlp");
    if !wanted && exporter.trim() != "none" {
        tracing::warn!(variable = name, exporter, "only `otlp` and `none` are known; nothing is exported");
    }
    wanted
}

/// Variables that ask for another protocol of what is exported.
pub fn other_protocols() -> Vec<OtherProtocol> {
    let mut found: Vec<OtherProtocol> =
        ["TRACES", "METRICS"].into_iter().filter(|signal| is_wanted(signal)).filter_map(other_protocol).collect();
    found.dedup();
    found
}

fn other_protocol(signal: &str) -> Option<OtherProtocol> {
    let names = [format!("OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned()];
    let named = names.into_iter().find_map(|name| Some((variable(&name)?, name)));
    let (protocol, variable) = named.filter(|(protocol, _)| !protocol.trim().eq_ignore_ascii_case(PROTOCOL))?;
    Some(OtherProtocol { variable, protocol })
}

fn spans() -> anyhow::Result<SdkTracerProvider> {
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build()?;
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource()).build())
}

fn figures() -> anyhow::Result<SdkMeterProvider> {
    let exporter = opentelemetry_otlp::MetricExporter::builder().with_http().build()?;
    Ok(SdkMeterProvider::builder().with_periodic_exporter(exporter).with_resource(resource()).build())
}

/// What `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say, and what they leave open.
fn resource() -> Resource {
    let detected = Resource::builder().build();
    let name = detected.get(&Key::new("service.name"));
    let is_unnamed = name.is_none_or(|name| name.as_str().starts_with("unknown_service"));
    let own = [
        ("service.name", SERVICE.to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", clock::new_id().to_string()),
    ];
    let is_open = |key: &str| detected.get(&Key::new(key.to_owned())).is_none() || key == "service.name" && is_unnamed;
    let open = own.into_iter().filter(|(key, _)| is_open(key)).map(|(key, value)| KeyValue::new(key, value));
    Resource::builder().with_attributes(open).build()
}
