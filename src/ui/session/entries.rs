//! Entries of a path of a session, page by page.

use axum::extract::State;
use axum::response::Html;
use maud::html;
use serde::Deserialize;
use uuid::Uuid;

use crate::service::core::page::PageRequest;
use crate::service::path::entries::{EntryQuery, EntryView};
use crate::ui::fault::Result;
use crate::ui::format::{short, when};
use crate::ui::parts::address;
use crate::ui::query::{Asked, Ids, given, parsed};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::{self, line};
use crate::ui::words::speaker;

use super::frame::{Wanted, answer, home};
use super::message;

const LIMIT: i64 = 25;
/// Characters of an entry's beginning.
const CHARS: usize = 160;

#[derive(Deserialize)]
pub struct Path {
    /// Another leaf than the session's.
    leaf: Option<String>,
    after: Option<String>,
}

pub async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    wanted: Wanted,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Path>,
) -> Result<Html<String>> {
    let query = EntryQuery { leaf_id: parsed("leaf", asked.leaf.as_deref())?, all: false };
    let page = PageRequest { limit: LIMIT, after: given(asked.after.as_deref())?.map(str::to_owned) };
    let found = ui.services.queries.entries(viewer.tenant, id, query, page).await?;
    let next = found.next_cursor.as_deref().map(|next| {
        let leaf = asked.leaf.as_deref().unwrap_or_default();
        address(&format!("{}/entries", home(id)), &[("leaf", leaf), ("after", next)])
    });
    let body = html! {
        @if found.items.is_empty() { p.empty { "No entries here." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Entries" {
                table {
                    thead { tr { th scope="col" { "Entry" } th scope="col" { "Begins" } th.num scope="col" { "Tokens, estimated" }
                        th scope="col" { "When" } } }
                    tbody data-rows { @for entry in &found.items { (row(id, entry)) } }
                }
            }
        }
        @if let Some(next) = next { nav.pager aria-label="Pages" { a rel="next" href=(next) { "Later »" } } }
    };
    Ok(answer(&wanted, &viewer, id, "Entries", body))
}

fn row(session: Uuid, entry: &EntryView) -> maud::Markup {
    html! {
        tr {
            td.nowrap { a href=(format!("{}/entries/{}", home(session), entry.id)) { (speaker(entry.kind, entry.role)) }
                @if let Some(label) = &entry.label { " " span.label { (visible::name(label)) } } }
            td.wide { bdi { (begins(entry)) } }
            td.num { (short(i64::from(entry.tokens))) }
            td.nowrap { (when(entry.created_at)) }
        }
    }
}

fn begins(entry: &EntryView) -> String {
    let pieces = entry.message.as_ref().map(message::pieces).unwrap_or_default();
    let told = pieces.iter().find(|piece| !piece.text.is_empty() || !piece.title.is_empty());
    match told {
        Some(piece) if piece.title.is_empty() => line(&piece.text, CHARS),
        Some(piece) => format!("{}: {}", piece.title, line(&piece.text, CHARS)),
        None => String::new(),
    }
}
