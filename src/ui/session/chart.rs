//! The saw-tooth: a session's context turn by turn, with what happened to it; as data for the chart, and as a table.

use axum::extract::State;
use axum::response::Html;
use chrono::{DateTime, Utc};
use maud::{Markup, html};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::settings::Settings;
use crate::domain::tokens::accounting::Breakdown;
use crate::service::ops::timeline::{Timeline, TimelineEvent, TimelineEventKind, TimelinePoint};
use crate::ui::fault::Result;
use crate::ui::format::{count, rounded, when};
use crate::ui::parts::badge;
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::signed;

use super::frame::{Wanted, answer, home};

const POINTS: usize = 160;
/// Events of the table.
const ROWS: usize = 60;

/// A part of the context.
struct Band {
    label: &'static str,
    color: &'static str,
    tokens: fn(&Breakdown) -> u64,
}

/// From the bottom up.
const BANDS: [Band; 5] = [
    Band { label: "Not posted", color: "c6", tokens: |parts| parts.unposted },
    Band { label: "System and tools", color: "c7", tokens: |parts| parts.system + parts.tools },
    Band { label: "Summaries", color: "c5", tokens: |parts| parts.summary },
    Band { label: "Messages", color: "c1", tokens: |parts| parts.messages },
    Band { label: "Tool results", color: "c3", tokens: |parts| parts.tool_results },
];

pub async fn show(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let queries = &ui.services.queries;
    let timeline = queries.timeline(viewer.tenant, id, POINTS).await?;
    let session = queries.session(viewer.tenant, id).await?;
    let body = html! {
        @if timeline.points.is_empty() {
            p.empty { "Nothing was said yet." }
        } @else {
            div.chart.sawtooth data-sawtooth=(data(&timeline, &session.settings)) role="img"
                aria-label=(told(&timeline)) {}
            (tables(&timeline))
        }
    };
    Ok(answer(&wanted, &viewer, id, "How the context grew and shrank", body))
}

/// The chart in a sentence.
fn told(timeline: &Timeline) -> String {
    let tokens = |point: Option<&TimelinePoint>| rounded(signed(point.map_or(0, |point| point.tokens)));
    let most = timeline.points.iter().max_by_key(|point| point.tokens);
    let landed = timeline.events.iter().filter(|event| event.tokens_after.is_some()).count();
    format!(
        "The context over {} entries: {} tokens now, {} at most, {landed} compactions on the way. The tables below have the figures.",
        count(signed(timeline.path_length)),
        tokens(timeline.points.last()),
        tokens(most),
    )
}

/// What the chart is drawn from.
fn data(timeline: &Timeline, settings: &Settings) -> Value {
    let points = &timeline.points;
    let usable = f64::from(settings.usable());
    let bands = BANDS.iter().map(|band| {
        let values: Vec<u64> = points.iter().map(|point| (band.tokens)(&point.breakdown)).collect();
        json!({"label": band.label, "color": band.color, "values": values})
    });
    json!({
        "at": points.iter().map(|point| point.at.timestamp()).collect::<Vec<_>>(),
        "bands": bands.collect::<Vec<_>>(),
        "twin": points.iter().map(|point| point.without_contextd).collect::<Vec<_>>(),
        "window": timeline.window,
        "red": (settings.red_at.unwrap_or(1.0) * usable).round(),
        "yellow": (settings.yellow_at * usable).round(),
        "marks": timeline.events.iter().filter_map(|event| mark(points, event)).collect::<Vec<_>>(),
    })
}

fn mark(points: &[TimelinePoint], event: &TimelineEvent) -> Option<Value> {
    let place = place_of(points, event.entry_id, event.at)?;
    let status: Option<&str> = event.status.map(Into::into);
    let is_landed = event.compaction_id.is_none() || status == Some("succeeded");
    Some(json!({"x": place, "kind": kind(event.kind), "landed": is_landed}))
}

/// The point with which an event is shown: its own, else the newest before it.
fn place_of(points: &[TimelinePoint], entry: Option<Uuid>, at: DateTime<Utc>) -> Option<usize> {
    let own = points.iter().position(|point| Some(point.entry_id) == entry);
    own.or_else(|| points.partition_point(|point| point.at <= at).checked_sub(1)).or((!points.is_empty()).then_some(0))
}

fn kind(kind: TimelineEventKind) -> &'static str {
    match kind {
        TimelineEventKind::Compaction => "compaction",
        TimelineEventKind::Overflow => "overflow",
        TimelineEventKind::Chapter => "chapter",
        TimelineEventKind::Branch => "branch",
    }
}

fn tables(timeline: &Timeline) -> Markup {
    html! {
        details.plain {
            summary { "What happened, as a table (" (timeline.events.len()) ")" }
            div.scroll tabindex="0" role="region" aria-label="What happened" {
                table {
                    thead { tr { th scope="col" { "What" } th scope="col" { "When" } th scope="col" { "Outcome" }
                        th.num scope="col" { "Tokens before" } th.num scope="col" { "after" } th scope="col" { "" } } }
                    tbody { @for event in timeline.events.iter().rev().take(ROWS) { (event_row(timeline.session_id, event)) } }
                }
            }
        }
        details.plain {
            summary { "The context, as a table (" (timeline.points.len()) " points)" }
            div.scroll tabindex="0" role="region" aria-label="The context turn by turn" {
                table {
                    thead { tr { th scope="col" { "When" } th.num scope="col" { "Tokens" }
                        @for band in &BANDS { th.num scope="col" { (band.label) } }
                        th.num scope="col" { "Without contextd" } th scope="col" { "State" } } }
                    tbody { @for point in timeline.points.iter().rev() { (point_row(timeline.session_id, point)) } }
                }
            }
        }
    }
}

fn event_row(session: Uuid, event: &TimelineEvent) -> Markup {
    let tokens = |tokens: Option<u64>| tokens.map_or("—".to_owned(), |tokens| count(signed(tokens)));
    let status: Option<&str> = event.status.map(Into::into);
    html! {
        tr {
            td { (kind(event.kind)) }
            td.nowrap { (when(event.at)) }
            td { @if let Some(status) = status { (badge(status)) } }
            td.num { (tokens(event.tokens_before)) }
            td.num { (tokens(event.tokens_after)) }
            td {
                @if let Some(compaction) = event.compaction_id { a href=(format!("/ui/compactions/{compaction}")) { "Compaction" } }
                @else if let Some(entry) = event.entry_id { a href=(format!("{}/entries/{entry}", home(session))) { "Entry" } }
            }
        }
    }
}

fn point_row(session: Uuid, point: &TimelinePoint) -> Markup {
    html! {
        tr {
            td.nowrap { a href=(format!("{}/entries/{}", home(session), point.entry_id)) { (when(point.at)) } }
            td.num { (count(signed(point.tokens))) }
            @for band in &BANDS { td.num { (count(signed((band.tokens)(&point.breakdown)))) } }
            td.num { (count(signed(point.without_contextd))) }
            td { (badge(point.state.into())) }
        }
    }
}
