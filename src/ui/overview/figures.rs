//! The figures of the overview. Each leads to what is behind it; what is not known is not shown as none.

use chrono::SecondsFormat;
use maud::{Markup, html};

use crate::service::ops::stats::{SessionCounts, Stats, UpstreamStats};
use crate::ui::format::{cost, count, duration_ms, percent, short, unknown, usd};
use crate::ui::parts::{address, badge, figure};
use crate::ui::visible::name;

/// The first of them, as of now.
pub fn at_a_glance(stats: &Stats) -> Markup {
    let since = stats.since.to_rfc3339_opts(SecondsFormat::Secs, true);
    html! {
        p.hint { "As of " time datetime=(stats.until.to_rfc3339()) { (stats.until.format("%H:%M:%S UTC")) } "."
            @if stats.census_at < stats.until { " Sessions as of " time datetime=(stats.census_at.to_rfc3339()) { (stats.census_at.format("%H:%M:%S UTC")) } "." }
            @if stats.capped { " There is more than was added up: the newest 50,000 sessions and 100,000 compactions count." }
        }
        dl.figures { (contexts(stats)) }
        dl.figures { (savings(stats, &since)) }
    }
}

/// What is behind them.
pub fn in_detail(stats: &Stats) -> Markup {
    let since = stats.since.to_rfc3339_opts(SecondsFormat::Secs, true);
    html! {
        div.grid.uneven {
            (compactions(stats, &since))
            (queue(stats, &since))
        }
        (upstreams(&stats.upstreams, &since))
    }
}

fn compactions_of(since: &str, filters: &[(&str, &str)]) -> String {
    let all: Vec<_> = filters.iter().copied().chain([("since", since)]).collect();
    address("/ui/compactions", &all)
}

fn contexts(stats: &Stats) -> Markup {
    let SessionCounts { green, yellow, red, guard_tripped } = stats.sessions;
    html! {
        @for (word, sessions) in [("green", green), ("yellow", yellow), ("red", red)] {
            (figure(html! { "Contexts " (badge(word)) },
                html! { a href={ "/ui/sessions?state=" (word) } { (count(sessions)) } }, None))
        }
        (figure(html! { "Tokens held" }, html! { a href="/ui/sessions" { (short(stats.tokens_held)) } },
            Some(html! { "in all windows, now" })))
        (figure(html! { "Guards tripped" }, html! { a href="/ui/sessions?guard=tripped" { (count(guard_tripped)) } },
            Some(html! { "compactions saved too little, or cost too much" })))
    }
}

fn savings(stats: &Stats, since: &str) -> Markup {
    let savings = &stats.savings;
    let succeeded = compactions_of(since, &[("status", "succeeded")]);
    let with_model = stats.upstreams.iter().filter(|one| one.model.is_some());
    let asked: i64 = with_model.map(|one| one.input_tokens).sum();
    let net_usd = match savings.net_usd {
        Some(amount) => html! { a href=(succeeded) { (usd(amount)) } },
        None => unknown("no compaction of a session whose model has a known price was followed by another yet"),
    };
    html! {
        (figure(html! { "Tokens shed" }, html! { a href=(succeeded) { (short(stats.tokens_shed)) } },
            Some(html! { "gross, by compactions that stand" })))
        (figure(html! { "Tokens shed, net" }, html! { a href=(succeeded) { (short(savings.net_tokens)) } },
            Some(html! { "less what summaries took and wrote" })))
        (figure(html! { "Cost" }, html! { a href=(compactions_of(since, &[])) { (cost(savings.cost_usd, asked, true)) } },
            Some(html! { "all calls of models; prompt caches lost " (usd(savings.cache_cost_usd)) " besides" })))
        (figure(html! { "Saved, net of cost" }, net_usd, Some(html! { "by calls between two compactions" })))
    }
}

