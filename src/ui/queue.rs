//! The queue: what waits, what is at work, what was given up.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::compactions::short_id;
use super::fault::Result;
use super::format::when;
use super::layout::{Section, page};
use super::parts::choice;
use super::query::{Asked, parsed};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible::line;
use crate::service::ops::jobs::{JobStatus, Jobs};

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui/queue", get(list))
}

#[derive(Deserialize)]
struct Filters {
    status: Option<String>,
}

async fn list(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Filters>) -> Result<Html<String>> {
    let status = parsed("status", asked.status.as_deref())?.unwrap_or(JobStatus::Pending);
    let jobs = ui.services.queries.jobs(viewer.tenant, status).await?;
    let main = html! {
        div.head { h1 { "Queue" } }
        form.filters method="get" action="/ui/queue" {
            (choice("status", "Status", Some(status)))
            button type="submit" { "Filter" }
        }
        div.card {
            @if jobs.items.is_empty() { p.empty { (nothing(status)) } }
            @else { (table(&jobs)) }
            @if jobs.more { p.hint { "There are more; these are due the longest." } }
        }
    };
    Ok(page(&viewer, Section::Overview, "Queue", main))
}

fn nothing(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Pending => "Nothing waits.",
        JobStatus::Running => "Nothing is at work.",
        JobStatus::Dead => "Nothing was given up.",
    }
}

/// What a job does, by its kind.
fn does(kind: &str) -> &str {
    match kind {
        "compact" => "compaction",
        "recount" => "counting a session anew",
        "depart" => "summary of a branch that is left",
        other => other,
    }
}

fn table(jobs: &Jobs) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Jobs" {
            table {
                caption.sr { "Jobs, the longest due first" }
                thead { tr {
                    th scope="col" { "Job" }
                    th scope="col" { "Session" }
                    th scope="col" { "Queued" }
                    th scope="col" { "Due" }
                    th.num scope="col" { "Attempts" }
                    th scope="col" { "What went wrong last" }
                } }
                tbody data-rows { @for job in &jobs.items {
                    tr {
                        th.nowrap scope="row" {
                            @match job.compaction_id {
                                Some(id) => a href={ "/ui/compactions/" (id) } { (does(&job.kind)) },
                                None => (does(&job.kind)),
                            }
                        }
                        td { a href={ "/ui/sessions/" (job.session_id) } { (short_id(job.session_id)) } }
                        td.nowrap { (when(job.created_at)) }
                        td.nowrap { (when(job.run_at)) }
                        td.num { (job.attempts) " of " (job.max_attempts) }
                        td.wide { @if let Some(error) = &job.last_error { bdi { (line(error, 160)) } } }
                    }
                } }
            }
        }
    }
}
