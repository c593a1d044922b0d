//! A transparent proxy in front of the providers' APIs: it hands every request on with the client's own key, keeps
//! the conversations among them, and sends a compacted context where one has grown too long.
//!
//! It fails open: whatever goes wrong here, the request goes on as it came, and `contextd-bypass` says why.

mod answer;
mod asked;
mod branches;
mod bypass;
mod compactor;
mod conversation;
mod handler;
mod headers;
mod identity;
mod incoming;
mod keeper;
mod known;
mod refusal;
mod room;
mod route;
mod said;
mod speaker;
mod speech;
mod splice;
mod stream_opening;
mod target;
mod trail;
mod trails;
mod unkept;
mod upstream;
mod usage;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;

use route::Provider;

pub use handler::{ProviderOptions, Proxy, ProxyOptions};

/// The providers' APIs, each under its prefix.
pub fn router(proxy: Proxy) -> Router {
    Router::new()
        .route("/openai/v1/{*path}", any(openai))
        .route("/anthropic/v1/{*path}", any(anthropic))
        .with_state(Arc::new(proxy))
}

async fn openai(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    proxy.answer(Provider::Openai, request).await
}

async fn anthropic(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    proxy.answer(Provider::Anthropic, request).await
}
