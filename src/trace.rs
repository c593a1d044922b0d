//! Spans, and the W3C context that ties them to those of others. Where nothing is exported no span is made, and the
//! context that came in goes on as it came. A client's baggage is never read.

mod context;

use std::borrow::Cow;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::OnceLock;

use opentelemetry::Context;
use opentelemetry::context::{FutureExt, WithContext};
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Link, SpanBuilder, Status, TraceContextExt, Tracer};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub use context::TraceContext;
pub use opentelemetry::KeyValue;
pub use opentelemetry::trace::SpanKind;

static TRACER: OnceLock<BoxedTracer> = OnceLock::new();

/// From now on spans are made, by this tracer.
pub fn install(tracer: BoxedTracer) {
    let _ = TRACER.set(tracer);
}

/// Name, kind and attributes that a span begins with.
pub struct Beginning {
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub attributes: Vec<KeyValue>,
}

impl Beginning {
    pub fn new(name: impl Into<Cow<'static, str>>, kind: SpanKind, attributes: Vec<KeyValue>) -> Beginning {
        Beginning { name: name.into(), kind, attributes }
    }
}

/// Code of a refusal that is no problem document: an extension of its answer, for the log line.
#[derive(Debug, Clone, Copy)]
pub struct RefusalCode(pub &'static str);

/// Session that the work at hand is for.
struct Conversation(String);

/// A span, from its making until it is dropped. Without an exporter it is the context that work goes on in, or nothing.
#[derive(Debug)]
#[must_use = "a span ends when it is dropped"]
pub struct Span(Option<Context>);

impl Span {
    /// Of a request that came with `parent`.
    pub fn of_request(parent: Option<&TraceContext>, begin: impl FnOnce() -> Beginning) -> Span {
        let remote = parent.map(|parent| Context::new().with_remote_span_context(parent.span_context().clone()));
        match TRACER.get() {
            None => Span(remote),
            Some(tracer) => Span::made(tracer, remote.unwrap_or_default(), builder(begin())),
        }
    }

    /// Of a piece of work that `cause` has queued: the root of a trace of its own, with a link. Without an exporter the
    /// work goes on in the trace of its cause.
    pub fn of_queued(cause: Option<&TraceContext>, begin: impl FnOnce() -> Beginning) -> Span {
        match TRACER.get() {
            None => Span(cause.map(|cause| Context::new().with_remote_span_context(cause.span_context().clone()))),
            Some(tracer) => {
                let links = cause.map(|cause| Link::with_context(cause.span_context().clone()));
                Span::made(tracer, Context::new(), builder(begin()).with_links(links.into_iter().collect()))
            }
        }
    }

    /// Below the span at hand.
    pub fn child(begin: impl FnOnce() -> Beginning) -> Span {
        match TRACER.get() {
            None => Span(None),
            Some(tracer) => Span::made(tracer, Context::current(), builder(begin())),
        }
    }

    fn made(tracer: &BoxedTracer, parent: Context, builder: SpanBuilder) -> Span {
        let span = tracer.build_with_context(builder, &parent);
        Span(Some(parent.with_span(span)))
    }

    /// What is done within it is for this session; see [`conversation`].
    pub fn for_conversation(mut self, id: &impl Display) -> Span {
        if let Some(context) = self.0.take_if(|_| TRACER.get().is_some()) {
            self.0 = Some(context.with_value(Conversation(id.to_string())));
        }
        self
    }

    /// Does work within it: spans made meanwhile are below it, calls made meanwhile name it as their parent. The work is
    /// boxed, since futures within futures would grow beyond a thread's stack.
    pub fn within<F: Future>(&self, work: F) -> Pin<Box<WithContext<F>>> {
        Box::pin(work.with_context(self.0.clone().unwrap_or_else(Context::current)))
    }

    /// Adds attributes; they are made only where the span is recorded.
    pub fn set(&self, attributes: impl FnOnce() -> Vec<KeyValue>) {
        let Some(context) = &self.0 else { return };
        let span = context.span();
        if span.is_recording() {
            span.set_attributes(attributes());
        }
    }

    /// Marks it as failed, by a word that stands for few causes.
    pub fn fail(&self, error_type: impl Into<Cow<'static, str>>) {
        let Some(context) = &self.0 else { return };
        let error_type = error_type.into();
        context.span().set_attribute(KeyValue::new("error.type", error_type));
        context.span().set_status(Status::error(""));
    }

    /// Context that calls made within it carry.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().and_then(TraceContext::of)
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.span().end();
        }
    }
}

fn builder(Beginning { name, kind, attributes }: Beginning) -> SpanBuilder {
    SpanBuilder::from_name(name).with_kind(kind).with_attributes(attributes)
}

/// Does a part of the work at hand within a span of its own.
pub fn stage<F: Future>(name: &'static str, work: F) -> impl Future<Output = F::Output> + use<F> {
    let work = Box::pin(work);
    async move { Span::child(|| Beginning::new(name, SpanKind::Internal, Vec::new())).within(work).await }
}

/// Work for a task of its own that goes on in the context at hand.
pub fn carried_over<F: Future>(work: F) -> impl Future<Output = F::Output> {
    work.with_current_context()
}

/// Context of the work at hand: its span, or what came in.
pub fn current() -> Option<TraceContext> {
    Context::map_current(TraceContext::of)
}

/// Session that the work at hand is for, where a span says so.
pub fn conversation() -> Option<String> {
    Context::map_current(|context| context.get::<Conversation>().map(|conversation| conversation.0.clone()))
}

/// Puts the context of the work at hand on a call.
pub fn inject(headers: &mut HeaderMap) {
    let Some(context) = current() else { return };
    let state = context.tracestate().map(|state| (context::TRACESTATE, state));
    for (name, value) in [(context::TRACEPARENT, context.traceparent())].into_iter().chain(state) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}
