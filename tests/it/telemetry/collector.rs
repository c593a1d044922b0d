//! An OTLP collector that keeps what it is sent, and says it as a tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, Metric};
use opentelemetry_proto::tonic::trace::v1::Span as WireSpan;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};

use crate::patience::eventually;

pub type Attributes = BTreeMap<String, Value>;

const KINDS: [&str; 6] = ["", "internal", "server", "client", "producer", "consumer"];

/// A span as it came.
#[derive(Debug, Clone)]
pub struct Span {
    pub name: String,
    pub kind: &'static str,
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub state: String,
    pub attributes: Attributes,
    /// Trace and span of each link.
    pub links: Vec<(String, String)>,
    pub events: usize,
    pub is_error: bool,
    pub began: u64,
    pub ended: u64,
}

/// One series of a histogram as it came last.
#[derive(Debug, Clone)]
pub struct Series {
    pub unit: String,
    pub attributes: Attributes,
    pub count: u64,
    pub sum: f64,
    pub bounds: Vec<f64>,
}

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    /// By name and attributes.
    series: BTreeMap<String, (String, Series)>,
    resource: Attributes,
    headers: HeaderMap,
    exports: usize,
}

/// The running collector. It ends with the value.
pub struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Collector {
    pub async fn start() -> Collector {
        let received = Arc::new(Mutex::new(Received::default()));
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/v1/traces", post(traces))
            .route("/v1/metrics", post(metrics))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(received.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Collector { address, received, server }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All spans, in the order of their beginnings.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = self.received.lock().unwrap().spans.clone();
        spans.sort_by_key(|span| span.began);
        spans
    }

    /// The series of a histogram.
    pub fn series(&self, name: &str) -> Vec<Series> {
        let received = self.received.lock().unwrap();
        received.series.values().filter(|(one, _)| one == name).map(|(_, series)| series.clone()).collect()
    }

    pub fn resource(&self) -> Attributes {
        self.received.lock().unwrap().resource.clone()
    }

    /// A header of the newest export.
    pub fn header(&self, name: &str) -> Option<String> {
        let received = self.received.lock().unwrap();
        received.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    /// How often metrics came.
    pub fn exports(&self) -> usize {
        self.received.lock().unwrap().exports
    }

    /// Waits for a span; gives the first.
    pub async fn span(&self, what: &str, wanted: impl Fn(&Span) -> bool) -> Span {
        eventually(what, async || self.spans().into_iter().find(|span| wanted(span))).await
    }

    /// The spans right below this one.
    pub fn below(&self, parent: &Span) -> Vec<Span> {
        let spans = self.spans().into_iter();
        spans.filter(|span| span.trace == parent.trace && span.parent == parent.id).collect()
    }

    /// A span and all below it, a line each.
    pub fn tree(&self, root: &Span) -> String {
        let mut text = String::new();
        self.write(root, 0, &mut text);
        text
    }

    fn write(&self, span: &Span, depth: usize, text: &mut String) {
        let took = (span.ended - span.began) as f64 / 1e6;
        let error = if span.is_error { " ERROR" } else { "" };
        writeln!(text, "{}{} [{}] {took:.1} ms{error}", "  ".repeat(depth), span.name, span.kind).unwrap();
        for (trace, link) in &span.links {
            writeln!(text, "{}    link: {trace}/{link}", "  ".repeat(depth)).unwrap();
        }
        for (name, value) in &span.attributes {
            writeln!(text, "{}    {name}: {value}", "  ".repeat(depth)).unwrap();
        }
        for child in self.below(span) {
            self.write(&child, depth + 1, text);
        }
    }
}

/// A body as it was before it was compressed.
fn plain(headers: &HeaderMap, body: Bytes) -> Bytes {
    if headers.get("content-encoding").is_none_or(|encoding| encoding != "gzip") {
        return body;
    }
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(&*body).read_to_end(&mut whole).unwrap();
    whole.into()
}

async fn traces(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(plain(&headers, body)).unwrap();
    let mut received = received.lock().unwrap();
    received.headers = headers;
    for resource in request.resource_spans {
        received.resource = attributes(resource.resource.unwrap().attributes);
        for scope in resource.scope_spans {
            received.spans.extend(scope.spans.into_iter().map(span));
        }
    }
}

async fn metrics(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap, body: Bytes) {
    let request = ExportMetricsServiceRequest::decode(plain(&headers, body)).unwrap();
    let mut received = received.lock().unwrap();
    received.exports += 1;
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    for metric in scopes.flat_map(|scope| scope.metrics) {
        let Metric { name, unit, data: Some(Data::Histogram(histogram)), .. } = metric else { continue };
        for point in histogram.data_points {
            let HistogramDataPoint { count, sum, explicit_bounds: bounds, attributes: of, .. } = point;
            let attributes = attributes(of);
            let series =
                Series { unit: unit.clone(), count, sum: sum.unwrap(), bounds, attributes: attributes.clone() };
            received.series.insert(format!("{name} {attributes:?}"), (name.clone(), series));
        }
    }
}

fn span(wire: WireSpan) -> Span {
    Span {
        name: wire.name,
        kind: KINDS[usize::try_from(wire.kind).unwrap()],
        trace: hex(&wire.trace_id),
        id: hex(&wire.span_id),
        parent: hex(&wire.parent_span_id),
        state: wire.trace_state,
        attributes: attributes(wire.attributes),
        links: wire.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        events: wire.events.len(),
        is_error: wire.status.is_some_and(|status| status.code() == StatusCode::Error),
        began: wire.start_time_unix_nano,
        ended: wire.end_time_unix_nano,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(all: Vec<KeyValue>) -> Attributes {
    all.into_iter().map(|one| (one.key, value(one.value))).collect()
}

fn value(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::BoolValue(is)) => json!(is),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        Some(Any::ArrayValue(array)) => array.values.into_iter().map(|one| self::value(Some(one))).collect(),
        other => panic!("{other:?}"),
    }
}
