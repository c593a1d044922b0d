//! Sessions: create, list, read, change, erase, fork; their snapshot and their guard.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::{
    Faults, MAX_METADATA_VALUES, MAX_NAME_CHARS, MAX_TITLE_CHARS, STATES, double_option, metadata_value,
};
use super::problem::Result;
use super::query::{FromQuery, Ids, PageQuery, Params, Query};
use super::state::AppState;
use crate::domain::model::metadata::MetadataValue;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::core::page::{Page, PageRequest};
use crate::service::core::tenant::Tenant;
use crate::service::sessions::list::SessionFilter;
use crate::service::sessions::{NewSession, Session, SessionPatch};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_session, list_sessions))
        .routes(routes!(get_session, update_session, delete_session))
        .routes(routes!(get_session_by_external_id))
        .routes(routes!(fork_session))
        .routes(routes!(get_snapshot))
        .routes(routes!(reset_anti_thrash))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateSession {
    /// The client's own id for it; need not be unique.
    #[schema(max_length = 512)]
    external_id: Option<String>,
    #[schema(max_length = 1000)]
    title: Option<String>,
    /// Any object; kept as given.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// Decides the window where the settings do not.
    #[schema(max_length = 512)]
    model: Option<String>,
    /// A text or a list of blocks; kept as given.
    #[schema(value_type = Option<Value>)]
    system: Option<Box<RawValue>>,
    /// Tool definitions in the provider's format; kept as given.
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Box<RawValue>>,
    /// Names and ranges as in the session's `settings`.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
}

/// A merge patch: what is left out stays, null clears.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UpdateSession {
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 1000)]
    title: Option<Option<String>>,
    /// Merged key by key; a null value removes its key.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 512)]
    model: Option<Option<String>>,
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<Value>)]
    system: Option<Option<Box<RawValue>>>,
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Option<Box<RawValue>>>,
    /// Merged key by key; null returns a setting to its default. They act on the next check.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ForkSession {
    /// The last entry that the new session shares; the leaf when left out.
    entry_id: Option<Uuid>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct ListSessions {
    external_id: Option<String>,
    /// `green`, `yellow` or `red`.
    state: Option<String>,
    /// RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    updated_after: Option<String>,
    /// `metadata.KEY=VALUE` or `metadata[KEY]=VALUE`: a key at the top of the metadata and its value, a string as text, a
    /// number, a boolean or `null` as its JSON. Of several, up to 16, a session has all.
    #[param(value_type = Option<Object>, style = DeepObject, explode)]
    metadata: Option<Map<String, Value>>,
    /// `created` (the newest first), `activity` (the last changed first) or `size` (the most tokens first). The last two
    /// sort the newest 50,000 sessions, then the 50,000 before them, and so on.
    #[param(value_type = Option<String>, default = "created")]
    order: Option<String>,
    /// `tripped`: those alone whose anti-thrash guard held compactions back when they last changed.
    guard: Option<String>,
}

impl FromQuery for (SessionFilter, PageRequest) {
    fn read(params: &mut Params) -> Option<Self> {
        let state = |word: &str| STATES.contains(&word).then(|| word.to_owned());
        let filter = SessionFilter {
            external_id: params.text("external_id"),
            state: params.parsed("state", "green, yellow or red", state),
            updated_after: params.time("updated_after"),
            metadata: metadata(params),
            order: params.word("order").unwrap_or_default(),
            guard_tripped: params.parsed("guard", "tripped", |word| (word == "tripped").then_some(())).is_some(),
        };
        Some((filter, params.page()))
    }
}

fn metadata(params: &mut Params) -> Vec<MetadataValue> {
    let mut asked = params.with_prefix("metadata.");
    for (key, value) in params.with_prefix("metadata[") {
        match key.strip_suffix(']') {
            Some(key) => asked.push((key.to_owned(), value)),
            None => params.fault("metadata", "must be metadata.KEY or metadata[KEY]"),
        }
    }
    if asked.len() > MAX_METADATA_VALUES {
        params.fault("metadata", format!("must not be more than {MAX_METADATA_VALUES} keys"));
    }
    let mut values = Vec::new();
    for (key, value) in asked {
        match metadata_value(key, Some(value)) {
            Ok(value) => values.push(value),
            Err((key, fault)) => params.fault(&format!("metadata.{key}"), fault),
        }
    }
    values
}

/// Creates a session.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", request_body = CreateSession,
    responses((status = 201, body = Session)))]
