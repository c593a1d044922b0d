//! One compaction: what it did, who wrote the summary, what it cost, what stood before and what stands now.

mod actions;
mod diff;
mod evidence;
mod numbers;
mod prompt;
mod record;
mod refused;
mod steps;

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::compaction::result::CompactionResult;
use crate::service::compaction::{Compaction, Status};

use super::fault::Result;
use super::format::{count, percent, short, unknown, usd};
use super::layout::{Section, page};
use super::parts::{badge, button, careful_button};
use super::query::{Asked, Ids};
use super::session::frame::{self, flash, home};
use super::state::Ui;
use super::viewer::Viewer;
use super::visible;
use super::words::{self, signed};

pub fn routes() -> Router<Ui> {
    Router::new()
        .route("/ui/compactions/{id}", get(show))
        .route("/ui/compactions/{id}/diff", get(diff::show))
        .route("/ui/compactions/{id}/refused", get(refused::show))
        .route("/ui/compactions/{id}/prompt", get(prompt::show))
        .route("/ui/compactions/{id}/numbers/{number}", get(numbers::follow))
        .route("/ui/compactions/{id}/cancel", post(actions::cancel))
        .route("/ui/compactions/{id}/revert", post(actions::revert))
}

#[derive(Deserialize)]
struct Page {
    done: Option<String>,
}

async fn show(
    State(ui): State<Ui>,
    viewer: Viewer,
    Ids(id): Ids<Uuid>,
    Asked(asked): Asked<Page>,
) -> Result<Html<String>> {
    let one = ui.services.sessions.compaction(viewer.tenant, id).await?;
    let record = record::read(&ui, &viewer, &one).await?;
    let refused = ui.services.calls.find_refused_text(viewer.tenant, id).await?;
    let evidence = ui.services.sessions.find_compaction_evidence(viewer.tenant, id).await?;
    let main = html! {
        (frame::assets())
        p.crumbs { a href=(home(one.session_id)) { "« Session" } }
        div.head {
            h1 { "Compaction " (badge(one.status.into())) }
            div.row { (deeds(&viewer, &one)) }
        }
        (flash(asked.done.as_deref()))
        @if words::is_live(one.status) { div data-events=(format!("{}/events", home(one.session_id))) data-reload {} }
        (outcome(&one))
        @if let Some(refused) = &refused { (refused::link(refused)) }
        @if let Some(result) = &one.result { (figures(result)) }
        div.grid {
            (steps::show(&one))
            @if let Some(result) = &one.result { (steps::writer(result)) }
        }
        @if let Some(result) = &one.result { (steps::hooks(&result.hooks)) (record::show(&one, result, record.as_ref())) }
        @if let Some(evidence) = &evidence { (evidence::show(&one, evidence)) }
        @if landed(&one) { (diff::lazy(&one)) }
        (prompt::lazy(&one))
    };
    Ok(page(&viewer, Section::Compactions, "Compaction", main))
}

fn landed(one: &Compaction) -> bool {
    one.result.as_ref().is_some_and(|result| result.entry_id.is_some())
}

fn deeds(viewer: &Viewer, one: &Compaction) -> Markup {
    let path = |deed: &str| format!("/ui/compactions/{}/{deed}", one.id);
    html! {
        @match one.status {
            Status::Queued | Status::Running => (button(viewer, &path("cancel"), "Cancel")),
            Status::Failed => (button(viewer, &path("retry"), "Retry")),
            Status::Succeeded if landed(one) && one.reverted_at.is_none() => (careful_button(viewer, &path("revert"), "Revert",
                "The context becomes what it was before this compaction. Nothing is deleted, and it can be compacted again.")),
            _ => {}
        }
    }
}

fn outcome(one: &Compaction) -> Markup {
    let strategy: &str = one.result.as_ref().map_or(one.strategy, |result| result.strategy_used).into();
    html! {
        p.hint {
            "Because of: " (words::trigger(one.trigger)) " · strategy " (strategy)
            @if let Some(asked) = one.result.as_ref().map(|result| result.strategy_requested).filter(|asked| <&str>::from(*asked) != strategy) {
                " (asked for: " (<&str>::from(asked)) ")"
            }
            " · " (one.attempts) @if one.attempts == 1 { " attempt" } @else { " attempts" }
            " · " code { (one.id) }
        }
        @if one.result.is_none() && one.spent.calls > 0 {
            p.hint {
                (one.spent.calls) " calls of models, " (one.spent.errors) " without an answer: "
                (count(signed(one.spent.input_tokens))) " tokens in, " (count(signed(one.spent.output_tokens))) " out, "
                (usd(one.spent.cost_usd))
            }
        }
        @if one.prepared { p.notice { "Its summary is written and waits for the context to turn red." } }
        @if one.reverted_at.is_some() { p.notice { "It was taken back." } }
        @if let Some(reason) = one.result.as_ref().and_then(|result| result.skip_reason) {
            p.notice { (words::reason(reason)) " " span.dim { "(" (<&str>::from(reason)) ")" } }
        }
        @if let Some(error) = &one.error {
            div.problem { p { @if one.status == Status::Failed { "It failed:" } @else { "What went wrong last:" } } (visible::text(error, 1_000, None)) }
        }
    }
}

fn figures(result: &CompactionResult) -> Markup {
    let net = &result.net;
    html! {
        dl.figures {
            div.figure {
                dt { "Tokens" }
                dd { (short(signed(result.tokens_before))) " → " (short(signed(result.tokens_after))) }
                dd.note { (percent(result.savings_pct / 100.0)) " less" @if let Some(target) = result.target_tokens {
                    ", wanted " (count(signed(target))) @if result.target_reached == Some(false) { ", not reached" } } }
            }
            div.figure {
                dt { "Saved at each call" }
                dd { (short(signed(net.tokens_shed_per_turn))) }
                dd.note { "tokens; " (short(signed(net.tokens_rewritten))) " rewritten in the prompt cache" }
            }
            div.figure {
                dt { "Cost of the summary" }
                dd { (usd(net.summary_cost_usd)) }
                dd.note { "cache " @match net.cache_cost_usd { Some(cost) => (usd(cost)), None => (unknown("the price of the session's model is not known")) } }
            }
            div.figure {
                dt { "Made up for after" }
                @match net.break_even_turns {
                    Some(turns) => { dd { (format!("{turns:.1}")) } dd.note { "calls of the model" } }
                    None => { dd { (unknown("there were no savings, or a price is not known")) } dd.note { "calls of the model" } }
                }
            }
            div.figure {
                dt { "Messages" }
                dd { (count(i64::from(result.messages_summarized))) }
                dd.note { "summarised; " (result.messages_kept) " kept, " (result.messages_removed) " removed" }
            }
            div.figure {
                dt { "Tool results" }
                dd { (count(i64::from(result.tool_results_masked) + i64::from(result.tool_results_pruned))) }
                dd.note { (result.tool_results_masked) " masked, " (result.tool_results_pruned) " shortened" }
            }
        }
    }
}
