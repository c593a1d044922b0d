//! The router as one connection sees it.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use tower::Service;

use super::activity::Tracked;
use super::places::Admitted;
use crate::api::crowded;

pub struct Answering {
    pub router: Router,
    pub admitted: Admitted,
}

impl Answering {
    /// Answers one request; a newcomer among too many has probes answered and nothing else.
    pub fn answer(&self, request: Request) -> impl Future<Output = Result<Response, Infallible>> + use<> {
        let mut router = self.router.clone();
        let refused = if self.admitted.is_spare() { crowded(&request) } else { None };
        let busy = self.admitted.place().busy();
        async move {
            let response = match refused {
                Some(response) => response,
                None => router.call(request).await?,
            };
            // Until its last byte has been taken, the answer is under way.
            Ok(response.map(|body| Body::new(Tracked::new(body, busy))))
        }
    }
}
