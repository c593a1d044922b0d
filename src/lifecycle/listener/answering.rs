//! The router as one connection sees it.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use tower::Service;

use super::activity::Tracked;
use super::leftover::{Fate, Leftover};
use super::places::Admitted;
use crate::api::{LengthSaidTwice, crowded};

const CLOSE: HeaderValue = HeaderValue::from_static("close");

pub struct Answering {
    pub router: Router,
    pub admitted: Admitted,
    pub peer: SocketAddr,
}

impl Answering {
    /// Answers one request; a newcomer among too many has probes answered and nothing else. What is left of the body then
    /// is read, or the answer says that the connection ends with it.
    pub fn answer(&self, mut request: Request) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let mut router = self.router.clone();
        let refused = if self.admitted.is_spare() { crowded(&request) } else { None };
        let place = self.admitted.place();
        let (busy, is_ambiguous) = place.busy();
        request.extensions_mut().insert(ConnectInfo(self.peer));
        if is_ambiguous {
            request.extensions_mut().insert(LengthSaidTwice);
        }
        let (parts, body) = request.into_parts();
        let (body, leftover) = Leftover::watch(body, names(&parts.headers, header::EXPECT, b"100-continue"));
        let request = Request::from_parts(parts, body);
        async move {
            let mut response = match refused {
                Some(response) => {
                    drop(request);
                    response
                }
                None => router.call(request).await?,
            };
            if leftover.settle().await == Fate::Closed {
                response.headers_mut().insert(header::CONNECTION, CLOSE);
                place.linger();
            }
            // Until its last byte has been taken, the answer is under way.
            Ok(response.map(|body| Body::new(Tracked::new(body, busy))))
        }
    }
}

fn names(headers: &HeaderMap, name: HeaderName, value: &[u8]) -> bool {
    headers.get_all(name).iter().any(|one| one.as_bytes().eq_ignore_ascii_case(value))
}
