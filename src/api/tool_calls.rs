//! The ledger of tool calls and the files that they touched.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::large;
use super::problem::Result;
use super::query::{Ids, PageQuery, Query};
use super::state::AppState;
use crate::domain::model::compaction::SessionFiles;
use crate::service::core::access::Access;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::recall::tool_calls::{RecalledItem, ToolCallRow};

/// What may stand in place of a call's id.
const NUMBER: &str = "The call's id, or a number as the record in the context prints it: `#47` (in a URL `%2347`) is the 47th \
    call of the path, `u12` the twelfth message of the user's own. `47` alone is a call's number too. What is the id of a call \
    on the path is that call's.";

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_tool_calls)).routes(routes!(get_tool_call)).routes(routes!(list_files))
}

/// Every call on the leaf's path, in order. Compaction never removes one.
#[utoipa::path(get, path = "/v1/sessions/{sid}/tool-calls", tag = "ledger", params(("sid" = Uuid, Path), PageQuery),
    responses((status = 200, body = Page<ToolCallRow>)))]
async fn list_tool_calls(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<ToolCallRow>>> {
    Ok(Json(state.services.queries.tool_calls(tenant, sid, page).await?))
}

/// A call and its whole original result, or a message of the user's own.
///
/// A message is asked for by its number, such as `u12`. For a key that may only read, secrets in it are replaced as in the
/// record. A number that leads nowhere is 404, and `detail` says which numbers there are.
#[utoipa::path(get, path = "/v1/sessions/{sid}/tool-calls/{tool_call_id}", tag = "ledger",
    params(("sid" = Uuid, Path), ("tool_call_id" = String, Path, description = NUMBER)),
    responses((status = 200, body = RecalledItem)))]
async fn get_tool_call(
    State(state): State<AppState>,
    access: Access,
    Ids((sid, tool_call_id)): Ids<(Uuid, String)>,
) -> Result<Response> {
    let found = state.services.queries.recalled(access, sid, &tool_call_id).await?;
    large::json(access.tenant, found.bytes(), found).await
}

/// The files that calls on the leaf's path read, changed and deleted, and the paths that calls of other tools name.
#[utoipa::path(get, path = "/v1/sessions/{sid}/files", tag = "ledger", params(("sid" = Uuid, Path)),
    responses((status = 200, body = SessionFiles)))]
async fn list_files(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Json<SessionFiles>> {
    Ok(Json(state.services.queries.files(tenant, sid).await?))
}
