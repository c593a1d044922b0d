//! Compacting without a session.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::Body;
use super::check::{Faults, MAX_TITLE_CHARS, STATELESS_ITEMS};
use super::problem::{Problem, Result};
use super::state::AppState;
use super::{bounds, large};
use crate::domain::compaction::result::CompactionResult;
use crate::domain::model::format::Format;
use crate::domain::model::strategy::Strategy;
use crate::service::core::answer_room::AnswerRoom;
use crate::service::core::offload::size;
use crate::service::core::tenant::Tenant;
use crate::service::stateless::StatelessRequest;

/// More than the calls to a model take, each of which has a time of its own.
pub(super) const MODEL_TIME: Duration = Duration::from_secs(600);

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(compact_items))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CompactItems {
    format: Format,
    #[schema(value_type = Vec<Object>, max_items = 20_000)]
    items: Vec<Box<RawValue>>,
    #[schema(value_type = Option<Value>)]
    system: Option<Box<RawValue>>,
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Box<RawValue>>,
    /// As a session's.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
    strategy: Option<Strategy>,
    #[schema(max_length = 1000)]
    focus_topic: Option<String>,
}

/// The compacted transcript, in the format that it came in.
#[derive(Serialize, ToSchema)]
struct CompactedItems {
    /// Valid as they are.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Box<RawValue>>,
    /// The system prompt that goes with them.
    #[schema(value_type = Option<Value>)]
    system: Option<Box<RawValue>>,
    result: CompactionResult,
}

/// Compacts a transcript at once. Nothing is stored.
#[utoipa::path(post, path = "/v1/compact", tag = "compactions", request_body = CompactItems,
    responses((status = 200, body = CompactedItems)))]
async fn compact_items(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<CompactItems>,
) -> Result<Response> {
    let limit = STATELESS_ITEMS.max(state.services.sessions.options().max_items);
    if body.items.len() > limit {
        return Err(Problem::too_many_items(body.items.len(), limit));
    }
    bounds::allow(MODEL_TIME);
    let done = state.services.stateless.compact(tenant, checked(body)?, state.summariser.as_ref()).await?;
    let bytes = size(&done.messages);
    let answer = CompactedItems { messages: done.messages, system: done.system, result: done.result };
    let room = AnswerRoom::wait(tenant, bytes).await?;
    large::with_room(StatusCode::OK, bytes, answer, room).await
}

fn checked(body: CompactItems) -> Result<StatelessRequest> {
    let mut faults = Faults::default();
    faults.text("/focus_topic", body.focus_topic.as_deref(), MAX_TITLE_CHARS);
    faults.documents(body.system.as_deref(), body.tools.as_deref());
    faults.context_format("/format", Some(body.format));
    faults.finish()?;
    Ok(StatelessRequest {
        format: body.format,
        items: body.items,
        system: body.system,
        tools: body.tools,
        settings: body.settings.unwrap_or_default(),
        strategy: body.strategy,
        focus_topic: body.focus_topic,
    })
}
