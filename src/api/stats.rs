//! A tenant at a glance.

use axum::Json;
use axum::extract::State;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Result;
use super::query::{FromQuery, Params, Query};
use super::state::AppState;
use crate::service::core::tenant::Tenant;
use crate::service::ops::stats::{Stats, StatsRequest};

/// A minute to a year.
const BUCKET_SECONDS: std::ops::RangeInclusive<i64> = 60..=31_536_000;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_stats))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct GetStats {
    /// Compactions that ended at this time or later; a day ago where it is left out. RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
    /// Seconds of a bucket of the series; there may be 500 of them. A 24th of the time where it is left out.
    #[param(minimum = 60, maximum = 31_536_000)]
    bucket: Option<i64>,
}

impl FromQuery for StatsRequest {
    fn read(params: &mut Params) -> Option<Self> {
        Some(StatsRequest { since: params.time("since"), bucket_seconds: params.in_range("bucket", BUCKET_SECONDS) })
    }
}

/// The tenant at a glance: its sessions, its compactions and what they brought, upstreams and queue.
#[utoipa::path(get, path = "/v1/stats", tag = "stats", params(GetStats), responses((status = 200, body = Stats)))]
async fn get_stats(
    State(state): State<AppState>,
    tenant: Tenant,
    Query(asked): Query<StatsRequest>,
) -> Result<Json<Stats>> {
    Ok(Json(state.services.queries.stats(tenant, asked).await?))
}
