//! Routes for operators and their tools: is it alive, is it ready, how is it doing. No API key is needed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth;
use super::metrics;
use super::problem::{Problem, Result};
use super::problem_code::ProblemCode;
use super::state::AppState;
use crate::service::ops::readiness::Readiness;

/// A probe wants its answer sooner than the pool gives up.
const READY_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_SECONDS: u64 = 2;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(prometheus))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthAnswer {
    /// `ok` or `ready`.
    status: &'static str,
}

/// The process is alive.
#[utoipa::path(get, path = "/healthz", tag = "service", security(), responses((status = 200, body = HealthAnswer)))]
async fn healthz() -> Json<HealthAnswer> {
    Json(HealthAnswer { status: "ok" })
}

/// Requests can be sent here: the database answers, takes changes and has room for them, its schema is this version's,
/// and no shutdown has begun.
#[utoipa::path(get, path = "/readyz", tag = "service", security(), responses((status = 200, body = HealthAnswer)))]
async fn readyz(State(state): State<AppState>) -> Result<Json<HealthAnswer>> {
    if !state.ready.load(Ordering::Relaxed) {
        return Err(not_ready(ProblemCode::StartingOrDraining, "the process is starting or shutting down"));
    }
    match tokio::time::timeout(READY_TIMEOUT, state.services.health.readiness()).await {
        Ok(Ok(Readiness::Ready)) => Ok(Json(HealthAnswer { status: "ready" })),
        Ok(Ok(Readiness::SchemaOutdated)) => Err(not_ready(
            ProblemCode::SchemaOutdated,
            "the database schema is older than this version; run: contextd migrate",
        )),
        Ok(Ok(Readiness::ReadOnly)) => Err(not_ready(ProblemCode::ReadOnly, "the database takes no changes")),
        Ok(Ok(Readiness::StorageFull)) => {
            Err(not_ready(ProblemCode::StorageFull, "the database has no room left on its disk"))
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready");
            Err(not_ready(ProblemCode::Unavailable, "the database does not answer"))
        }
        Err(_) => Err(not_ready(ProblemCode::Unavailable, "the database does not answer in time")),
    }
}

fn not_ready(code: ProblemCode, detail: &str) -> Problem {
    Problem::new(code, detail).retry_after(RETRY_SECONDS)
}

/// Prometheus metrics in the text format. Figures over all sessions and jobs are those that were last counted;
/// `contextd_figures_timestamp_seconds` says when. Where the operator has set a key for it, it has to come as a bearer.
#[utoipa::path(get, path = "/metrics", tag = "service", operation_id = "metrics", security(),
    responses((status = 200, body = String, content_type = "text/plain")))]
async fn prometheus(State(state): State<AppState>, headers: HeaderMap) -> Result<impl IntoResponse> {
    auth::require(state.metrics_key.as_ref(), &headers)?;
    let text = metrics::render(&state.metrics, &state.services.health);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
