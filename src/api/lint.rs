//! Checking a transcript without a session.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::Body;
use super::check::{Faults, STATELESS_ITEMS};
use super::large;
use super::problem::{Problem, Result};
use super::state::AppState;
use crate::domain::lint::{self, PatchStep, Violation};
use crate::domain::model::format::Format;
use crate::service::core::answer_room::AnswerRoom;
use crate::service::core::offload::{load, offload, size};
use crate::service::core::tenant::Tenant;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(lint_items))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LintItems {
    format: Format,
    #[schema(value_type = Vec<Object>, max_items = 20_000)]
    items: Vec<Box<RawValue>>,
}

/// What the provider of the format would refuse, and a copy that it takes.
#[derive(Debug, Serialize, ToSchema)]
struct Linted {
    /// Nothing is wrong, and `repaired` is equal to `items`.
    valid: bool,
    violations: Vec<Violation>,
    /// A valid transcript in the same format.
    #[schema(value_type = Vec<Object>)]
    #[serde(serialize_with = "as_they_are")]
    repaired: Vec<Arc<RawValue>>,
    /// A patch from `items` to `repaired`, to be applied in order.
    diff: Vec<PatchStep>,
}

fn as_they_are<S: Serializer>(items: &[Arc<RawValue>], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(items.iter().map(|item| &**item))
}

/// Checks a transcript, and mends a copy of it. Nothing is stored.
#[utoipa::path(post, path = "/v1/lint", tag = "context", request_body = LintItems,
    responses((status = 200, body = Linted)))]
async fn lint_items(State(state): State<AppState>, tenant: Tenant, Body(body): Body<LintItems>) -> Result<Response> {
    let limit = STATELESS_ITEMS.max(state.services.sessions.options().max_items);
    if body.items.len() > limit {
        return Err(Problem::too_many_items(body.items.len(), limit));
    }
    let mut faults = Faults::default();
    faults.context_format("/format", Some(body.format));
    faults.finish()?;
    let (bytes, load) = (size(&body.items), load(&body.items));
    let room = AnswerRoom::take(tenant, bytes)?;
    let body = Arc::new(body);
    // One that opens is an item like any other.
    state.services.handles.open(tenant, body.format, &body, |body| &body.items).await?;
    let text = offload(load, move || large::written(&linted(&body)?)).await??;
    Ok(large::sent(StatusCode::OK, text, room))
}

fn linted(body: &LintItems) -> Result<Linted> {
    let texts: Vec<&str> = body.items.iter().map(|item| item.get()).collect();
    let lint = match lint::lint(body.format, &texts) {
        Ok(lint) => lint,
        Err(refused) => {
            let mut faults = Faults::default();
            for no_item in refused {
                faults.add(format!("/items/{}{}", no_item.index, no_item.error.pointer), no_item.error.detail);
            }
            return faults.finish().and(Err(Problem::internal()));
        }
    };
    Ok(Linted {
        valid: lint.violations.is_empty(),
        violations: lint.violations,
        repaired: lint.repaired,
        diff: lint.diff,
    })
}
