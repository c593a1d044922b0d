//! The tree of a session: its shape, labels on it, and moving about in it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::body::Body;
use super::bounds;
use super::check::{Faults, MAX_PROSE_CHARS, MAX_TITLE_CHARS};
use super::problem::Result;
use super::query::Ids;
use super::state::AppState;
use super::streamed::streamed;
use crate::service::core::tenant::Tenant;
use crate::service::navigation::{Navigate, Navigated};
use crate::service::path::entries::EntryView;
use crate::service::sessions::tree::Tree;

const MAX_WAIT_SECONDS: f64 = 120.0;
const DEFAULT_WAIT_SECONDS: f64 = 60.0;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_tree)).routes(routes!(set_label)).routes(routes!(navigate))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SetLabel {
    /// Null clears.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true, max_length = 1000)]
    label: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NavigateTo {
    /// The new leaf; null: before the first entry.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    target_id: Option<Uuid>,
    /// Leave a summary of the branch that is left.
    #[serde(default)]
    summarize: bool,
    /// What the summary should look at.
    instructions: Option<String>,
    /// `instructions` stand in place of the service's own, not after them.
    #[serde(default)]
    replace_instructions: bool,
    /// With `summarize`: seconds to wait for an upstream before the built-in summariser writes the summary.
    #[schema(minimum = 0, maximum = 120, default = 60)]
    wait: Option<f64>,
}

/// All entries without their content.
#[utoipa::path(get, path = "/v1/sessions/{sid}/tree", tag = "entries", params(("sid" = Uuid, Path)),
    responses((status = 200, body = Tree)))]
async fn get_tree(State(state): State<AppState>, tenant: Tenant, Ids(sid): Ids<Uuid>) -> Result<impl IntoResponse> {
    let pieces = state.services.queries.tree(tenant, sid).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], streamed(pieces).await?))
}

/// Labels an entry, or clears its label.
#[utoipa::path(put, path = "/v1/sessions/{sid}/entries/{eid}/label", tag = "entries",
    params(("sid" = Uuid, Path), ("eid" = Uuid, Path)), request_body = SetLabel,
    responses((status = 200, body = EntryView)))]
async fn set_label(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids((sid, eid)): Ids<(Uuid, Uuid)>,
    Body(body): Body<SetLabel>,
) -> Result<Json<EntryView>> {
    let mut faults = Faults::default();
    faults.text("/label", body.label.as_deref(), MAX_TITLE_CHARS);
    faults.finish()?;
    Ok(Json(state.services.sessions.set_label(tenant, sid, eid, body.label).await?))
}

/// Moves the leaf; with `summarize` leaves a summary of the branch that is left.
#[utoipa::path(post, path = "/v1/sessions/{sid}/navigate", tag = "entries", params(("sid" = Uuid, Path)),
    request_body = NavigateTo, responses((status = 200, body = Navigated)))]
async fn navigate(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Body(body): Body<NavigateTo>,
) -> Result<Json<Navigated>> {
    let mut faults = Faults::default();
    faults.text("/instructions", body.instructions.as_deref(), MAX_PROSE_CHARS);
    faults.range("/wait", body.wait, 0.0..=MAX_WAIT_SECONDS);
    if body.replace_instructions && body.instructions.is_none() {
        faults.add("/replace_instructions", "needs instructions to put in place");
    }
    faults.finish()?;
    let navigate = Navigate {
        target_id: body.target_id,
        summarize: body.summarize,
        instructions: body.instructions,
        replace_instructions: body.replace_instructions,
        wait: Duration::from_secs_f64(body.wait.unwrap_or(DEFAULT_WAIT_SECONDS)),
    };
    bounds::allow(navigate.wait);
    Ok(Json(state.services.sessions.navigate(tenant, sid, navigate).await?))
}
