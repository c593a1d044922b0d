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
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::recall::tool_calls::{ToolCallDetail, ToolCallRow};

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

/// A call and its whole original result.
#[utoipa::path(get, path = "/v1/sessions/{sid}/tool-calls/{tool_call_id}", tag = "ledger",
    params(("sid" = Uuid, Path), ("tool_call_id" = String, Path)), responses((status = 200, body = ToolCallDetail)))]
async fn get_tool_call(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids((sid, tool_call_id)): Ids<(Uuid, String)>,
) -> Result<Response> {
    let call = state.services.queries.tool_call(tenant, sid, &tool_call_id).await?;
    large::json(tenant, call.bytes(), call).await
}

/// The files that calls on the leaf's path read, changed and deleted, and the paths that calls of other tools name.
#[utoipa::path(get, path = "/v1/sessions/{sid}/files", tag = "ledger", params(("sid" = Uuid, Path)),
    responses((status = 200, body = SessionFiles)))]
async fn list_files(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Json<SessionFiles>> {
    Ok(Json(state.services.queries.files(tenant, sid).await?))
}
