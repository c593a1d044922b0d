//! One compaction.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::html;
use uuid::Uuid;

use super::fault::Result;
use super::layout::{Section, page};
use super::query::Ids;
use super::state::Ui;
use super::viewer::Viewer;

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/compactions/{id}", get(show))
}

async fn show(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let compaction = ui.services.sessions.compaction(viewer.tenant, id).await?;
    Ok(page(&viewer, Section::Compactions, "Compaction", html! { h1 { "Compaction " code { (compaction.id) } } }))
}
