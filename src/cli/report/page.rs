//! The report's page: no script, nothing from elsewhere, everything escaped, every part bounded.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::saw_tooth::{Limits, legend, saw_tooth};
use crate::cli::fields::Fields;
use crate::cli::figures::{count, percent, time, usd};
use crate::cli::text::{cut, visible, visible_lines};

const STYLE: &str = include_str!("style.css");
/// Compactions that are looked at.
pub const COMPACTIONS: usize = 100;
/// Rows of a table.
const ROWS: usize = 50;
/// Bytes of the summary, and columns of a name.
const SUMMARY: usize = 128 << 10;
const NAME: usize = 300;

/// What the API says of a session.
pub struct Gathered {
    pub session: Value,
    pub composition: Value,
    pub timeline: Value,
    pub compactions: Vec<Value>,
    pub tasks: Value,
    pub chapters: Value,
}

/// The whole page.
pub fn page(gathered: &Gathered, at: DateTime<Utc>) -> String {
    let Gathered { session, composition, timeline, .. } = gathered;
    let title = match session.word("/title") {
        "" => session.word("/id"),
        title => title,
    };
    let title = name(title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) " - contextd" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { h1 { (title) } (ids(session)) (figures(gathered)) }
                main {
                    section {
                        h2 { "How full the window was" }
                        (saw_tooth(timeline, &Limits::of(session)))
                        (legend())
                    }
                    (filling(composition))
                    (compactions(&gathered.compactions))
                    (newest_summary(&gathered.compactions))
                    (tasks(gathered.tasks.list("")))
                    (chapters(gathered.chapters.list("/items")))
                    (largest(composition.list("/largest")))
                }
                footer { p { "Written by contextd " (env!("CARGO_PKG_VERSION")) " on " (at.format("%Y-%m-%d %H:%M:%S UTC")) "." } }
            }
        }
    };
    page.into_string()
}

/// Nothing is loaded and nothing runs; the one style is known by its hash.
fn policy() -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

/// A text of one line, of bounded length.
fn name(text: &str) -> String {
    let begin: String = text.chars().take(NAME * 2).collect();
    cut(&visible(&begin), NAME)
}

fn ids(session: &Value) -> Markup {
    let parts = [("session", "/id"), ("external id", "/external_id"), ("model", "/model")];
    html! {
        p class="ids" {
            @for (what, at) in parts.iter().filter(|(_, at)| !session.word(at).is_empty()) {
                (what) " " code { (name(session.word(at))) } " · "
            }
            "begun " (time(session.word("/created_at"))) ", changed " (time(session.word("/updated_at")))
        }
    }
}

fn figures(gathered: &Gathered) -> Markup {
    let Gathered { session, timeline, compactions, .. } = gathered;
    let snapshot = |at: &str| count(session.number(&format!("/snapshot/{at}")));
    let fill = percent(session.figure("/snapshot/utilization").unwrap_or_default() * 100.0);
    let state = session.word("/snapshot/state");
    let class = ["red", "yellow", "green"].into_iter().find(|known| *known == state).unwrap_or_default();
    let twin = timeline.list("/points").last().map_or(0, |point| point.number("/without_contextd"));
    let succeeded: Vec<&Value> = compactions.iter().filter(|one| one.word("/status") == "succeeded").collect();
    let shed: u64 = succeeded.iter().map(|one| one.number("/result/tokens_saved")).sum();
    let cost: f64 = compactions.iter().filter_map(|one| one.figure("/spent/cost_usd")).sum();
    let of_all = if compactions.len() >= COMPACTIONS { "of the newest 100" } else { "in all" };
    let figure = |name: &str, value: Markup, note: String| html! { div { dt { (name) } dd { (value) } dd class="note" { (note) } } };
    html! {
        dl class="figures" {
            (figure("Context now", html! { (snapshot("tokens")) }, if session.word("/snapshot/source") == "usage" { "tokens, as the provider counted" } else { "tokens, estimated" }.to_owned()))
            (figure("Fill", html! { span class=(format!("state-{class}")) { (fill) } }, format!("{}, of {} usable", visible(state), count(Limits::of(session).usable as u64))))
            (figure("Without contextd", html! { (count(twin)) }, "tokens".to_owned()))
            (figure("Entries", html! { (count(session.number("/entry_count"))) }, format!("{} on the path", count(timeline.number("/path_length")))))
            (figure("Compactions", html! { (succeeded.len()) }, format!("succeeded, {of_all}; {} tokens shed", count(shed))))
            (figure("Cost of summaries", html! { (usd(cost)) }, of_all.to_owned()))
        }
    }
}

