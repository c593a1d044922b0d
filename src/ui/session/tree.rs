//! A session's tree: drawn, and as a list.

mod lanes;

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::service::sessions::outline::{Outline, OutlineBranch, OutlineMark};
use crate::ui::fault::Result;
use crate::ui::format::count;
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::visible;

use super::frame::{Wanted, answer, home};
use lanes::{Drawing, Sign, draw};

/// Distances of the drawing, in pixels.
const STEP: usize = 26;
const LANE: usize = 30;
const EDGE: usize = 16;
/// Branches and marks of the list.
const MOST_LISTED: usize = 60;

pub async fn show(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let outline = ui.services.queries.outline(viewer.tenant, id).await?;
    let body = html! {
        @if outline.branches.is_empty() {
            p.empty { "No entries of its own" @if outline.leaf.is_none() { " yet" } "." }
        } @else {
            (picture(id, &outline))
            (legend())
            (list(id, &outline))
        }
    };
    Ok(answer(&wanted, &viewer, id, "The tree", body))
}

fn x(column: usize) -> usize {
    EDGE + column * STEP
}

fn y(lane: usize) -> usize {
    EDGE + lane * LANE
}

/// For the eye alone: the list says the same.
fn picture(session: Uuid, outline: &Outline) -> Markup {
    let drawing = draw(outline);
    let (width, height) = (x(drawing.columns) + EDGE, y(drawing.lanes.len()));
    html! {
        div.scroll.tree {
            svg width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) aria-hidden="true" focusable="false" {
                (lines(session, &drawing))
                @for node in &drawing.nodes {
                    a href=(format!("{}/entries/{}", home(session), node.entry)) tabindex="-1" {
                        g class={ "node " (class(node.sign)) } transform=(format!("translate({} {})", x(node.column), y(node.lane))) {
                            title { (node.title) }
                            (shape(node.sign))
                        }
                    }
                }
                @if let Some((lane, column)) = drawing.leaf {
                    circle.leaf cx=(x(column)) cy=(y(lane)) r="9" {}
                }
            }
        }
        @if drawing.left_out > 0 { p.hint { (count(drawing.left_out as i64)) " more branches or marks are not drawn." } }
    }
}

fn lines(session: Uuid, drawing: &Drawing) -> Markup {
    html! {
        @for lane in &drawing.lanes {
            @if let Some((from_lane, from_column)) = lane.parent {
                path.branch d=(format!("M {} {} C {} {} {} {} {} {}", x(from_column), y(from_lane), x(from_column) + 14, y(from_lane),
                    x(from_column), y(lane.lane), x(lane.first), y(lane.lane))) {}
            }
            line.branch x1=(x(lane.first)) y1=(y(lane.lane)) x2=(x(lane.last)) y2=(y(lane.lane)) {}
            @for run in &lane.runs {
                a href=(run_path(session, lane.tip, run.after)) tabindex="-1" {
                    text.run x=((x(run.from) + x(run.to)) / 2) y=(y(lane.lane) - 5) text-anchor="middle" { (run.entries) }
                }
            }
        }
    }
}

fn run_path(session: Uuid, tip: Uuid, after: i64) -> String {
    format!("{}/entries?leaf={tip}&after={after}", home(session))
}

fn class(sign: Sign) -> &'static str {
    match sign {
        Sign::Compaction => "compaction",
        Sign::Chapter => "chapter",
        Sign::Summary => "summary",
        Sign::Label => "label",
        Sign::Tip => "tip",
    }
}

fn shape(sign: Sign) -> Markup {
    html! {
        @match sign {
            Sign::Compaction => path d="M 0 -6 L 6 0 L 0 6 L -6 0 Z" {},
            Sign::Chapter => rect x="-5" y="-5" width="10" height="10" {},
            Sign::Summary => path d="M 0 -6 L 6 5 L -6 5 Z" {},
            Sign::Label => path d="M -4 -6 L 6 -6 L 3 -2 L 6 2 L -2 2 L -2 7 L -4 7 Z" {},
            Sign::Tip => circle r="4" {},
        }
    }
}

fn legend() -> Markup {
    let signs = [
        (Sign::Compaction, "compaction"),
        (Sign::Chapter, "chapter"),
        (Sign::Summary, "branch summary"),
        (Sign::Label, "label"),
        (Sign::Tip, "last entry"),
    ];
    html! {
        p.hint.legend aria-hidden="true" {
            @for (sign, name) in signs {
                span { svg width="16" height="16" viewBox="-8 -8 16 16" { g class={ "node " (class(sign)) } { (shape(sign)) } } " " (name) }
            }
            span { svg width="20" height="20" viewBox="-10 -10 20 20" { circle.leaf r="8" {} } " the leaf" }
            span { "Figures: entries in between." }
        }
    }
}

fn list(session: Uuid, outline: &Outline) -> Markup {
    let mut marks: BTreeMap<i32, Vec<&OutlineMark>> = BTreeMap::new();
    outline.marks.iter().for_each(|mark| marks.entry(mark.branch).or_default().push(mark));
    html! {
        details.plain {
            summary { "The tree, as a list (" (outline.branches.len()) " branches)" }
            ul.branches {
                @for branch in outline.branches.iter().rev().take(MOST_LISTED) {
                    li { (branch_line(session, outline, branch))
                        @if let Some(marks) = marks.get(&branch.branch) {
                            ul { @for mark in marks.iter().rev().take(MOST_LISTED) { li { (mark_line(session, mark)) } } }
                        }
                    }
                }
            }
        }
    }
}

fn branch_line(session: Uuid, outline: &Outline, branch: &OutlineBranch) -> Markup {
    html! {
        a href=(run_path(session, branch.tip, branch.from - 1)) { "Branch " (branch.branch) }
        ": " (count(branch.to - branch.from + 1)) " entries"
        @if let Some(parent) = branch.parent { ", goes on from branch " (parent) " at entry " (count(branch.from)) }
        @else if branch.from > 0 { ", goes on from " (count(branch.from)) " entries shared with another session" }
        @if let Some((at, depth)) = outline.leaf {
            @if at == branch.branch { "; the leaf is its entry " (count(depth + 1)) }
        }
    }
}

fn mark_line(session: Uuid, mark: &OutlineMark) -> Markup {
    html! {
        a href=(format!("{}/entries/{}", home(session), mark.entry_id)) { (lanes::told(mark)) }
        " at entry " (count(mark.depth + 1))
        @if let Some(label) = &mark.label { ": " (visible::name(label)) }
    }
}
