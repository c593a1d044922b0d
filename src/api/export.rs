//! Sessions as files.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::bounds;
use super::problem::Result;
use super::query::{FromQuery, Ids, Params, Query};
use super::state::AppState;
use super::streamed::streamed;
use crate::domain::model::format::Format;
use crate::service::core::tenant::Tenant;
use crate::service::recall::export::Export;

/// More than a usual call, for what reads a session whole.
const LONG: Duration = Duration::from_secs(300);

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(export_session))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the parameters; `FromQuery` reads them")]
struct ExportSession {
    /// `pi` and `claude_code` give a session file with every branch, any other format the items of one path.
    format: Format,
    /// Another leaf than the session's.
    leaf_id: Option<Uuid>,
}

impl FromQuery for Export {
    fn read(params: &mut Params) -> Option<Self> {
        let leaf_id = params.value("leaf_id", "an id");
        let Some(word) = params.text("format") else {
            params.fault("format", format!("is needed: {}", Format::names(Format::ALL)));
            return None;
        };
        let format = word.parse::<Format>().ok();
        if format.is_none() {
            params.fault("format", format!("must be {}", Format::names(Format::ALL)));
        }
        Some(Export { format: format?, leaf_id })
    }
}

/// Writes a session as JSON Lines.
#[utoipa::path(get, path = "/v1/sessions/{sid}/export", tag = "sessions", params(("sid" = Uuid, Path), ExportSession),
    responses((status = 200, body = String, content_type = "application/x-ndjson")))]
async fn export_session(
    State(state): State<AppState>,
    tenant: Tenant,
    Ids(sid): Ids<Uuid>,
    Query(export): Query<Export>,
) -> Result<impl IntoResponse> {
    bounds::allow(LONG);
    let pieces = state.services.queries.export(tenant, sid, export).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], streamed(pieces).await?))
}
