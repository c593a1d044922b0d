//! The whole transcript at once.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::check::{Faults, STATELESS_ITEMS, double_option};
use super::large;
use super::problem::{Problem, Result};
use super::query::Ids;
use super::state::AppState;
use crate::domain::model::format::Format;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::transcript::{Put, PutTranscript};
use crate::service::rebuild::Context;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_transcript))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WholeTranscript {
    format: Format,
    /// The raw history, or the last rebuilt context, with new messages behind it.
    #[schema(value_type = Vec<Object>, max_items = 20_000)]
    items: Vec<Box<RawValue>>,
    /// The system prompt; unchanged when left out, cleared by null.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<Value>)]
    system: Option<Option<Box<RawValue>>>,
    /// Tool definitions; unchanged when left out, cleared by null.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Option<Box<RawValue>>>,
    /// The provider's own usage object for the newest answer.
    #[schema(value_type = Option<Object>)]
    usage: Option<Value>,
    /// The answer carries the rebuilt context in this format.
    return_context: Option<Format>,
}

/// What was new, with the context if it was asked for.
#[derive(Serialize, ToSchema)]
struct PutAnswer {
    #[serde(flatten)]
    put: Put,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
}

/// Takes a whole transcript and appends what is new in it.
#[utoipa::path(put, path = "/v1/sessions/{sid}/transcript", tag = "entries", params(("sid" = Uuid, Path)),
    request_body = WholeTranscript, responses((status = 200, body = PutAnswer)))]
async fn put_transcript(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<WholeTranscript>,
) -> Result<Response> {
    let limit = STATELESS_ITEMS.max(state.services.sessions.options().max_items);
    if body.items.len() > limit {
        return Err(Problem::too_many_items(body.items.len(), limit));
    }
    let return_context = body.return_context;
    let put = checked(body)?;
    let (put, mut context) = state.services.sessions.put_transcript_returning(tenant, sid, put, return_context).await?;
    let room = context.as_mut().and_then(|context| context.room.take());
    let bytes = context.as_ref().map_or(0, Context::bytes) + put.bytes();
    large::with_room(StatusCode::OK, bytes, PutAnswer { put, context }, room).await
}

fn checked(body: WholeTranscript) -> Result<PutTranscript> {
    let mut faults = Faults::default();
    if body.usage.as_ref().is_some_and(|usage| !usage.is_object()) {
        faults.add("/usage", "must be an object");
    }
    let (system, tools) = (body.system.as_ref(), body.tools.as_ref());
    faults.documents(system.and_then(Option::as_deref), tools.and_then(Option::as_deref));
    faults.context_format("/format", Some(body.format));
    faults.context_format("/return_context", body.return_context);
    faults.finish()?;
    Ok(PutTranscript {
        format: body.format,
        items: body.items,
        system: body.system,
        tools: body.tools,
        usage: body.usage,
    })
}
