//! What a compaction would do, as it is foreseen.

use maud::{Markup, html};
use uuid::Uuid;

use crate::service::compaction::prepare::{Preparation, Prepared};
use crate::ui::format::{count, percent, short, unknown, usd};
use crate::ui::words::{self, signed};

use super::frame::home;

pub fn show(session: Uuid, forecast: &Prepared) -> Markup {
    html! {
        @if let Some(reason) = forecast.reason {
            @let word: &str = reason.into();
            p.notice { "A call would do nothing. " (words::reason(reason)) " " span.dim { "(" (word) ")" } }
        }
        @if let Some(preparation) = &forecast.preparation { (figures(session, preparation)) }
        p.hint { "This is foreseen, not done: no model was asked and nothing was changed." }
    }
}

fn figures(session: Uuid, plan: &Preparation) -> Markup {
    let estimate = &plan.estimate;
    let messages = plan.messages_to_summarize.len() + plan.turn_prefix_messages.len();
    let strategy: &str = plan.settings.strategy.into();
    html! {
        dl.facts {
            dt { "Strategy" } dd { (strategy) }
            dt { "Tokens" } dd {
                (short(signed(plan.tokens_before))) " → " (short(signed(estimate.tokens_after)))
                ", " (percent(estimate.savings_pct / 100.0)) " less"
            }
            dt { "Replaced" } dd { (count(messages as i64)) " messages, " (short(signed(plan.tokens_to_summarize))) " tokens"
                @if plan.is_split_turn { "; the cut goes through a turn" } }
            dt { "Stays" } dd { (short(signed(plan.tokens_kept))) " tokens, " (plan.anchor_entry_ids.len()) " messages before the cut among them"
                @if let Some(first) = plan.first_kept_entry_id {
                    "; the first one kept: " a href=(format!("{}/entries/{first}", home(session))) { "entry" }
                } }
            dt { "Masking alone" } dd { (plan.mask.tool_results) " results, " (short(signed(plan.mask.tokens_freed))) " tokens"
                @if plan.mask.sufficient { ", which would be enough" } }
            dt { "Cost" } dd {
                @match estimate.cost_usd { Some(cost) => (usd(cost)), None => (unknown("the upstream has no price")) }
                @if let Some(turns) = estimate.net.break_even_turns { ", made up for after " (format!("{turns:.1}")) " calls" }
            }
        }
    }
}
