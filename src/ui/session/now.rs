//! How full a session's window is now.

use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use uuid::Uuid;

use crate::domain::model::anti_thrash::TrippedBy;
use crate::domain::settings::WindowSource;
use crate::domain::tokens::accounting::Source;
use crate::service::sessions::Session;
use crate::ui::fault::Result;
use crate::ui::format::{count, percent, rounded, short, unknown, when};
use crate::ui::parts::{badge, button, fill_bar};
use crate::ui::query::Ids;
use crate::ui::state::Ui;
use crate::ui::viewer::Viewer;
use crate::ui::words::signed;

use super::frame::{Wanted, answer, home};

pub async fn show(State(ui): State<Ui>, viewer: Viewer, wanted: Wanted, Ids(id): Ids<Uuid>) -> Result<Html<String>> {
    let session = ui.services.queries.session(viewer.tenant, id).await?;
    Ok(answer(&wanted, &viewer, id, "Now", figures(&viewer, &session)))
}

pub fn figures(viewer: &Viewer, session: &Session) -> Markup {
    let now = &session.snapshot;
    let source = match now.source {
        Source::Usage => "as the provider reported",
        Source::Estimate => "estimated",
        Source::UsageRejected => "estimated: what was reported can't be",
    };
    let strategy: &str = session.settings.strategy.into();
    html! {
        dl.figures {
            div.figure {
                dt { "Fill" }
                dd { (badge(now.state.into())) }
                dd.note { (fill_bar(signed(now.tokens), i64::from(now.window), now.state.into())) }
            }
            div.figure {
                dt { "Tokens" }
                dd { (short(signed(now.tokens))) }
                dd.note { (source) @if now.recounting { ", being counted anew" } }
            }
            div.figure {
                dt { "Of the usable window" }
                dd { (percent(now.utilization)) }
                dd.note { (count(i64::from(now.window))) (window_source(now.window_source)) " less " (count(i64::from(now.reserve_tokens))) " kept free" }
            }
            div.figure {
                dt { "Until a compaction" }
                @if session.settings.enabled {
                    dd { (percent(now.percent_until_compaction / 100.0)) }
                    dd.note { (rounded(signed(now.available))) " tokens to the reserve" }
                } @else {
                    dd { (unknown("compaction is switched off")) }
                    dd.note { "by a call alone" }
                }
            }
            div.figure {
                dt { "Strategy" }
                dd { (strategy) }
                dd.note { "preset " (preset(session)) }
            }
            div.figure {
                dt { "Last activity" }
                dd { (when(session.updated_at)) }
                dd.note { @if now.chapter_task.pending { "asked to close chapters" } @else { "no task is pending" } }
            }
        }
        (guard(viewer, session))
    }
}

/// What the window rests on, where that is worth a word.
fn window_source(source: WindowSource) -> &'static str {
    match source {
        WindowSource::Setting | WindowSource::Table => "",
        WindowSource::Refusal => " (learnt from a refusal)",
        WindowSource::Guess => " (a guess: the model is not known)",
    }
}

/// The guard, where it has given up.
fn guard(viewer: &Viewer, session: &Session) -> Markup {
    let guard = &session.snapshot.anti_thrash;
    html! {
        @if guard.tripped {
            div.notice.row {
                span {
                    "The guard has given up: " (guard.low_savings_streak) " compactions in a row "
                    @match guard.tripped_by {
                        Some(TrippedBy::Cost) => "cost more than they bring.",
                        Some(TrippedBy::Both) => {
                            "saved less than " (percent(guard.min_savings_pct / 100.0)) " or cost more than they bring."
                        }
                        _ => { "saved less than " (percent(guard.min_savings_pct / 100.0)) "." }
                    }
                    @if let Some(retry) = guard.retry_at_tokens { " It tries again at " (count(signed(retry))) " tokens." }
                }
                (button(viewer, &format!("{}/guard", home(session.id)), "Reset the guard"))
            }
        }
    }
}

fn preset(session: &Session) -> String {
    serde_json::to_value(session.settings.preset)
        .ok()
        .and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}
