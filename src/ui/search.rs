//! Searching all sessions.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Html;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::fault::{Fault, Result};
use super::format::count;
use super::layout::{Section, page};
use super::parts::address;
use super::query::{Asked, given};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::{line, name, snippet};
use super::words::{refused, speaker};
use crate::service::core::page::PageRequest;
use crate::service::recall::search_all::{SearchAllPage, SessionHit};

const PATH: &str = "/ui/search";
const LIMIT: i64 = 20;

pub fn routes() -> Router<Ui> {
    Router::new().route(PATH, get(show))
}

#[derive(Deserialize)]
struct Sought {
    q: Option<String>,
    after: Option<String>,
}

async fn show(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Sought>) -> Result<Html<String>> {
    let (q, after) = (given(asked.q.as_deref())?.unwrap_or_default(), given(asked.after.as_deref())?);
    let found = match q {
        "" => html! { p.empty { "Words to look for are needed. What is newest is looked at first." } },
        q => {
            let wanted = PageRequest { limit: LIMIT, after: after.map(str::to_owned) };
            match ui.services.queries.search_all(viewer.tenant, q, wanted).await {
                Ok(found) => list(q, after, &found),
                Err(error) => told(refused(error))?,
            }
        }
    };
    let main = html! {
        div.head { h1 { "Search in all sessions" } }
        form.filters method="get" action=(PATH) role="search" {
            label { "Words or “a phrase” "
                input type="search" name="q" data-search maxlength="1000" required value=(line(q, 1_000));
            }
            button type="submit" { "Search" }
        }
        div.card { (found) }
    };
    Ok(page(&viewer, Section::Search, "Search", main))
}

/// What can't be looked for is said beside the field; all else is a page of its own.
fn told(fault: Fault) -> Result<Markup> {
    if fault.status != StatusCode::UNPROCESSABLE_ENTITY {
        return Err(fault);
    }
    Ok(html! { p.problem role="alert" { (line(&fault.detail, 300)) } })
}

fn list(q: &str, after: Option<&str>, found: &SearchAllPage) -> Markup {
    html! {
        p.hint role="status" { (looked_at(found)) }
        @if !found.items.is_empty() {
            ul.found data-rows { @for hit in &found.items { (row(hit)) } }
        }
        @if after.is_some() || found.next_cursor.is_some() {
            nav.pager aria-label="Pages" {
                @if after.is_some() { a href=(address(PATH, &[("q", q)])) { "« Newest" } }
                @if let Some(next) = &found.next_cursor {
                    a rel="next" href=(address(PATH, &[("q", q), ("after", next)])) { "Look further »" }
                }
            }
        }
    }
}

fn looked_at(found: &SearchAllPage) -> String {
    let (sessions, entries) = (count(found.searched_sessions), count(found.searched_entries));
    let what = if found.items.is_empty() { "Nothing was found" } else { "Found" };
    let rest = if found.complete { "nothing is left to look at" } else { "older ones were not looked at yet" };
    format!("{what} among {entries} entries of {sessions} sessions; {rest}.")
}

fn row(found: &SessionHit) -> Markup {
    let (session, hit) = (format!("/ui/sessions/{}", found.session_id), &found.hit);
    let named = |text: &Option<String>| text.as_deref().filter(|text| !text.trim().is_empty()).map(name);
    let (title, external_id) = (named(&found.session_title), named(&found.session_external_id));
    html! {
        li {
            a href=(format!("{session}/entries/{}", hit.entry_id)) { (speaker(hit.kind, hit.role)) }
            span.dim { " " (hit.seq + 1) " in " }
            a href=(session) {
                @match &title { Some(title) => (title), None => code { (found.session_id) } }
            }
            @if let Some(external_id) = external_id { span.dim { " · " (external_id) } }
            p.snippet { (snippet(&hit.snippet)) }
        }
    }
}
