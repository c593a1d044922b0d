//! The context, ready to be sent to a provider.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::Faults;
use super::large;
use super::problem::Result;
use super::query::{FromQuery, Ids, Params, Query};
use super::state::AppState;
use crate::domain::format::openai_responses::ItemIds;
use crate::domain::model::format::Format;
use crate::service::core::tenant::Tenant;
use crate::service::rebuild::{Context, Rebuild};

/// Any more is no bound.
const MAX_TOKENS: u64 = u32::MAX as u64;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(rebuild_context)).routes(routes!(get_context))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RebuildContext {
    format: Format,
    /// Another leaf than the session's.
    leaf_id: Option<Uuid>,
    /// 422 `context_does_not_fit` where what must be kept is larger.
    #[schema(minimum = 1, maximum = 4_294_967_295_u64)]
    max_tokens: Option<u64>,
    /// Of `openai_responses`.
    item_ids: Option<ItemIds>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct GetContext {
    #[param(inline)]
    format: Format,
    /// Another leaf than the session's.
    leaf_id: Option<Uuid>,
    /// 422 `context_does_not_fit` where what must be kept is larger.
    #[param(minimum = 1, maximum = 4_294_967_295_u64)]
    max_tokens: Option<u64>,
    /// Of `openai_responses`.
    #[param(inline)]
    item_ids: Option<ItemIds>,
}

impl FromQuery for Rebuild {
    fn read(params: &mut Params) -> Option<Self> {
        let leaf_id = params.value("leaf_id", "an id");
        let max_tokens = params.in_range("max_tokens", 1..=MAX_TOKENS);
        let item_ids = params.value("item_ids", "sendable or given").unwrap_or_default();
        let Some(word) = params.text("format") else {
            params.fault("format", format!("is needed: {}", Format::names(Format::OF_CONTEXTS)));
            return None;
        };
        let format = word.parse::<Format>().ok();
        let format = format.filter(|format| !format.is_file_only());
        if format.is_none() {
            params.fault("format", format!("must be {}", Format::names(Format::OF_CONTEXTS)));
        }
        Some(Rebuild { format: format?, leaf_id, max_tokens, item_ids })
    }
}

/// Rebuilds the context in a provider's format.
#[utoipa::path(post, path = "/v1/sessions/{sid}/rebuild", tag = "context", params(("sid" = Uuid, Path)),
    request_body = RebuildContext, responses((status = 200, body = Context)))]
async fn rebuild_context(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<RebuildContext>,
) -> Result<Response> {
    let mut faults = Faults::default();
    faults.range("/max_tokens", body.max_tokens, 1..=MAX_TOKENS);
    faults.context_format("/format", Some(body.format));
    faults.finish()?;
    let RebuildContext { format, leaf_id, max_tokens, item_ids } = body;
    let rebuild = Rebuild { format, leaf_id, max_tokens, item_ids: item_ids.unwrap_or_default() };
    let mut context = state.services.sessions.rebuild(tenant, sid, rebuild).await?;
    let room = context.room.take();
    large::with_room(StatusCode::OK, context.bytes(), context, room).await
}

/// The same by GET.
#[utoipa::path(get, path = "/v1/sessions/{sid}/context", tag = "context", params(("sid" = Uuid, Path), GetContext),
    responses((status = 200, body = Context)))]
async fn get_context(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(rebuild): Query<Rebuild>,
) -> Result<Response> {
    let mut context = state.services.sessions.rebuild(tenant, sid, rebuild).await?;
    let room = context.room.take();
    large::with_room(StatusCode::OK, context.bytes(), context, room).await
}
