//! Around every request: its id, its span, one log line, its metrics, and a net under panics. Never tells content.

mod line;
mod place;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tracing::Instrument;

use super::problem::Problem;
use super::request_id;
use crate::service::core::clock;
use crate::trace::{Span, TraceContext};
use line::RequestLine;
use place::Place;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_REQUEST_ID_CHARS: usize = 128;

/// The outermost middleware.
pub async fn observe(request: Request, next: Next) -> Response {
    let id = incoming_id(request.headers()).unwrap_or_else(|| clock::new_id().to_string());
    let place = Place::of(&request);
    let came = TraceContext::of_headers(request.headers());
    let span = Span::of_request(came.as_ref(), || place.beginning(&id));
    let trace_id = span.context().map(|context| context.trace_id());
    let log = tracing::info_span!("request", request_id = %id, trace_id);
    let header = HeaderValue::from_str(&id).ok();
    // Written when it is dropped: a client that goes away leaves a line too.
    let mut line = RequestLine::new(id.clone(), trace_id, place, request.headers(), span);

    let answer = request_id::within(id, catch_panic(next.run(request)));
    let mut response = line.span().within(answer).instrument(log).await;

    if let Some(header) = header {
        // An answer that is handed on has its own.
        response.headers_mut().entry(REQUEST_ID).or_insert(header);
    }
    // Nobody guesses another type than the one that is said.
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    line.answered(&response);
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

/// What the source says. A message that was put together may quote a text that it was about.
fn panic_message(panic: &(dyn Any + Send)) -> &'static str {
    panic.downcast_ref::<&'static str>().copied().unwrap_or("(a message that may quote content)")
}

/// A client's own id, if it is one that can stand in a log line.
fn incoming_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    (plain && !id.is_empty() && id.len() <= MAX_REQUEST_ID_CHARS).then(|| id.to_owned())
}
