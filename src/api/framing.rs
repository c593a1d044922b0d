//! Requests whose ends nobody can be sure of, and tunnels: refused before anything else looks at them.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;

use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;

/// A request that the listener has seen say its length more than once, though its headers by now do not.
#[derive(Debug, Clone, Copy)]
pub struct LengthSaidTwice;

/// Around every request, inside its log line.
pub async fn well_framed(request: Request, next: Next) -> Result<Response> {
    if request.method() == Method::CONNECT {
        let problem = Problem::new(ProblemCode::MethodNotAllowed, "this is no proxy that makes tunnels");
        return Err(problem.header(header::ALLOW, HeaderValue::from_static("")));
    }
    let is_twice = request.extensions().get::<LengthSaidTwice>().is_some();
    if is_twice || !is_plainly_encoded(&request) {
        let detail =
            "the length of the body must be said once: by one Content-Length or one Transfer-Encoding: chunked";
        let problem = Problem::new(ProblemCode::BodyUnreadable, detail);
        return Err(problem.header(header::CONNECTION, HeaderValue::from_static("close")));
    }
    Ok(next.run(request).await)
}

/// No transfer coding, or `chunked` alone and once.
fn is_plainly_encoded(request: &Request) -> bool {
    let mut all = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let first = all.next();
    first.is_none_or(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) && all.next().is_none()
}
