//! The one log line of a request.

use std::borrow::Cow;
use std::time::Instant;

use axum::body::HttpBody;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;
use uuid::Uuid;

use super::place::Place;
use crate::api::metrics;
use crate::api::problem_code::ProblemCode;
use crate::service::core::access::Access;
use crate::trace::{KeyValue, RefusalCode, Span};

/// Of the proxy's answers: the conversation's session, and why its request went on as it came.
const SESSION: HeaderName = HeaderName::from_static("contextd-session");
const BYPASS: HeaderName = HeaderName::from_static("contextd-bypass");

/// What is told of a request at its end.
pub(super) struct RequestLine {
    id: String,
    trace_id: Option<String>,
    place: Place,
    bytes_in: Option<u64>,
    span: Span,
    started: Instant,
    is_answered: bool,
}

impl RequestLine {
    pub(super) fn new(
        id: String,
        trace_id: Option<String>,
        place: Place,
        headers: &HeaderMap,
        span: Span,
    ) -> RequestLine {
        let bytes_in = content_length(headers);
        RequestLine { id, trace_id, place, bytes_in, span, started: Instant::now(), is_answered: false }
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }

    /// Tells of the answer, once its head is there.
    pub(super) fn answered(&mut self, response: &Response) {
        self.is_answered = true;
        let (took, status) = (self.started.elapsed(), response.status().as_u16());
        let access = response.extensions().get::<Access>();
        let (tenant, key) = (access.map(|access| access.tenant.0), access.and_then(|access| access.key_id));
        let code = code(response);
        let session = self.place.session.or_else(|| text(response, &SESSION)?.parse::<Uuid>().ok());
        metrics::request(&self.place.method, self.place.route(), status, took);
        self.span.set(|| {
            let status = KeyValue::new("http.response.status_code", i64::from(status));
            let tenant = tenant.map(|tenant| KeyValue::new("contextd.tenant.id", tenant.to_string()));
            let code = code.map(|code| KeyValue::new("contextd.problem.code", code));
            [status].into_iter().chain(tenant).chain(code).collect()
        });
        if response.status().is_server_error() {
            self.span.fail(code.map_or_else(|| Cow::Owned(status.to_string()), Cow::Borrowed));
        }
        tracing::info!(
            request_id = self.id,
            trace_id = self.trace_id,
            method = self.place.method_name(),
            route = self.place.route(),
            status,
            duration_ms = took.as_secs_f64() * 1_000.0,
            tenant = tenant.map(tracing::field::display),
            key = key.map(tracing::field::display),
            session = session.map(tracing::field::display),
            bytes_in = self.bytes_in,
            bytes_out = response.body().size_hint().exact(),
            code,
            bypass = text(response, &BYPASS),
            "request"
        );
    }
}

impl Drop for RequestLine {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        self.span.fail("abandoned");
        tracing::info!(
            request_id = self.id,
            trace_id = self.trace_id,
            method = self.place.method_name(),
            route = self.place.route(),
            duration_ms = self.started.elapsed().as_secs_f64() * 1_000.0,
            session = self.place.session.map(tracing::field::display),
            bytes_in = self.bytes_in,
            abandoned = true,
            "request"
        );
    }
}

fn code(response: &Response) -> Option<&'static str> {
    let problem = response.extensions().get::<ProblemCode>().map(|code| code.into_str());
    problem.or_else(|| response.extensions().get::<RefusalCode>().map(|code| code.0))
}

fn text<'r>(response: &'r Response, name: &HeaderName) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
