//! Compactions over time, as bars and as a table.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::service::ops::stats::{Stats, StatsBucket};
use crate::ui::format::{count, short, usd};

/// Outcomes, and tokens shed.
pub fn both(stats: &Stats) -> Markup {
    let of = |value: fn(&StatsBucket) -> i64| -> Vec<i64> { stats.series.iter().map(value).collect() };
    let series = |label: &str, color: &str, values: Vec<i64>| json!({"label": label, "color": color, "values": values});
    let outcomes = json!([
        series("succeeded", "bar-succeeded", of(|bucket| bucket.succeeded)),
        series("skipped", "bar-skipped", of(|bucket| bucket.skipped)),
        series("failed", "bar-failed", of(|bucket| bucket.failed)),
        series("cancelled", "bar-cancelled", of(|bucket| bucket.cancelled)),
    ]);
    let shed = json!([series("tokens shed", "bar-shed", of(|bucket| bucket.tokens_shed))]);
    html! {
        div.grid {
            (chart("Compactions over time", stats, &outcomes))
            (chart("Tokens shed over time", stats, &shed))
        }
        details.plain.spaced { summary { "The same as a table" } (table(stats)) }
    }
}

fn chart(title: &str, stats: &Stats, series: &Value) -> Markup {
    let times: Vec<i64> = stats.series.iter().map(|bucket| bucket.at.timestamp()).collect();
    let asked = json!({"x": times, "bucket": stats.bucket_seconds, "series": series}).to_string();
    html! {
        section.card {
            h2 { (title) }
            // Kept where it is, drawn, until its figures are others.
            div.chart id={ "chart-" (&blake3::hash(asked.as_bytes()).to_hex()[..12]) } hx-preserve="true" role="img"
                aria-label={ (title) ": bars; the table below has the same figures" } data-chart=(asked) {}
        }
    }
}

fn table(stats: &Stats) -> Markup {
    let happened = |bucket: &&StatsBucket| {
        bucket.succeeded + bucket.skipped + bucket.failed + bucket.cancelled > 0 || bucket.cost_usd > 0.0
    };
    html! {
        div.scroll { table {
            caption { "Times in which a compaction ended or a model was called, newest first; each row is of " (stats.bucket_seconds / 60) " minutes from then on" }
            thead { tr {
                th scope="col" { "From (UTC)" }
                @for head in ["Succeeded", "Skipped", "Failed", "Cancelled", "Tokens shed", "Cost", "Caches lost"] {
                    th.num scope="col" { (head) }
                }
            } }
            tbody { @for bucket in stats.series.iter().rev().filter(happened) {
                tr {
                    th.nowrap scope="row" { (bucket.at.format("%Y-%m-%d %H:%M")) }
                    @for figure in [bucket.succeeded, bucket.skipped, bucket.failed, bucket.cancelled] {
                        td.num { (count(figure)) }
                    }
                    td.num { (short(bucket.tokens_shed)) }
                    td.num { (usd(bucket.cost_usd)) }
                    td.num { (usd(bucket.cache_cost_usd)) }
                }
            } }
        } }
    }
}
