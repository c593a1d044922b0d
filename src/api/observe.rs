//! Around every request: its id, one log line, its metrics, and a net under panics. Never logs content.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tracing::Instrument;

use super::problem::Problem;
use super::{metrics, request_id};
use crate::service::core::clock;
use crate::service::core::tenant::Tenant;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID_CHARS: usize = 128;

/// The outermost middleware.
pub async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = incoming_id(request.headers()).unwrap_or_else(|| clock::new_id().to_string());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let bytes_in = content_length(request.headers());
    let span = tracing::info_span!("request", request_id = %id);
    let header = HeaderValue::from_str(&id).ok();

    let answer = request_id::within(id.clone(), catch_panic(next.run(request)));
    let mut response = answer.instrument(span).await;

    if let Some(header) = header {
        // An answer that is handed on has its own.
        response.headers_mut().entry(REQUEST_ID).or_insert(header);
    }
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    record(&id, &method, route, &response, bytes_in, started.elapsed());
    response
}

async fn catch_panic(answer: impl Future<Output = Response>) -> Response {
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(
                request_id = request_id::current(),
                panic = panic_message(panic.as_ref()),
                "a handler panicked"
            );
            Problem::internal().into_response()
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("not a text")
}

fn record(id: &str, method: &Method, route: &str, response: &Response, bytes_in: Option<u64>, took: Duration) {
    let status = response.status().as_u16();
    let tenant = response.extensions().get::<Tenant>().map(|tenant| tenant.0);
    metrics::request(method, route, status, took);
    tracing::info!(
        request_id = id,
        method = method.as_str(),
        route,
        status,
        duration_ms = took.as_secs_f64() * 1_000.0,
        tenant = tenant.map(tracing::field::display),
        bytes_in,
        bytes_out = response.body().size_hint().exact(),
        "request"
    );
}

/// A client's own id, if it is one that can stand in a log line.
fn incoming_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    (plain && !id.is_empty() && id.len() <= MAX_REQUEST_ID_CHARS).then(|| id.to_owned())
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
