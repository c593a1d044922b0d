//! Counting without a session.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::Body;
use super::check::Faults;
use super::problem::{Problem, Result};
use super::state::AppState;
use crate::domain::model::format::Format;
use crate::domain::model::handle;
use crate::domain::model::json;
use crate::domain::model::message::{Message, Role};
use crate::domain::settings::Estimator;
use crate::domain::{format, tokens};
use crate::service::core::handles::OpenedHandles;
use crate::service::core::offload::{load, offload};
use crate::service::core::tenant::Tenant;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(count_tokens))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CountTokens {
    format: Format,
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    items: Vec<Box<RawValue>>,
    /// A text or a list of blocks.
    #[schema(value_type = Option<Value>)]
    system: Option<Box<RawValue>>,
    /// Tool definitions.
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Box<RawValue>>,
    /// `o200k` when left out.
    estimator: Option<Estimator>,
}

/// `tokens` is the sum of `per_item`, the system prompt and the tools.
#[derive(Debug, Serialize, ToSchema)]
struct Count {
    tokens: u64,
    per_item: Vec<u32>,
}

/// Counts the tokens of items, system prompt and tools.
#[utoipa::path(post, path = "/v1/count", tag = "context", request_body = CountTokens,
    responses((status = 200, body = Count)))]
async fn count_tokens(
    State(state): State<AppState>,
    tenant: Tenant,
    Body(body): Body<CountTokens>,
) -> Result<Json<Count>> {
    let limit = state.services.sessions.options().max_items;
    if body.items.len() > limit {
        return Err(Problem::too_many_items(body.items.len(), limit));
    }
    let body = Arc::new(body);
    let opened = state.services.handles.open(tenant, body.format, &body, |body| &body.items).await?;
    offload(load(&body.items), move || count(&body, &opened)).await?.map(Json)
}

fn count(body: &CountTokens, opened: &OpenedHandles) -> Result<Count> {
    let estimator = body.estimator.unwrap_or(Estimator::O200k);
    let mut faults = Faults::default();
    faults.documents(body.system.as_deref(), body.tools.as_deref());
    let parsed = |raw: &Option<Box<RawValue>>| raw.as_ref().and_then(|raw| json::parse_lenient(raw.get()).ok());
    let system = parsed(&body.system).as_ref().and_then(format::system::text);
    let mut per_item = Vec::with_capacity(body.items.len());
    for (index, raw) in body.items.iter().enumerate() {
        match format::accept(body.format, raw.get()) {
            Ok(item) => {
                let counted = |message| tokens::count_item(estimator, body.format, raw.get(), &message).total;
                per_item.push(match opened.record(raw.get()) {
                    Some(record) => message_tokens(estimator, handle::told(record)),
                    None => item.message.map_or(0, counted),
                });
            }
            Err(error) => faults.add(format!("/items/{index}{}", error.pointer), error.detail),
        }
    }
    faults.finish()?;
    let system = message_tokens(estimator, system.map(|text| Message::text(Role::System, text)));
    let tools = parsed(&body.tools).map_or(0, |tools| tokens::count_tools(estimator, &tools));
    let tokens = per_item.iter().map(|&tokens| u64::from(tokens)).sum::<u64>() + u64::from(system) + u64::from(tools);
    Ok(Count { tokens, per_item })
}

fn message_tokens(estimator: Estimator, message: Option<Message>) -> u32 {
    message.map_or(0, |message| tokens::count_message(estimator, &message).total)
}
