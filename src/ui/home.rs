//! The overview.

use axum::Router;
use axum::response::Html;
use axum::routing::get;
use maud::html;

use super::fault::Result;
use super::layout::{Section, page};
use super::state::Ui;
use super::viewer::Viewer;

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui", get(overview))
}

async fn overview(viewer: Viewer) -> Result<Html<String>> {
    Ok(page(&viewer, Section::Overview, "Overview", html! { h1 { "Overview" } }))
}
