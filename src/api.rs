//! The HTTP face: routes, extractors, problem details, OpenAPI. `docs/API.md` says how to add an endpoint.

mod auth;
mod body;
mod chapters;
mod check;
mod compactions;
mod context;
mod count;
mod docs;
mod entries;
mod events;
mod export;
mod hooks;
mod idempotency;
mod lint;
mod mcp;
mod metrics;
mod observe;
mod problem;
mod query;
mod search;
mod service_face;
mod sessions;
mod stateless;
mod tool_calls;
mod transcript;
mod tree;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use metrics_exporter_prometheus::PrometheusHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::SwaggerUi;

pub use metrics::install as install_metrics;
use problem::Problem;

use crate::service::compactions::Summariser;
use crate::service::state::{Service, Tenant};

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    pub service: Service,
    /// No key is needed: every request works as `dev_tenant`.
    pub dev: bool,
    pub dev_tenant: Option<Tenant>,
    /// False while starting and while draining.
    pub ready: Arc<AtomicBool>,
    /// Writes the summaries of compactions that run inside a request.
    pub summariser: Arc<dyn Summariser>,
    /// Largest body, in bytes.
    pub max_body: usize,
    /// From [`install_metrics`].
    pub metrics: PrometheusHandle,
}

/// The whole HTTP service.
pub fn router(state: AppState) -> Router {
    // The middleware added last runs first.
    let tenants = resources()
        .route_layer(from_fn_with_state(state.clone(), idempotency::replay))
        .route_layer(from_fn_with_state(state.clone(), auth::authenticate));
    let mcp = mcp::routes(&state).route_layer(from_fn_with_state(state.clone(), auth::authenticate));
    let (router, api) = described().merge(service_face::routes()).merge(tenants).split_for_parts();
    router
        .merge(mcp)
        .merge(SwaggerUi::new("/docs").url("/openapi.json", docs::complete(api)))
        .fallback(|| async { Problem::not_found("route") })
        .method_not_allowed_fallback(|| async {
            let detail = "the route does not take this method; the Allow header lists those it takes";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(from_fn(observe::observe))
        .with_state(state)
}

/// Health, readiness and metrics alone: what a process that only works in the background answers.
pub fn service_router(state: AppState) -> Router {
    let (router, _) = described().merge(service_face::routes()).split_for_parts();
    router.fallback(|| async { Problem::not_found("route") }).layer(from_fn(observe::observe)).with_state(state)
}

/// The OpenAPI document of [`router`].
pub fn openapi() -> utoipa::openapi::OpenApi {
    docs::complete(described().merge(service_face::routes()).merge(resources()).into_openapi())
}

fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(docs::head())
}

/// Everything that belongs to a tenant.
fn resources() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(sessions::routes())
        .merge(entries::routes())
        .merge(transcript::routes())
        .merge(tree::routes())
        .merge(export::routes())
        .merge(tool_calls::routes())
        .merge(search::routes())
        .merge(chapters::routes())
        .merge(compactions::routes())
        .merge(events::routes())
        .merge(context::routes())
        .merge(count::routes())
        .merge(lint::routes())
        .merge(stateless::routes())
        .merge(hooks::routes())
}

#[cfg(test)]
mod tests;
