//! A session's chapters and tasks.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

use crate::domain::chapter::TaskState;
use crate::service::chapters::ChapterView;
use crate::ui::fault::Result;
use crate::ui::format::{percent, short};
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible;
use crate::ui::words::signed;

use super::frame::{Wanted, answer, home};

/// Chapters of one level that are shown.
const MOST: usize = 100;
const LEVELS: usize = 6;
/// Characters of a chapter's message.
const CHARS: usize = 600;
/// The newest tasks that are shown.
const MOST_TASKS: usize = 200;

pub async fn show(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let chapters = ui.services.queries.chapters(viewer.tenant, id).await?.items;
    let body = html! {
        @if chapters.is_empty() { p.empty { "No chapters: the agent has closed none." } }
        @else { (list(id, &chapters, 0)) }
    };
    Ok(answer(&wanted, &viewer, id, "Chapters", body))
}

fn list(session: Uuid, chapters: &[ChapterView], level: usize) -> Markup {
    html! {
        ul.chapters {
            @for chapter in chapters.iter().take(MOST) {
                li {
                    details {
                        summary {
                            (visible::name(&chapter.name)) " "
                            span.dim { (short(signed(chapter.tokens_before))) " → " (short(signed(chapter.tokens_after)))
                                ", " (percent(chapter.savings_pct / 100.0)) " less"
                                @if !chapter.in_context { ", not in the context" } }
                        }
                        (visible::text(&chapter.message, CHARS, Some(&format!("{}/entries/{}", home(session), chapter.id))))
                        p { a href=(format!("{}/entries/{}", home(session), chapter.id)) { "The chapter" } }
                        @if !chapter.chapters.is_empty() && level < LEVELS { (list(session, &chapter.chapters, level + 1)) }
                    }
                }
            }
            @if chapters.len() > MOST { li.dim { (chapters.len() - MOST) " more" } }
        }
    }
}

pub async fn tasks(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let tasks = ui.services.queries.tasks(viewer.tenant, id).await?;
    let hidden = tasks.len().saturating_sub(MOST_TASKS);
    let body = html! {
        @if tasks.is_empty() { p.empty { "No tasks yet." } }
        @if hidden > 0 { p.hint { "The newest " (MOST_TASKS) "; " (hidden) " came before." } }
        div.scroll tabindex="0" role="region" aria-label="Tasks" {
            table {
                thead { tr { th.num scope="col" { "No." } th scope="col" { "Task" } th scope="col" { "State" } th.num scope="col" { "Tokens" } } }
                tbody data-rows {
                    @for task in tasks.iter().skip(hidden) {
                        tr {
                            td.num { (task.n) }
                            td.wide { a href=(format!("{}/entries/{}", home(id), task.entry_id)) { (visible::name(&task.title)) } }
                            td.nowrap { (state(task.state)) }
                            td.num { (short(signed(task.tokens))) }
                        }
                    }
                }
            }
        }
    };
    Ok(answer(&wanted, &viewer, id, "Tasks", body))
}

fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Chapter => "a chapter",
        TaskState::Done => "done",
        TaskState::InProgress => "in progress",
        TaskState::OpenCall => "a call is open",
    }
}