fn compactions(stats: &Stats, since: &str) -> Markup {
    let counts = &stats.compactions;
    let total: i64 = counts.by_status.values().sum();
    html! {
        section.card aria-labelledby="outcomes" {
            h2 id="outcomes" { "Compactions" }
            @if counts.prepared > 0 {
                p { a href="/ui/compactions?prepared=true" { (count(counts.prepared)) " prepared" } " wait for their context to turn red." }
            }
            @if total == 0 {
                p.empty { "None ended in this time." }
            } @else {
                div.columns {
                    table {
                        caption { "by outcome" }
                        tbody { @for (word, figure) in &counts.by_status {
                            tr {
                                th scope="row" { a href=(compactions_of(since, &[("status", word)])) { (badge(word)) } }
                                td.num { (count(*figure)) }
                                td.num.dim { (percent(*figure as f64 / total as f64)) }
                            }
                        } }
                    }
                    table {
                        caption { "by strategy" }
                        tbody { @for (word, figure) in &counts.by_strategy {
                            tr {
                                th scope="row" { a href=(compactions_of(since, &[("strategy", word)])) { (word) } }
                                td.num { (count(*figure)) }
                            }
                        } }
                    }
                    @if !counts.by_reason.is_empty() {
                        table {
                            caption { "skipped, by reason" }
                            tbody { @for (word, figure) in &counts.by_reason {
                                tr {
                                    th scope="row" { a href=(compactions_of(since, &[("skip_reason", word)])) { (word) } }
                                    td.num { (count(*figure)) }
                                }
                            } }
                        }
                    }
                }
            }
        }
    }
}

fn queue(stats: &Stats, since: &str) -> Markup {
    let queue = &stats.queue;
    let held_back = stats.compactions.by_reason.get("anti_thrash").copied().unwrap_or(0);
    html! {
        section.card aria-labelledby="queue" {
            h2 id="queue" { "Queue" }
            dl.facts {
                dt { "Waiting" }
                dd { a href="/ui/queue?status=pending" { (count(queue.pending)) } }
                dt { "Running" }
                dd { a href="/ui/queue?status=running" { (count(queue.running)) } }
                dt { "Oldest waits" }
                dd {
                    @if queue.pending > 0 { a href="/ui/queue?status=pending" { (duration_ms(queue.oldest_age_seconds * 1_000.0)) } }
                    @else { span.dim { "nothing waits" } }
                }
                dt { "Given up" }
                dd { a href="/ui/queue?status=dead" { (count(queue.dead)) } }
                dt { "Held back by the guard, in this time" }
                dd { a href=(compactions_of(since, &[("skip_reason", "anti_thrash")])) { (count(held_back)) } }
            }
        }
    }
}

fn upstreams(upstreams: &[UpstreamStats], since: &str) -> Markup {
    let time = |ms: Option<f64>| ms.map_or_else(|| unknown("no call was timed"), |ms| html! { (duration_ms(ms)) });
    html! {
        section.card.spaced aria-labelledby="upstreams" {
            h2 id="upstreams" { "Models asked for summaries" }
            @if upstreams.is_empty() {
                p.empty { "No model was asked in this time; what was summarised, the built-in summariser wrote." }
            } @else {
                div.scroll { table {
                    caption.sr { "Upstreams, most calls first" }
                    thead { tr {
                        th scope="col" { "Upstream" }
                        th scope="col" { "Model" }
                        @for head in ["Calls", "Errors", "Tokens in", "of them cached", "written to cache", "Tokens out", "Cost", "p50", "p95"] {
                            th.num scope="col" { (head) }
                        }
                    } }
                    tbody { @for one in upstreams {
                        tr {
                            th scope="row" { a href=(compactions_of(since, &[("upstream", one.name.as_str())])) { (name(&one.name)) } }
                            td { @match &one.model { Some(model) => (name(model)), None => span.dim { "no model" } } }
                            td.num { (count(one.calls)) }
                            td.num { @if one.errors > 0 { span.bad { "▲ " (count(one.errors)) } } @else { "0" } }
                            td.num { (short(one.input_tokens)) }
                            td.num { (short(one.cached_tokens)) }
                            td.num { (short(one.cache_write_tokens)) }
                            td.num { (short(one.output_tokens)) }
                            td.num { (cost(one.cost_usd, one.input_tokens, one.model.is_some())) }
                            td.num { (time(one.p50_ms)) }
                            td.num { (time(one.p95_ms)) }
                        }
                    } }
                } }
            }
        }
    }
}
