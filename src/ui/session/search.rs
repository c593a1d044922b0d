//! Searching a session.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::service::core::page::PageRequest;
use crate::service::recall::search::{Matched, SearchHit};
use crate::ui::fault::Result;
use crate::ui::parts::pager;
use crate::ui::query::{Asked, Ids, given};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::{line, snippet};
use crate::ui::words::{self, speaker};

use super::frame::{Wanted, answer, home};

const LIMIT: i64 = 20;

#[derive(Deserialize)]
pub struct Sought {
    q: Option<String>,
    after: Option<String>,
}

/// Without a script it leads to a page.
pub fn form(session: Uuid, q: &str) -> Markup {
    let path = format!("{}/search", home(session));
    html! {
        form.filters action=(path) method="get" role="search" hx-get=(path) hx-target="#found" {
            label { "Words or “a phrase” " input type="search" name="q" data-search maxlength="1000" required value=(line(q, 1_000)); }
            button type="submit" { "Search" }
        }
    }
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Sought>,
) -> Result<Html<String>> {
    let (q, after) = (given(asked.q.as_deref())?.unwrap_or_default(), given(asked.after.as_deref())?);
    let page = PageRequest { limit: LIMIT, after: after.map(str::to_owned) };
    let found = match q {
        "" => None,
        q => match ui.services.queries.search(viewer.access, id, q, page).await {
            Ok(found) => Some(found),
            Err(error) => return told(&wanted, &viewer, id, q, words::refused(error)),
        },
    };
    let body = html! {
        @if !wanted.is_part { (form(id, q)) }
        @match &found {
            None => p.empty { "Words to look for are needed." },
            Some(found) if found.items.is_empty() => p.empty role="status" { "Nothing was found." },
            Some(found) => {
                @if found.matched == Matched::Any { p.hint role="status" { "No entry has every word; these have some." } }
                ul.found data-rows { @for hit in &found.items { (row(id, hit)) } }
                (pager(&format!("{}/search", home(id)), &[("q", q)], after, found.next_cursor.as_deref()))
            }
        }
    };
    Ok(answer(&wanted, &viewer, id, "Search", body))
}

/// What can't be looked for is said beside the field; all else is a page of its own.
fn told(wanted: &Wanted, viewer: &Viewer, id: Uuid, q: &str, fault: crate::ui::fault::Fault) -> Result<Html<String>> {
    if !fault.status.is_client_error() || fault.status == axum::http::StatusCode::NOT_FOUND {
        return Err(fault);
    }
    let body = html! {
        @if !wanted.is_part { (form(id, q)) }
        p.problem role="alert" { (line(&fault.detail, 300)) }
    };
    Ok(answer(wanted, viewer, id, "Search", body))
}

fn row(session: Uuid, hit: &SearchHit) -> Markup {
    html! {
        li {
            a href=(format!("{}/entries/{}", home(session), hit.entry_id)) { (speaker(hit.kind, hit.role)) }
            span.dim { " " (hit.seq + 1) }
            p.snippet { (snippet(&hit.snippet)) }
        }
    }
}
