//! Search over a session, and over all of them.

use axum::Json;
use axum::extract::State;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::problem::Result;
use super::query::{FromQuery, Ids, PageQuery, Params, Query};
use super::state::AppState;
use crate::service::core::access::Access;
use crate::service::core::page::PageRequest;
use crate::service::core::tenant::Tenant;
use crate::service::recall::search::SearchPage;
use crate::service::recall::search_all::SearchAllPage;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search)).routes(routes!(search_all))
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
///
/// A number of the record, `#47` or `u12`, finds that call and its result, or that message of the user's, before all else.
#[utoipa::path(get, path = "/v1/sessions/{sid}/search", tag = "ledger",
    params(("sid" = Uuid, Path), SearchQuery, PageQuery), responses((status = 200, body = SearchPage)))]
async fn search(
    State(state): State<AppState>,
    access: Access,
    Ids(sid): Ids<Uuid>,
    Query((wanted, page)): Query<(SearchText, PageRequest)>,
) -> Result<Json<SearchPage>> {
    Ok(Json(state.services.queries.search(access, sid, &wanted.0, page).await?))
}

/// Full text over every entry of all sessions, the newest session first, and in each the newest entry.
///
/// An answer looks at up to 10,000 sessions, 50,000 entries or 64 MiB, and for about five seconds. Where that is not all,
/// `complete` is false, and `next_cursor` goes on: only when `complete` is true has everything been looked at. An entry has
/// every word of the query.
#[utoipa::path(get, path = "/v1/search", tag = "ledger", params(SearchQuery, PageQuery),
    responses((status = 200, body = SearchAllPage)))]
async fn search_all(
    State(state): State<AppState>,
    tenant: Tenant,
    Query((wanted, page)): Query<(SearchText, PageRequest)>,
) -> Result<Json<SearchAllPage>> {
    Ok(Json(state.services.queries.search_all(tenant, &wanted.0, page).await?))
}
