//! Parts of a session's page: each is a fragment for htmx and, asked for by a link, a page of its own.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

use crate::ui::assets::Asset;
use crate::ui::layout::{self, Section};
use crate::ui::viewer::Viewer;

/// Whether part of a page is asked for, by htmx.
pub struct Wanted {
    pub is_part: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Wanted, Infallible> {
        Ok(Wanted { is_part: parts.headers.contains_key("hx-request") })
    }
}

/// Where a session's page is.
pub fn home(session: Uuid) -> String {
    format!("/ui/sessions/{session}")
}

/// A part of a session's page, or the page of that part.
pub fn answer(wanted: &Wanted, viewer: &Viewer, session: Uuid, title: &str, body: Markup) -> Html<String> {
    if wanted.is_part {
        return layout::fragment(body);
    }
    let main = html! {
        (assets())
        p.crumbs { a href=(home(session)) { "« Session" } }
        h1 { (title) }
        div.card { (body) }
    };
    layout::page(viewer, Section::Sessions, title, main)
}

/// What the pages of sessions and compactions load besides.
pub fn assets() -> Markup {
    html! {
        link rel="stylesheet" href=(Asset::SessionCss.path());
        script defer src=(Asset::Session.path()) {}
    }
}

/// When a part that is not there yet is loaded, and loaded anew.
#[derive(Debug, Clone, Copy)]
pub enum Load {
    /// With the page, and when the session changes.
    AtOnce,
    /// When somebody looks at it.
    Revealed,
    /// By its link.
    Asked,
}

/// A section whose content is loaded on its own; without a script it is a link.
pub fn lazy(id: &str, title: &str, path: &str, hint: &str, load: Load) -> Markup {
    let trigger = match load {
        Load::AtOnce => Some("load, contextd:changed from:body"),
        Load::Revealed => Some("revealed"),
        Load::Asked => None,
    };
    let body = format!("{id}-body");
    let target = format!("#{body}");
    html! {
        section.card id=(id) aria-labelledby=(format!("{id}-title")) {
            h2 id=(format!("{id}-title")) { (title) }
            div id=(body) hx-get=[trigger.map(|_| path)] hx-trigger=[trigger] data-live[matches!(load, Load::AtOnce)] {
                p.hint { a href=(path) hx-get=(path) hx-target=(target) { "Show: " (title) } " " (hint) }
            }
        }
    }
}

/// What was done, as the address says it: one of our own words.
pub fn flash(done: Option<&str>) -> Markup {
    let told = match done {
        Some("compacting") => "A compaction is queued. This page follows it.",
        Some("cancelled") => "The compaction is cancelled.",
        Some("ended") => "The compaction had ended already.",
        Some("reverted") => "The compaction is taken back: the context is what it was before it.",
        Some("guard") => "The guard is reset: compactions may start again by themselves.",
        Some("labelled") => "The label is set.",
        Some("unlabelled") => "The label is cleared.",
        Some("forked") => "This is the new session. It shares the history up to there.",
        Some("settings") => "The settings are saved. They act on the next check.",
        Some("unchanged") => "Nothing was changed.",
        _ => return html! {},
    };
    html! { p.notice role="status" { (told) } }
}
