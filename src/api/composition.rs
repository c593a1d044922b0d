//! What fills a session's window now.

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
use crate::service::ops::composition::Composition;

const DEFAULT_LARGEST: usize = 10;
const MOST_LARGEST: usize = 100;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_composition))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct GetComposition {
    /// How many of the largest entries are named.
    #[param(minimum = 0, maximum = 100, default = 10)]
    largest: Option<usize>,
}

struct Largest(usize);

impl FromQuery for Largest {
    fn read(params: &mut Params) -> Option<Self> {
        Some(Largest(params.in_range("largest", 0..=MOST_LARGEST).unwrap_or(DEFAULT_LARGEST)))
    }
}

/// What fills the window now: by category, by tool, and the largest entries.
#[utoipa::path(get, path = "/v1/sessions/{sid}/composition", tag = "context",
    params(("sid" = Uuid, Path), GetComposition), responses((status = 200, body = Composition)))]
async fn get_composition(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(Largest(largest)): Query<Largest>,
) -> Result<Json<Composition>> {
    Ok(Json(state.services.queries.composition(tenant, sid, largest).await?))
}
