//! Entries: append, list, read.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::{Faults, double_option};
use super::large;
use super::problem::{Problem, Result};
use super::query::{FromQuery, Ids, PageQuery, Params, Query};
use super::state::AppState;
use crate::domain::model::format::Format;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::{Append, Appended};
use crate::service::path::entries::{EntryQuery, EntryView};
use crate::service::rebuild::Context;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(append_entries, list_entries)).routes(routes!(get_entry))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AppendEntries {
    format: Format,
    /// Items of that format, in order. All land or none.
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    items: Vec<Box<RawValue>>,
    /// The entry to append under; the leaf when left out.
    parent_id: Option<Uuid>,
    /// 409 `leaf_moved` unless this is the leaf; null: unless the session is empty.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<Uuid>)]
    expected_leaf_id: Option<Option<Uuid>>,
    /// The provider's own usage object for the newest answer.
    #[schema(value_type = Option<Object>)]
    usage: Option<Value>,
    /// The text of a failed model call.
    provider_error: Option<String>,
    /// The answer carries the rebuilt context in this format.
    return_context: Option<Format>,
}

/// What an append did, with the context if it was asked for.
#[derive(Serialize, ToSchema)]
struct AppendAnswer {
    #[serde(flatten)]
    appended: Appended,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct ListEntries {
    /// The path from the root to this entry; to the session's leaf when left out.
    leaf_id: Option<Uuid>,
    /// Every branch, in the order of arrival.
    all: Option<bool>,
}

impl FromQuery for (EntryQuery, PageRequest) {
    fn read(params: &mut Params) -> Option<Self> {
        let leaf_id = params.value("leaf_id", "an id");
        let all = params.value("all", "true or false").unwrap_or_default();
        if all && leaf_id.is_some() {
            params.fault("all", "can't be combined with leaf_id");
        }
        Some((EntryQuery { leaf_id, all }, params.page()))
    }
}

/// Appends items: all of them, in order, or none.
#[utoipa::path(post, path = "/v1/sessions/{sid}/entries", tag = "entries", params(("sid" = Uuid, Path)),
    request_body = AppendEntries, responses((status = 201, body = AppendAnswer)))]
async fn append_entries(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<AppendEntries>,
) -> Result<Response> {
    let limit = state.services.sessions.options().max_items;
    if body.items.len() > limit {
        return Err(Problem::too_many_items(body.items.len(), limit));
    }
    let return_context = body.return_context;
    let append = checked(body)?;
    let (appended, mut context) = state.services.sessions.append_returning(tenant, sid, append, return_context).await?;
    let room = context.as_mut().and_then(|context| context.room.take());
    let bytes = context.as_ref().map_or(0, Context::bytes) + appended.bytes();
    large::with_room(StatusCode::CREATED, bytes, AppendAnswer { appended, context }, room).await
}

fn checked(body: AppendEntries) -> Result<Append> {
    let mut faults = Faults::default();
    if body.usage.as_ref().is_some_and(|usage| !usage.is_object()) {
        faults.add("/usage", "must be an object");
    }
    if body.parent_id.is_some() && body.expected_leaf_id == Some(None) {
        faults.add("/parent_id", "an empty session has no entry to append under");
    }
    faults.context_format("/return_context", body.return_context);
    faults.finish()?;
    Ok(Append {
        format: body.format,
        items: body.items,
        parent_id: body.parent_id,
        expected_leaf_id: body.expected_leaf_id,
        usage: body.usage,
        is_whole: false,
        provider_error: body.provider_error,
    })
}

/// Lists entries: a path, root to leaf, or every branch.
#[utoipa::path(get, path = "/v1/sessions/{sid}/entries", tag = "entries",
    params(("sid" = Uuid, Path), ListEntries, PageQuery), responses((status = 200, body = Page<EntryView>)))]
async fn list_entries(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query((query, page)): Query<(EntryQuery, PageRequest)>,
) -> Result<Response> {
    let page = state.services.queries.entries(tenant, sid, query, page).await?;
    let bytes = page.items.iter().map(EntryView::bytes).sum();
    large::json(tenant, bytes, page).await
}

/// Reads one entry, whole, however often it was compacted away.
#[utoipa::path(get, path = "/v1/sessions/{sid}/entries/{eid}", tag = "entries",
    params(("sid" = Uuid, Path), ("eid" = Uuid, Path)), responses((status = 200, body = EntryView)))]
async fn get_entry(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids((sid, eid)): Ids<(Uuid, Uuid)>,
) -> Result<Response> {
    let entry = state.services.queries.entry(tenant, sid, eid).await?;
    large::json(tenant, entry.bytes(), entry).await
}