fn filling(composition: &Value) -> Markup {
    let parts: Vec<&Value> = composition.list("/categories").iter().filter(|part| part.number("/tokens") > 0).collect();
    let tools = composition.list("/tools");
    html! {
        section {
            h2 { "What fills the window now" }
            (bars(&parts))
            @if !tools.is_empty() {
                h2 { "By tool" }
                div class="wide" { table {
                    thead { tr { th { "Tool" } (heads(&["Calls", "Results", "Tokens", "Share"])) } }
                    tbody { @for tool in tools.iter().take(ROWS) {
                        tr {
                            td class="text" { (name(if tool.word("/name").is_empty() { "(unknown)" } else { tool.word("/name") })) }
                            @for at in ["/calls", "/results", "/tokens"] { td class="figure" { (count(tool.number(at))) } }
                            td class="figure" { (percent(tool.figure("/share_pct").unwrap_or_default())) }
                        }
                    } }
                } }
            }
        }
    }
}

/// A category each, as long as its share.
fn bars(parts: &[&Value]) -> Markup {
    const ROW: usize = 24;
    let class = |category: &str| match category {
        "system" | "instructions" => "system",
        "tools" => "tools",
        "summary" | "chapters" | "branch_summaries" => "summary",
        "tool_results" => "tool_results",
        _ => "messages",
    };
    html! {
        svg viewBox=(format!("0 0 1000 {}", parts.len() * ROW + 4)) role="img" aria-label="Tokens by category" {
            @for (at, part) in parts.iter().enumerate() {
                @let share = part.figure("/share_pct").unwrap_or_default().clamp(0.0, 100.0);
                @let y = at * ROW;
                text x="0" y=(y + 16) { (name(&part.word("/category").replace('_', " "))) }
                rect class=(class(part.word("/category"))) x="130" y=(y + 4) width=(format!("{:.1}", (share * 6.6).max(1.0))) height="16" rx="2" {}
                text x=(format!("{:.1}", 138.0 + (share * 6.6).max(1.0))) y=(y + 16) { (count(part.number("/tokens"))) " tokens, " (percent(share)) }
            }
        }
    }
}

fn heads(names: &[&str]) -> Markup {
    html! { @for name in names { th class="figure" { (name) } } }
}

fn compactions(compactions: &[Value]) -> Markup {
    let done = |one: &Value, at: &str| match one.word("/status") {
        "succeeded" => count(one.number(at)),
        _ => String::new(),
    };
    html! {
        @if !compactions.is_empty() {
            section {
                h2 { "Compactions" @if compactions.len() > ROWS { " (the newest " (ROWS) ")" } }
                div class="wide" { table {
                    thead { tr { th { "When (UTC)" } th { "How" } th { "Outcome" } (heads(&["Before", "After", "Saved", "Less a call", "Cost once", "Pays after"])) } }
                    tbody { @for one in compactions.iter().take(ROWS) { tr {
                        td class="nowrap" { (time(one.word("/created_at")).trim_end_matches(" UTC")) }
                        td class="nowrap" { (name(how(one))) ", " (name(one.word("/trigger"))) }
                        td { (name(&outcome(one).replace('_', " "))) }
                        td class="figure" { (done(one, "/result/tokens_before")) }
                        td class="figure" { (done(one, "/result/tokens_after")) }
                        @if one.word("/status") == "succeeded" {
                            td class="figure" { (percent(one.figure("/result/savings_pct").unwrap_or_default())) }
                            td class="figure" { (count(one.number("/result/net/tokens_shed_per_turn"))) }
                            td class="figure" { (once(one)) }
                            td class="figure" { (one.figure("/result/net/break_even_turns").map_or_else(|| "unknown".to_owned(), |turns| format!("{turns:.1} calls"))) }
                        } @else { td {} td {} td {} td {} }
                    } } }
                } }
            }
        }
    }
}

