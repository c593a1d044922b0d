//! Search over a session.

use axum::Json;
use axum::extract::State;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::problem::Result;
use super::query::{FromQuery, Ids, PageQuery, Params, Query};
use super::state::AppState;
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::recall::search::SearchPage;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct SearchQuery {
    /// Words, and phrases in double quotes; case does not matter. A word also finds the beginning of words and of
    /// parts of identifiers. 32 of them at most.
    #[param(min_length = 1, max_length = 1000)]
    q: String,
}

/// Text to look for.
struct SearchText(String);

impl FromQuery for (SearchText, PageRequest) {
    fn read(params: &mut Params) -> Option<Self> {
        let q = params.required("q");
        let page = params.page();
        Some((SearchText(q?), page))
    }
}

/// Full text over every entry of the session, on any branch, compacted or not; the best first.
#[utoipa::path(get, path = "/v1/sessions/{sid}/search", tag = "ledger",
    params(("sid" = Uuid, Path), SearchQuery, PageQuery), responses((status = 200, body = SearchPage)))]
async fn search(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query((wanted, page)): Query<(SearchText, PageRequest)>,
) -> Result<Json<SearchPage>> {
    Ok(Json(state.services.queries.search(tenant, sid, &wanted.0, page).await?))
}
