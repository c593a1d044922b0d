//! Calls to models as OpenTelemetry's conventions for generative AI tell them: a span and two histograms for each attempt,
//! nothing of prompt or answer.

use std::sync::LazyLock;
use std::time::Duration;

use opentelemetry::global;
use opentelemetry::metrics::Histogram;
use reqwest::Url;

use super::answer::ModelAnswer;
use super::config::{UpstreamConfig, UpstreamKind};
use super::error::UpstreamError;
use super::usage::TokenUsage;
use crate::domain::model::message::Stop;
use crate::trace::{self, Beginning, KeyValue, Span, SpanKind};

const OPERATION: &str = "chat";
/// The conventions' bounds, seconds and tokens.
const DURATIONS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0,
    67108864.0,
];
/// How much of a model's name that an upstream reports is told.
const NAME_CHARS: usize = 128;

struct Instruments {
    duration: Histogram<f64>,
    tokens: Histogram<u64>,
}

/// Made at the first call: by then the exporter is there, or never will be.
static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(|| {
    let meter = global::meter(env!("CARGO_PKG_NAME"));
    let duration = meter.f64_histogram("gen_ai.client.operation.duration").with_unit("s");
    let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
    Instruments {
        duration: duration.with_description("GenAI operation duration.").with_boundaries(DURATIONS.to_vec()).build(),
        tokens: tokens
            .with_description("Number of input and output tokens used.")
            .with_boundaries(TOKENS.to_vec())
            .build(),
    }
});

/// One attempt, while it is made.
pub(super) struct Attempt<'a> {
    config: &'a UpstreamConfig,
    url: &'a Url,
    span: Span,
}

/// What an answer says of itself.
#[derive(Debug, Default)]
pub(super) struct Reported {
    usage: TokenUsage,
    model: Option<String>,
    stop: Option<Stop>,
}

impl Reported {
    pub(super) fn by(answer: &Result<ModelAnswer, UpstreamError>) -> Reported {
        let Ok(answer) = answer else { return Reported::default() };
        Reported { usage: answer.usage, model: answer.model.clone(), stop: Some(answer.stop) }
    }
}

impl<'a> Attempt<'a> {
    /// The `number`th attempt of a call, from 1.
    pub(super) fn begin(config: &'a UpstreamConfig, url: &'a Url, number: u32, max_tokens: u32) -> Attempt<'a> {
        let span = Span::child(|| {
            let mut attributes = common(config, url);
            attributes.push(KeyValue::new("gen_ai.request.max_tokens", i64::from(max_tokens)));
            attributes.push(KeyValue::new("contextd.upstream.name", config.name.clone()));
            attributes.extend(trace::conversation().map(|id| KeyValue::new("gen_ai.conversation.id", id)));
            if number > 1 {
                attributes.push(KeyValue::new("http.request.resend_count", i64::from(number - 1)));
            }
            Beginning::new(format!("{OPERATION} {}", config.model), SpanKind::Client, attributes)
        });
        Attempt { config, url, span }
    }

    pub(super) async fn within<F: Future>(&self, call: F) -> F::Output {
        self.span.within(call).await
    }

    /// `outcome`: `ok`, or the error's code.
    pub(super) fn end(self, reported: Reported, outcome: &'static str, took: Duration) {
        let Reported { usage, model, stop } = reported;
        let model = model.map(|model| KeyValue::new("gen_ai.response.model", clipped(&model)));
        let error = (outcome != "ok").then_some(outcome);
        self.span.set(|| {
            let figures = [
                ("gen_ai.usage.input_tokens", usage.input),
                ("gen_ai.usage.output_tokens", usage.output),
                ("gen_ai.usage.cache_read.input_tokens", usage.cached),
            ];
            let figures = figures.into_iter().filter(|(_, tokens)| *tokens > 0);
            let figures = figures.map(|(name, tokens)| KeyValue::new(name, i64::try_from(tokens).unwrap_or(i64::MAX)));
            figures.chain(model.clone()).chain(stop.map(finish_reasons)).collect()
        });
        if let Some(error) = error {
            self.span.fail(error);
        }
        self.measure(usage, model, error, took);
    }

    fn measure(&self, usage: TokenUsage, model: Option<KeyValue>, error: Option<&'static str>, took: Duration) {
        let mut attributes = common(self.config, self.url);
        attributes.extend(model);
        // Only what the upstream reports: an estimate is not to be told as usage.
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            if tokens > 0 {
                let kind = KeyValue::new("gen_ai.token.type", kind);
                let attributes: Vec<KeyValue> = attributes.iter().cloned().chain([kind]).collect();
                INSTRUMENTS.tokens.record(tokens, &attributes);
            }
        }
        attributes.extend(error.map(|error| KeyValue::new("error.type", error)));
        INSTRUMENTS.duration.record(took.as_secs_f64(), &attributes);
    }
}

fn common(config: &UpstreamConfig, url: &Url) -> Vec<KeyValue> {
    // By the API that it speaks: whose server stands behind an address can't be told.
    let provider = match config.kind {
        UpstreamKind::Anthropic => "anthropic",
        UpstreamKind::Openai | UpstreamKind::OpenaiResponses | UpstreamKind::Builtin => "openai",
    };
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", OPERATION),
        KeyValue::new("gen_ai.provider.name", provider),
        KeyValue::new("gen_ai.request.model", config.model.clone()),
        KeyValue::new("server.address", url.host_str().unwrap_or_default().to_owned()),
    ];
    attributes.extend(url.port_or_known_default().map(|port| KeyValue::new("server.port", i64::from(port))));
    attributes
}

fn finish_reasons(stop: Stop) -> KeyValue {
    let reason = match stop {
        Stop::Length => "length",
        Stop::ToolUse => "tool_calls",
        Stop::Refusal => "content_filter",
        Stop::Error => "error",
        _ => "stop",
    };
    let reasons: Vec<opentelemetry::StringValue> = vec![reason.into()];
    KeyValue::new("gen_ai.response.finish_reasons", opentelemetry::Value::Array(reasons.into()))
}

fn clipped(model: &str) -> String {
    model.chars().filter(|character| !character.is_control()).take(NAME_CHARS).collect()
}
