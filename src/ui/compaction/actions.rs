//! What can be done about a compaction.

use axum::extract::State;
use axum::response::Redirect;
use uuid::Uuid;

use crate::service::compaction::Status;
use crate::ui::fault::Result;
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::refused;

pub async fn cancel(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Redirect> {
    let ended = ui.services.sessions.cancel_compaction(viewer.tenant, id).await.map_err(refused)?;
    Ok(back(id, if ended.status == Status::Cancelled { "cancelled" } else { "ended" }))
}

pub async fn revert(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Redirect> {
    ui.services.sessions.revert_compaction(viewer.tenant, id).await.map_err(refused)?;
    Ok(back(id, "reverted"))
}

fn back(id: Uuid, done: &str) -> Redirect {
    Redirect::to(&format!("/ui/compactions/{id}?done={done}"))
}
