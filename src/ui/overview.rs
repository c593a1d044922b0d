//! The overview: every context, every compaction and what became of it.

mod charts;
mod figures;

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use chrono::TimeDelta;
use maud::{Markup, html};
use serde::Deserialize;

use super::compactions::table;
use super::fault::{Fault, Result};
use super::format::count;
use super::layout::{Section, fragment, page};
use super::parts::{address, careful_button, period_links};
use super::query::{Asked, parsed};
use super::state::Ui;
use super::viewer::Viewer;
use crate::service::compaction::{Compaction, CompactionFilter, Status};
use crate::service::core::clock;
use crate::service::core::page::{Page, PageRequest};
use crate::service::ops::stats::{Stats, StatsRequest};

/// Hours, and how many seconds of them a bar of the charts is.
const PERIODS: [(i64, &str, i64); 4] =
    [(1, "1 h", 120), (24, "24 h", 3_600), (168, "7 d", 6 * 3_600), (720, "30 d", 24 * 3_600)];
/// Failed compactions shown.
const FAILED: i64 = 10;

pub fn routes() -> Router<Ui> {
    Router::new().route("/ui", get(overview)).route("/ui/overview", get(alive))
}

#[derive(Deserialize)]
struct Period {
    hours: Option<String>,
}

impl Period {
    fn hours(&self) -> Result<(i64, i64)> {
        let hours = parsed("period", self.hours.as_deref())?.unwrap_or(24);
        let known = PERIODS.iter().find(|(own, _, _)| *own == hours);
        let known = known.ok_or_else(|| Fault::invalid("The period is none of 1, 24, 168 and 720 hours."))?;
        Ok((hours, known.2))
    }
}

async fn overview(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Period>) -> Result<Html<String>> {
    let (hours, bucket) = asked.hours()?;
    let stats = stats(&ui, &viewer, hours, bucket).await?;
    let failed = failed(&ui, &viewer).await?;
    let main = html! {
        div.head {
            h1 { "Overview" }
            (period_links("/ui", hours, &PERIODS.map(|(hours, label, _)| (hours, label))))
        }
        p.sr id="said" aria-live="polite" {}
        div data-live hx-get={ "/ui/overview?hours=" (hours) } hx-trigger="every 5s" hx-swap="innerHTML" {
            (content(&viewer, &stats, &failed))
        }
    };
    Ok(page(&viewer, Section::Overview, "Overview", main))
}

async fn alive(State(ui): State<Ui>, viewer: Viewer, Asked(asked): Asked<Period>) -> Result<Html<String>> {
    let (hours, bucket) = asked.hours()?;
    let stats = stats(&ui, &viewer, hours, bucket).await?;
    let failed = failed(&ui, &viewer).await?;
    Ok(fragment(html! {
        (content(&viewer, &stats, &failed))
        p id="said" hx-swap-oob="innerHTML" { (told(&stats)) }
    }))
}

fn content(viewer: &Viewer, stats: &Stats, failed: &Page<Compaction>) -> Markup {
    html! {
        (figures::at_a_glance(stats))
        (charts::both(stats))
        (figures::in_detail(stats))
        (dead_letters(viewer, failed))
    }
}

/// Whole bars, as the clock has them: what ends does not move the bars before.
async fn stats(ui: &Ui, viewer: &Viewer, hours: i64, bucket: i64) -> Result<Stats> {
    let now = clock::now();
    let bar = now
        - TimeDelta::seconds(now.timestamp().rem_euclid(bucket))
        - TimeDelta::nanoseconds(now.timestamp_subsec_nanos().into());
    let since = Some(bar - TimeDelta::hours(hours));
    let asked = StatsRequest { since, bucket_seconds: Some(bucket) };
    Ok(ui.services.queries.stats(viewer.tenant, asked).await?)
}

/// The newest failed compactions, of any time: they wait for somebody.
async fn failed(ui: &Ui, viewer: &Viewer) -> Result<Page<Compaction>> {
    let filter = CompactionFilter { status: Some(Status::Failed), ..CompactionFilter::default() };
    let page = PageRequest { limit: FAILED, after: None };
    Ok(ui.services.sessions.compactions_like(viewer.tenant, filter, page).await?)
}

/// What a screen reader is told when it changes.
fn told(stats: &Stats) -> String {
    let failed = stats.compactions.by_status.get("failed").copied().unwrap_or(0);
    format!("{} contexts red, {} compactions failed", count(stats.sessions.red), count(failed))
}

fn dead_letters(viewer: &Viewer, failed: &Page<Compaction>) -> Markup {
    html! {
        section.card.spaced aria-labelledby="dead" {
            div.head {
                h2 id="dead" { "Failed compactions" }
                @if !failed.items.is_empty() {
                    @let purge = address("/ui/compactions/purge", &[("before", &clock::now().to_rfc3339())]);
                    (careful_button(viewer, &purge, "Purge all failed",
                        "Every compaction that has failed by now is forgotten, 20,000 at most. The sessions stay as they are."))
                }
            }
            @if failed.items.is_empty() {
                p.empty { "No failed compaction waits for anybody." }
            } @else {
                (table(viewer, &failed.items, true))
                @if failed.next_cursor.is_some() { p { a href="/ui/compactions?status=failed" { "All failed compactions" } } }
            }
        }
    }
}
