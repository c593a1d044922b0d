//! How a compaction went: its steps, who wrote the summary, what hooks said.

use chrono::{DateTime, Utc};
use maud::{Markup, html};

use crate::domain::compaction::result::CompactionResult;
use crate::domain::hook::{HookOutcome, HookReport};
use crate::service::compaction::{Compaction, Status};
use crate::ui::format::{count, duration_ms, usd, when};
use crate::ui::visible;
use crate::ui::words::signed;

/// Hooks that are named.
const MOST_HOOKS: usize = 50;

pub fn show(one: &Compaction) -> Markup {
    let ended = match one.status {
        Status::Succeeded => "Committed",
        Status::Failed => "Failed",
        Status::Cancelled => "Cancelled",
        Status::Skipped => "Skipped",
        Status::Queued | Status::Running => "Ended",
    };
    let steps = [
        ("Queued", Some(one.created_at)),
        ("Started", one.started_at),
        (ended, one.finished_at),
        ("Taken back", one.reverted_at),
    ];
    html! {
        section.card aria-labelledby="steps" {
            h2 #steps { "Steps" }
            ol.steps {
                @for (name, at) in steps.into_iter().filter(|(name, at)| at.is_some() || *name != "Taken back") {
                    li.pending[at.is_none()] {
                        span { (name) } " "
                        @match at {
                            Some(at) => { (when(at)) span.dim { (since(one.created_at, at)) } }
                            None => span.dim { "not yet" },
                        }
                    }
                }
            }
            @if let Some(result) = &one.result {
                p.hint { "The work took " (duration_ms(result.duration_ms as f64))
                    @if result.upstream.latency_ms > 0 { ", " (duration_ms(result.upstream.latency_ms as f64)) " of it waiting for models" } "." }
            }
        }
    }
}

fn since(start: DateTime<Utc>, at: DateTime<Utc>) -> String {
    match (at - start).num_milliseconds() {
        ..=0 => String::new(),
        after => format!(", after {}", duration_ms(after as f64)),
    }
}

/// Who wrote the summary, and who was asked in vain.
pub fn writer(result: &CompactionResult) -> Markup {
    let upstream = &result.upstream;
    let fallback = Some(&result.fallback).filter(|fallback| fallback.used);
    html! {
        section.card aria-labelledby="writer" {
            h2 #writer { "Who wrote the summary" }
            dl.facts {
                dt { "Writer" } dd {
                    @match upstream.name.as_deref() {
                        None if result.summary.is_some() => "a caller or a hook",
                        None => "nobody: there is no summary",
                        Some("builtin") => "the built-in summariser",
                        Some(name) => (visible::name(name)),
                    }
                    @if let Some(model) = &upstream.model { ", " (visible::name(model)) }
                }
                @if let Some(fallback) = fallback {
                    dt { "In place of" } dd { @match &fallback.from { Some(from) => (visible::name(from)), None => "a model: none was configured" }
                        @if let Some(reason) = &fallback.reason { ", because of " code { (visible::name(reason)) } } }
                }
                dt { "Calls" } dd { (upstream.calls)
                    @if upstream.calls > 0 { ", " (count(signed(upstream.input_tokens))) " tokens in"
                        @if upstream.cached_tokens > 0 { " (" (count(signed(upstream.cached_tokens))) " from the cache)" }
                        ", " (count(signed(upstream.output_tokens))) " out, " (usd(upstream.cost_usd)) } }
                @if upstream.prefix_reused { dt { "Prompt" } dd { "the session's own context, for the provider's cache, and the request for a summary" } }
                @if result.previous_summary_reused { dt { "Earlier summary" } dd { "brought up to date" } }
            }
        }
    }
}

pub fn hooks(hooks: &[HookReport]) -> Markup {
    html! {
        @if !hooks.is_empty() {
            section.card aria-labelledby="hooks" {
                h2 #hooks { "Hooks" }
                div.scroll tabindex="0" role="region" aria-label="Hooks" {
                    table {
                        thead { tr { th scope="col" { "Asked for" } th scope="col" { "Said" } th scope="col" { "Reason" } th scope="col" { "Hook" } } }
                        tbody { @for hook in hooks.iter().take(MOST_HOOKS) {
                            tr {
                                td.nowrap { (<&str>::from(hook.event)) }
                                td { (said(hook.outcome)) }
                                td.wide { @if let Some(detail) = &hook.detail { (visible::name(detail)) } }
                                td { code { (hook.hook_id) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn said(outcome: HookOutcome) -> &'static str {
    match outcome {
        HookOutcome::Passed => "nothing",
        HookOutcome::Replaced => "gave something, which was used",
        HookOutcome::Unused => "gave a summary where none is wanted",
        HookOutcome::Cancelled => "was against it",
        HookOutcome::Failed => "gave no answer that can be used",
    }
}
