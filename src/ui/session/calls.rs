//! A session's ledger of tool calls, and the files that they touched.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::model::message::CallKind;
use crate::service::core::page::PageRequest;
use crate::service::recall::tool_calls::ToolCallRow;
use crate::ui::fault::Result;
use crate::ui::query::{Asked, Ids, given};
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible::{self, line};

use super::frame::{Wanted, answer, home};

const LIMIT: i64 = 25;
/// Characters of a call's arguments.
const CHARS: usize = 140;
/// Files of a list that are shown.
const MOST_FILES: usize = 300;

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
    let page = PageRequest { limit: LIMIT, after: given(asked.after.as_deref())?.map(str::to_owned) };
    let found = ui.services.queries.tool_calls(viewer.tenant, id, page).await?;
    let body = html! {
        @if found.items.is_empty() { p.empty { "No tool was called." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Tool calls" {
                table {
                    thead { tr { th scope="col" { "Tool" } th scope="col" { "Arguments" } th scope="col" { "Status" } th scope="col" { "Result" } } }
                    tbody data-rows { @for call in &found.items { (row(id, call)) } }
                }
            }
        }
        @if let Some(next) = &found.next_cursor {
            @let path = format!("{}/calls?after={next}", home(id));
            nav.pager aria-label="Pages" { a rel="next" href=(path) hx-get=(path) hx-target="#calls-body" { "Later »" } }
        }
    };
    Ok(answer(&wanted, &viewer, id, "Ledger of tool calls", body))
}

fn row(session: Uuid, call: &ToolCallRow) -> Markup {
    let arguments = match &call.arguments {
        Value::String(text) => line(text, CHARS),
        other => line(&other.to_string(), CHARS),
    };
    let entry = |id: Uuid| format!("{}/entries/{id}", home(session));
    html! {
        tr {
            td.nowrap { a href=(entry(call.entry_id)) { (visible::name(&call.name)) } }
            td.wide { code { bdi { (arguments) } } }
            td.nowrap { (call.status.into_str()) @if call.kind == CallKind::Server { " " span.dim { "run by the provider" } } }
            td.nowrap.prose {
                @if let Some(result) = call.result_entry_id { a href=(entry(result)) { "Result" } }
                @if call.elided { " " span.dim { "shown shorter or not at all" } }
            }
        }
    }
}

pub async fn files(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let files = ui.services.queries.files(viewer.tenant, id).await?;
    let body = html! {
        div.grid {
            (list("Changed", &files.modified_files))
            @if !files.deleted_files.is_empty() { (list("Deleted or moved away", &files.deleted_files)) }
            (list("Read", &files.read_files))
            @if !files.other_paths.is_empty() { (list("Named in calls of other tools", &files.other_paths)) }
        }
    };
    Ok(answer(&wanted, &viewer, id, "Files", body))
}

fn list(title: &str, files: &[String]) -> Markup {
    html! {
        div {
            h3 { (title) " (" (files.len()) ")" }
            @if files.is_empty() { p.empty { "None by a tool that is known." } }
            ul.plain { @for file in files.iter().take(MOST_FILES) { li { code { bdi { (line(file, 300)) } } } } }
            @if files.len() > MOST_FILES { p.hint { (files.len() - MOST_FILES) " more" } }
        }
    }
}