async fn create_session(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<CreateSession>,
) -> Result<(StatusCode, Json<Session>)> {
    let mut faults = Faults::default();
    faults.text("/external_id", body.external_id.as_deref(), MAX_NAME_CHARS);
    faults.text("/title", body.title.as_deref(), MAX_TITLE_CHARS);
    faults.text("/model", body.model.as_deref(), MAX_NAME_CHARS);
    faults.json("/metadata", body.metadata.as_deref(), &['{'], "an object");
    faults.documents(body.system.as_deref(), body.tools.as_deref());
    faults.finish()?;
    let new = NewSession {
        external_id: body.external_id,
        title: body.title,
        metadata: body.metadata,
        model: body.model,
        system: body.system,
        tools: body.tools,
        settings: body.settings.unwrap_or_default(),
    };
    Ok((StatusCode::CREATED, Json(state.services.sessions.create_session(tenant, new).await?)))
}

/// Lists sessions, newest first.
///
/// A page looks at 50,000 sessions at most: where what is asked for is rarer than that, it may be short, or empty, and still
/// have a `next_cursor`. A session that changes its place in an order between two pages may be on both or on neither.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListSessions, PageQuery),
    responses((status = 200, body = Page<Session>)))]
async fn list_sessions(
    State(state): State<AppState>,
    tenant: Tenant,
    Query((filter, page)): Query<(SessionFilter, PageRequest)>,
) -> Result<Json<Page<Session>>> {
    Ok(Json(state.services.queries.sessions(tenant, filter, page).await?))
}

/// Reads a session.
#[utoipa::path(get, path = "/v1/sessions/{sid}", tag = "sessions", params(("sid" = Uuid, Path)),
    responses((status = 200, body = Session)))]
async fn get_session(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Json<Session>> {
    Ok(Json(state.services.queries.session(tenant, sid).await?))
}

/// Reads the session of an external id: the newest, where several have it.
#[utoipa::path(get, path = "/v1/sessions/by-external-id/{*external_id}", tag = "sessions",
    params(("external_id" = String, Path)), responses((status = 200, body = Session)))]
async fn get_session_by_external_id(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(external_id): Ids<String>,
) -> Result<Json<Session>> {
    Ok(Json(state.services.queries.session_by_external_id(tenant, &external_id).await?))
}

/// Changes a session. Settings act on the next check.
#[utoipa::path(patch, path = "/v1/sessions/{sid}", tag = "sessions", params(("sid" = Uuid, Path)),
    request_body = UpdateSession, responses((status = 200, body = Session)))]
async fn update_session(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<UpdateSession>,
) -> Result<Json<Session>> {
    let mut faults = Faults::default();
    faults.text("/title", body.title.as_ref().and_then(Option::as_deref), MAX_TITLE_CHARS);
    faults.text("/model", body.model.as_ref().and_then(Option::as_deref), MAX_NAME_CHARS);
    let (system, tools) = (body.system.as_ref(), body.tools.as_ref());
    faults.documents(system.and_then(Option::as_deref), tools.and_then(Option::as_deref));
    faults.finish()?;
    let patch = SessionPatch {
        title: body.title,
        metadata: body.metadata,
        model: body.model,
        system: body.system,
        tools: body.tools,
        settings: body.settings,
    };
    Ok(Json(state.services.sessions.patch_session(tenant, sid, patch).await?))
}

/// Erases a session and all it holds.
#[utoipa::path(delete, path = "/v1/sessions/{sid}", tag = "sessions", params(("sid" = Uuid, Path)),
    responses((status = 204)))]
async fn delete_session(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<StatusCode> {
    state.services.erasure.erase(tenant, sid).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a new session that shares the history up to an entry.
#[utoipa::path(post, path = "/v1/sessions/{sid}/fork", tag = "sessions", params(("sid" = Uuid, Path)),
    request_body = ForkSession, responses((status = 201, body = Session)))]
async fn fork_session(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<ForkSession>,
) -> Result<(StatusCode, Json<Session>)> {
    Ok((StatusCode::CREATED, Json(state.services.sessions.fork_session(tenant, sid, body.entry_id).await?)))
}

/// How full the window is.
#[utoipa::path(get, path = "/v1/sessions/{sid}/snapshot", tag = "sessions", params(("sid" = Uuid, Path)),
    responses((status = 200, body = Snapshot)))]
async fn get_snapshot(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<Json<Snapshot>> {
    Ok(Json(state.services.queries.snapshot(tenant, sid).await?))
}

/// Re-arms the anti-thrash guard.
#[utoipa::path(post, path = "/v1/sessions/{sid}/anti-thrash/reset", tag = "sessions", params(("sid" = Uuid, Path)),
    responses((status = 200, body = Snapshot)))]
async fn reset_anti_thrash(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
) -> Result<Json<Snapshot>> {
    Ok(Json(state.services.sessions.reset_anti_thrash(tenant, sid).await?))
}
