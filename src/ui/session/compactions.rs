//! A session's compactions, newest first.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::service::compaction::Compaction;
use crate::service::core::page::PageRequest;
use crate::ui::fault::Result;
use crate::ui::format::{short, when};
use crate::ui::parts::{badge, pager};
use crate::ui::query::{Asked, Ids, given};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::{self, signed};

use super::frame::{Wanted, answer, home};

const LIMIT: i64 = 12;

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
    let after = given(asked.after.as_deref())?;
    let page = PageRequest { limit: LIMIT, after: after.map(str::to_owned) };
    let found = ui.services.sessions.compactions(viewer.tenant, id, page).await?;
    let body = html! {
        @if found.items.is_empty() { p.empty { "None yet." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Compactions" {
                table {
                    thead { tr { th scope="col" { "Outcome" } th scope="col" { "Asked for" } th scope="col" { "Because" }
                        th scope="col" { "Strategy" } th.num scope="col" { "Before" } th.num scope="col" { "After" } } }
                    tbody data-rows { @for one in &found.items { (row(one)) } }
                }
            }
        }
        (pager(&format!("{}/compactions", home(id)), &[], after, found.next_cursor.as_deref()))
    };
    Ok(answer(&wanted, &viewer, id, "Compactions", body))
}

fn row(one: &Compaction) -> Markup {
    let strategy: &str = one.result.as_ref().map_or(one.strategy, |result| result.strategy_used).into();
    let landed = one.result.as_ref().filter(|result| result.entry_id.is_some());
    let before = one.snapshot_before.as_ref().map(|snapshot| snapshot.tokens);
    html! {
        tr {
            td.nowrap {
                a href=(format!("/ui/compactions/{}", one.id)) { (badge(one.status.into())) }
                @if one.reverted_at.is_some() { " " span.dim { "taken back" } }
                @if one.prepared { " " span.dim { "waits for red" } }
            }
            td.nowrap { (when(one.created_at)) }
            td.wide { (words::trigger(one.trigger)) }
            td { (strategy) }
            td.num { @if let Some(before) = landed.map(|result| result.tokens_before).or(before) { (short(signed(before))) } }
            td.num { @if let Some(result) = landed { (short(signed(result.tokens_after))) } }
        }
    }
}
