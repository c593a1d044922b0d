//! One session: how its context grew and shrank, what the model sees now, and what can be done about it.

mod actions;
mod calls;
mod chapters;
mod chart;
mod compactions;
mod composition;
mod entries;
pub mod entry;
mod events;
pub mod frame;
pub mod message;
mod now;
mod prepared;
mod search;
mod settings;
mod tree;
mod view;

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::service::sessions::Session;

use super::fault::Result;
use super::format::{count, when};
use super::layout::{Section, page};
use super::query::{Asked, Ids};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible;
use frame::{Load, flash, home, lazy};

pub fn routes() -> Router<Ui> {
    Router::new()
        .route("/ui/sessions/{id}", get(show))
        .route("/ui/sessions/{id}/now", get(now::show))
        .route("/ui/sessions/{id}/timeline", get(chart::show))
        .route("/ui/sessions/{id}/composition", get(composition::show))
        .route("/ui/sessions/{id}/view", get(view::show))
        .route("/ui/sessions/{id}/tree", get(tree::show))
        .route("/ui/sessions/{id}/entries", get(entries::show))
        .route("/ui/sessions/{id}/entries/{entry}", get(entry::show))
        .route("/ui/sessions/{id}/entries/{entry}/item", get(entry::item))
        .route("/ui/sessions/{id}/entries/{entry}/label", post(actions::label))
        .route("/ui/sessions/{id}/entries/{entry}/fork", post(actions::fork))
        .route("/ui/sessions/{id}/chapters", get(chapters::show))
        .route("/ui/sessions/{id}/tasks", get(chapters::tasks))
        .route("/ui/sessions/{id}/calls", get(calls::show))
        .route("/ui/sessions/{id}/files", get(calls::files))
        .route("/ui/sessions/{id}/search", get(search::show))
        .route("/ui/sessions/{id}/compactions", get(compactions::show))
        .route("/ui/sessions/{id}/events", get(events::stream))
        .route("/ui/sessions/{id}/compact", post(actions::compact))
        .route("/ui/sessions/{id}/prepare", post(actions::prepare))
        .route("/ui/sessions/{id}/guard", post(actions::reset_guard))
        .route("/ui/sessions/{id}/settings", get(settings::show).post(settings::save))
        .route("/ui/sessions/{id}/settings/preview", post(settings::preview))
}

#[derive(Deserialize)]
struct Page {
    done: Option<String>,
}

async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Page>,
) -> Result<Html<String>> {
    let session = ui.services.queries.session(viewer.tenant, id).await?;
    let title = session.title.as_deref().or(session.external_id.as_deref()).unwrap_or("Session");
    let main = html! {
        (frame::assets())
        div.head {
            h1 { (visible::name(title)) }
            div.row {
                a.button href=(format!("{}/settings", home(id))) { "Settings" }
            }
        }
        (flash(asked.done.as_deref()))
        p.problem #gone hidden role="alert" { "This session was erased. What is shown here is what was last known." }
        (about(&session))
        p.notice #unfollowed hidden role="status" {
            "Not followed live now: too many pages are open, or the service was away. This page looks again every 10 seconds."
        }
        div #now hx-get=(format!("{}/now", home(id))) hx-trigger="contextd:changed from:body" data-live
            data-events=(format!("{}/events", home(id))) { (now::figures(&viewer, &session)) }
        (parts(&viewer, &session))
    };
    Ok(page(&viewer, Section::Sessions, title, main))
}

fn about(session: &Session) -> Markup {
    html! {
        p.hint.about {
            code { (session.id) }
            @if let Some(external) = &session.external_id { " · external id " (visible::name(external)) }
            @if let Some(model) = &session.model { " · " (visible::name(model)) }
            " · " (count(session.entry_count)) " entries · created " (when(session.created_at))
            @if let Some(parent) = session.parent_session_id { " · forked from " a href=(home(parent)) { "another session" } }
            @if let Some(leaf) = session.leaf_id {
                " · leaf " a href=(format!("{}/entries/{leaf}", home(session.id))) { code { (leaf) } }
            }
        }
    }
}

fn parts(viewer: &Viewer, session: &Session) -> Markup {
    let path = |part: &str| format!("{}/{part}", home(session.id));
    html! {
        (lazy("timeline", "How the context grew and shrank", &path("timeline"), "", Load::AtOnce))
        div.grid {
            (lazy("composition", "What fills it", &path("composition"), "", Load::AtOnce))
            (actions::card(viewer, session))
        }
        (lazy("compactions", "Compactions", &path("compactions"), "", Load::AtOnce))
        section.card aria-labelledby="search-title" {
            h2 #search-title { "Search" }
            (search::form(session.id, ""))
            div #found {}
        }
        (lazy("view", "What the model sees now", &path("view"), "", Load::Revealed))
        (lazy("tree", "The tree", &path("tree"), "", Load::Revealed))
        div.grid {
            (lazy("chapters", "Chapters", &path("chapters"), "", Load::Revealed))
            (lazy("tasks", "Tasks", &path("tasks"), "reads the user's messages", Load::Asked))
        }
        (lazy("calls", "Ledger of tool calls", &path("calls"), "", Load::Asked))
        (lazy("files", "Files", &path("files"), "reads every call of the session", Load::Asked))
    }
}
