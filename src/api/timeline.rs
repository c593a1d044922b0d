//! How a session's context grew and shrank.

use axum::Json;
use axum::extract::State;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::problem::Result;
use super::query::{FromQuery, Ids, Params, Query};
use super::state::AppState;
use crate::service::core::tenant::Tenant;
use crate::service::ops::timeline::Timeline;

const DEFAULT_POINTS: usize = 200;
const LEAST_POINTS: usize = 10;
const MOST_POINTS: usize = 2_000;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_timeline))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct GetTimeline {
    /// How many points at most. Where the path has more answers, those before and after the compactions that shed most
    /// are among them.
    #[param(minimum = 10, maximum = 2000, default = 200)]
    points: Option<usize>,
}

struct Points(usize);

impl FromQuery for Points {
    fn read(params: &mut Params) -> Option<Self> {
        Some(Points(params.in_range("points", LEAST_POINTS..=MOST_POINTS).unwrap_or(DEFAULT_POINTS)))
    }
}

/// How the context grew and shrank: its size turn by turn, and what happened on the way.
#[utoipa::path(get, path = "/v1/sessions/{sid}/timeline", tag = "context", params(("sid" = Uuid, Path), GetTimeline),
    responses((status = 200, body = Timeline)))]
async fn get_timeline(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(Points(points)): Query<Points>,
) -> Result<Json<Timeline>> {
    Ok(Json(state.services.queries.timeline(tenant, sid, points).await?))
}