fn how(compaction: &Value) -> &str {
    match compaction.word("/result/strategy_used") {
        "" => compaction.word("/strategy"),
        used => used,
    }
}

fn outcome(compaction: &Value) -> String {
    let reverted = if compaction.word("/reverted_at").is_empty() { "" } else { "taken back" };
    let words =
        [compaction.word("/status"), compaction.word("/result/skip_reason"), compaction.word("/error"), reverted];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// What it cost: the summary, and the provider's prompt cache where its price is known.
fn once(compaction: &Value) -> String {
    let summary = compaction.figure("/result/net/summary_cost_usd").unwrap_or_default();
    match compaction.figure("/result/net/cache_cost_usd") {
        Some(cache) => usd(summary + cache),
        None => format!("{} + cache", usd(summary)),
    }
}

fn newest_summary(compactions: &[Value]) -> Markup {
    let holds = |one: &&Value| {
        one.word("/status") == "succeeded"
            && one.word("/reverted_at").is_empty()
            && !one.word("/result/summary").is_empty()
    };
    let Some(newest) = compactions.iter().find(holds) else { return html! {} };
    let text = newest.word("/result/summary");
    let begin = &text[..text.floor_char_boundary(SUMMARY)];
    html! {
        section {
            h2 { "The newest summary" }
            p class="faint" { "Of " (time(newest.word("/created_at"))) ", compaction " code { (name(newest.word("/id"))) }
                @if begin.len() < text.len() { "; its first " (SUMMARY >> 10) " KiB" } }
            pre { (visible_lines(begin)) }
        }
    }
}

fn tasks(tasks: &[Value]) -> Markup {
    let newest = tasks.len().saturating_sub(ROWS);
    html! {
        @if !tasks.is_empty() {
            section {
                h2 { "Tasks" @if newest > 0 { " (the newest " (ROWS) ")" } }
                div class="wide" { table {
                    thead { tr { th class="figure" { "N" } th { "State" } th { "Task" } (heads(&["Tokens"])) } }
                    tbody { @for task in &tasks[newest..] { tr {
                        td class="figure" { (task.number("/n")) }
                        td class="nowrap" { (name(&task.word("/state").replace('_', " "))) }
                        td class="text" { (name(task.word("/title"))) }
                        td class="figure" { (count(task.number("/tokens"))) }
                    } } }
                } }
            }
        }
    }
}

fn chapters(chapters: &[Value]) -> Markup {
    html! {
        @if !chapters.is_empty() {
            section {
                h2 { "Chapters" }
                div class="wide" { table {
                    thead { tr { th { "Chapter" } th { "Tasks" } th { "What it says" } (heads(&["Before", "After", "Saved"])) } }
                    tbody { @for chapter in chapters.iter().take(ROWS) { tr {
                        td class="text" { (name(chapter.word("/name"))) }
                        td class="nowrap" { (chapter.number("/start")) "-" (chapter.number("/end")) }
                        td class="text" { (name(chapter.word("/message"))) }
                        td class="figure" { (count(chapter.number("/tokens_before"))) }
                        td class="figure" { (count(chapter.number("/tokens_after"))) }
                        td class="figure" { (percent(chapter.figure("/savings_pct").unwrap_or_default())) }
                    } } }
                } }
            }
        }
    }
}

fn largest(entries: &[Value]) -> Markup {
    html! {
        @if !entries.is_empty() {
            section {
                h2 { "The largest entries in the window" }
                div class="wide" { table {
                    thead { tr { th { "Entry" } th { "What" } (heads(&["Tokens", "Share"])) } }
                    tbody { @for entry in entries.iter().take(ROWS) { tr {
                        td class="nowrap" { code { (name(entry.word("/entry_id"))) } }
                        td class="text" {
                            (name(entry.word("/type"))) " " (name(entry.word("/role"))) " " (name(entry.word("/tool_name")))
                            @if entry.is("/elided") { " (elided)" }
                        }
                        td class="figure" { (count(entry.number("/tokens"))) }
                        td class="figure" { (percent(entry.figure("/share_pct").unwrap_or_default())) }
                    } } }
                } }
            }
        }
    }
}
