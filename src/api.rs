//! The HTTP face: routes, extractors, problem details, OpenAPI. `docs/API.md` says how to add an endpoint.

mod auth;
mod body;
mod bounds;
mod chapters;
mod check;
mod compactions;
mod composition;
mod context;
mod count;
mod docs;
mod entries;
mod erase;
mod events;
mod export;
mod framing;
mod hooks;
mod idempotency;
mod keys;
mod large;
mod lint;
mod local;
mod mcp;
mod metrics;
mod observe;
mod problem;
mod problem_code;
mod query;
mod request_id;
mod responses;
mod scope;
mod search;
mod service_face;
mod sessions;
mod settings;
mod state;
mod stateless;
mod stats;
mod streamed;
mod taken;
mod timeline;
mod tool_calls;
mod transcript;
mod tree;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::SwaggerUi;

use problem::Problem;
use problem_code::ProblemCode;

pub use bounds::{Bounds, crowded};
pub use framing::LengthSaidTwice;
pub use metrics::install as install_metrics;
pub use state::AppState;

/// The whole HTTP service.
pub fn router(state: AppState) -> Router {
    router_with(state, Router::new(), Router::new())
}

/// As [`router`], with pages within its bounds, and routes beside it that bound their requests themselves.
pub fn router_with(state: AppState, pages: Router, beside: Router) -> Router {
    // The middleware added last runs first.
    let tenants = resources()
        .route_layer(from_fn_with_state(state.clone(), idempotency::replay))
        .route_layer(from_fn_with_state(state.clone(), auth::authenticate));
    let mcp = mcp::routes(&state).route_layer(from_fn_with_state(state.clone(), auth::authenticate));
    let (router, api) = described().merge(service_face::routes()).merge(tenants).split_for_parts();
    let router = router
        .merge(mcp)
        .merge(docs_page(docs::complete(api)))
        .fallback(|| async { Problem::not_found("route") })
        .method_not_allowed_fallback(|| async {
            let detail = "the route does not take this method; the Allow header lists those it takes";
            Problem::new(ProblemCode::MethodNotAllowed, detail)
        })
        .merge(pages.with_state(()));
    around(router, beside, state)
}

/// The API's description as a page, which loads nothing of others and stands in no frame. Its styles are set by its script.
fn docs_page(document: serde_json::Value) -> Router<AppState> {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
        font-src 'self' data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
    let page: Router<AppState> = SwaggerUi::new("/docs").external_url_unchecked("/openapi.json", document).into();
    page.layer(map_response(async |mut response: Response| {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }))
}

/// Health, readiness and metrics alone: what a process that only works in the background answers.
pub fn service_router(state: AppState) -> Router {
    let (router, _) = described().merge(service_face::routes()).split_for_parts();
    around(router.fallback(|| async { Problem::not_found("route") }), Router::new(), state)
}

/// Wraps a router in the layers that every route is behind; those `beside` it have bounds of their own.
fn around(router: Router<AppState>, beside: Router, state: AppState) -> Router {
    let router = router.layer(from_fn_with_state((state.bounds.clone(), state.services.health.clone()), bounds::bound));
    let is_dev = state.dev;
    let router = router.with_state(state).merge(beside);
    let router = if is_dev { router.layer(from_fn(local::local_only)) } else { router };
    router.layer(from_fn(framing::well_framed)).layer(from_fn(observe::observe))
}

/// The OpenAPI document of [`router`].
pub fn openapi() -> serde_json::Value {
    docs::complete(described().merge(service_face::routes()).merge(resources()).into_openapi())
}

fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(docs::head())
}

/// Everything that belongs to a tenant.
fn resources() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(sessions::routes())
        .merge(erase::routes())
        .merge(entries::routes())
        .merge(transcript::routes())
        .merge(tree::routes())
        .merge(export::routes())
        .merge(tool_calls::routes())
        .merge(search::routes())
        .merge(chapters::routes())
        .merge(compactions::routes())
        .merge(composition::routes())
        .merge(timeline::routes())
        .merge(stats::routes())
        .merge(events::routes())
        .merge(context::routes())
        .merge(count::routes())
        .merge(lint::routes())
        .merge(stateless::routes())
        .merge(responses::routes())
        .merge(hooks::routes())
        .merge(keys::routes())
        .merge(settings::routes())
}

#[cfg(test)]
mod tests;
