//! What fills a session's window now.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

use crate::domain::context::composition::{Category, CategoryPart, LargeEntry, ToolPart};
use crate::service::ops::composition::Composition;
use crate::ui::fault::Result;
use crate::ui::format::{percent, short};
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::signed;
use crate::ui::{visible, words};

use super::frame::{Wanted, answer, home};

const LARGEST: usize = 8;
const TOOLS: usize = 8;

pub async fn show(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let whole = ui.services.queries.composition(viewer.tenant, id, LARGEST).await?;
    let body = html! {
        (categories(&whole))
        @if whole.elided_tokens > 0 {
            p.hint { "Tool results and arguments are shown shorter: " (short(signed(whole.elided_tokens))) " tokens less." }
        }
        @if !whole.tools.is_empty() { (tools(&whole.tools)) }
        @if !whole.largest.is_empty() { (largest(id, &whole.largest)) }
    };
    Ok(answer(&wanted, &viewer, id, "What fills it", body))
}

fn categories(whole: &Composition) -> Markup {
    let parts: Vec<&CategoryPart> = whole.categories.iter().filter(|part| part.tokens > 0).collect();
    html! {
        @if parts.is_empty() { p.empty { "The context is empty." } }
        @else {
            table.bars {
                caption { (whole.entries) " entries. " (words::measured(whole.source)) }
                thead.sr { tr { th scope="col" { "Part" } th scope="col" { "Tokens" } th scope="col" { "Share" } th scope="col" { "Bar" } } }
                tbody {
                    @for part in parts {
                        (bar_row(name(part.category), part.tokens, part.share_pct))
                    }
                }
            }
        }
    }
}

fn bar_row(name: &str, tokens: u64, share_pct: f64) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            td.num { (short(signed(tokens))) }
            td.num { (percent(share_pct / 100.0)) }
            td.bar { meter.share min="0" max="100" value=(format!("{share_pct:.2}")) aria-label=(format!("{name}: {share_pct:.0} %")) {} }
        }
    }
}

fn tools(tools: &[ToolPart]) -> Markup {
    html! {
        h3 { "By tool" }
        div.scroll tabindex="0" role="region" aria-label="By tool" {
            table {
                thead { tr { th scope="col" { "Tool" } th.num scope="col" { "Calls" } th.num scope="col" { "Results" }
                    th.num scope="col" { "Tokens" } th.num scope="col" { "Share" } } }
                tbody {
                    @for tool in tools.iter().take(TOOLS) {
                        tr {
                            td.wide { @match &tool.name { Some(name) => (visible::name(name)), None => span.dim { "calls not shown" } } }
                            td.num { (tool.calls) }
                            td.num { (tool.results) }
                            td.num { (short(signed(tool.tokens))) }
                            td.num { (percent(tool.share_pct / 100.0)) }
                        }
                    }
                }
            }
        }
        @if tools.len() > TOOLS { p.hint { (tools.len() - TOOLS) " more tools" } }
    }
}

fn largest(session: Uuid, entries: &[LargeEntry]) -> Markup {
    html! {
        h3 { "Largest entries" }
        div.scroll tabindex="0" role="region" aria-label="Largest entries" {
            table {
                thead { tr { th scope="col" { "Entry" } th.num scope="col" { "Tokens" } th.num scope="col" { "Share" } } }
                tbody data-rows {
                    @for entry in entries {
                        tr {
                            td.wide {
                                a href=(format!("{}/entries/{}", home(session), entry.entry_id)) {
                                    (words::speaker(entry.kind, entry.role))
                                }
                                @if let Some(tool) = &entry.tool_name { " " (visible::name(tool)) }
                                @if entry.elided { " " span.dim { "shown shorter" } }
                            }
                            td.num { (short(signed(entry.tokens))) }
                            td.num { (percent(entry.share_pct / 100.0)) }
                        }
                    }
                }
            }
        }
    }
}

fn name(category: Category) -> &'static str {
    match category {
        Category::System => "System prompt",
        Category::Tools => "Tool definitions",
        Category::Unposted => "Not posted",
        Category::Summary => "Summary",
        Category::Chapters => "Chapters",
        Category::BranchSummaries => "Branch summaries",
        Category::Instructions => "Instructions",
        Category::User => "User",
        Category::Assistant => "Assistant",
        Category::ToolResults => "Tool results",
        Category::Other => "Other",
    }
}
