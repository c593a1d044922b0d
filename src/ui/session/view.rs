//! What the model sees now, page by page.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::model::compaction::{ElidedPart, Elision};
use crate::service::core::page::PageRequest;
use crate::service::path::shown::{ShownMessage, ShownPage};
use crate::ui::fault::Result;
use crate::ui::format::{count, short};
use crate::ui::query::{Asked, Ids, given};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::{measured, signed, speaker};

use super::frame::{Wanted, answer, home};
use super::message;

const LIMIT: usize = 12;
/// Characters of a piece.
const CHARS: usize = 700;
/// Elisions of one message that are named.
const MOST_ELISIONS: usize = 20;

#[derive(Deserialize)]
pub struct PageQuery {
    after: Option<String>,
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<PageQuery>,
) -> Result<Html<String>> {
    let page = PageRequest { limit: LIMIT as i64, after: given(asked.after.as_deref())?.map(str::to_owned) };
    let shown = ui.services.queries.shown(viewer.tenant, id, page).await?;
    let body = html! {
        @if shown.total == 0 { p.empty { "The model sees nothing of this session yet." } }
        @else {
            p.hint { (measured(shown.source))
                @if shown.items.iter().any(|one| !one.elisions.is_empty()) { " Figures within placeholders are estimates of their own." } }
            (pager(id, &shown))
            ol.messages start=(shown.from + 1) data-rows {
                @for one in &shown.items { (row(id, one)) }
            }
            (pager(id, &shown))
        }
    };
    Ok(answer(&wanted, &viewer, id, "What the model sees now", body))
}

fn pager(session: Uuid, shown: &ShownPage) -> Markup {
    let end = shown.from + shown.items.len();
    let last = shown.total.saturating_sub(LIMIT);
    let link = |from: usize, name: &str| {
        let path = format!("{}/view?after={from}", home(session));
        html! { a href=(path) hx-get=(path) hx-target="#view-body" { (name) } }
    };
    html! {
        nav.pager aria-label="Messages of the context" {
            span.dim { "Messages " (shown.from + 1) "–" (end) " of " (count(shown.total as i64)) }
            @if shown.from > 0 {
                (link(0, "« First"))
                (link(shown.from.saturating_sub(LIMIT), "‹ Earlier"))
            }
            @if end < shown.total {
                (link(end, "Later ›"))
                (link(last.max(end), "Newest »"))
            }
        }
    }
}

fn row(session: Uuid, one: &ShownMessage) -> Markup {
    let entry = format!("{}/entries/{}", home(session), one.entry_id);
    let place = format!("whole-{}", one.entry_id);
    html! {
        li.message {
            div.row.who {
                a href=(entry) { (speaker(one.kind, one.role)) }
                span.dim { (short(signed(one.tokens))) " tokens" }
            }
            (message::show(one.message.as_ref(), CHARS, &entry))
            @if !one.elisions.is_empty() {
                ul.elisions { @for elision in one.elisions.iter().take(MOST_ELISIONS) { li { (elided(elision)) } } }
                p {
                    a href=(entry) data-original hx-get=(entry) hx-target=(format!("#{place}")) { "Open the original" }
                }
                div.whole id=(place) {}
            }
        }
    }
}

fn elided(elision: &Elision) -> Markup {
    let what = match elision.part {
        ElidedPart::Result => "The result of ",
        ElidedPart::Arguments => "The arguments of ",
        ElidedPart::Words => "What a message says",
    };
    html! {
        span.dim {
            (what) code { bdi { (crate::ui::visible::line(&elision.tool_call_id, 60)) } } " is shown shorter: "
            (count(i64::from(elision.tokens_before))) " → " (count(i64::from(elision.tokens_after))) " tokens"
        }
    }
}
