//! One session.

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
    Router::new().route("/ui/sessions/{id}", get(show))
}

async fn show(State(ui): State<Ui>, viewer: Viewer, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let session = ui.services.queries.session(viewer.tenant, id).await?;
    Ok(page(&viewer, Section::Sessions, "Session", html! { h1 { "Session " code { (session.id) } } }))
}
