//! `contextd stats`.

use std::fmt::Write;

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{count, percent, time, usd};
use crate::cli::output::{columns, print};
use crate::cli::table::Table;
use crate::cli::text::visible;

#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// From this time on (RFC 3339); a day ago where it is left out.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// The API's answer as it is.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: StatsArgs) -> anyhow::Result<()> {
    let query: Vec<(&str, &str)> = args.since.as_deref().map(|since| ("since", since)).into_iter().collect();
    let answer = Service::new(&args.service)?.get(&["v1", "stats"], &query).await?;
    if args.json {
        return print(&(answer.text + "\n"));
    }
    print(&(glance(&answer.value).join("\n") + "\n"))?;
    print(&upstreams(&answer.value))
}

/// A tenant in a few lines.
pub fn glance(stats: &Value) -> Vec<String> {
    let of = |at: &str| count(stats.number(at));
    let signed = |at: &str| {
        let figure = stats.figure(at).unwrap_or_default();
        let sign = if figure < 0.0 { "-" } else { "" };
        format!("{sign}{}", count(figure.abs() as u64))
    };
    let capped = if stats.is("/capped") { " (at least: there are more than are looked at)" } else { "" };
    let prepared = match stats.number("/compactions/prepared") {
        0 => String::new(),
        waiting => format!("; {} prepared, waiting for red", count(waiting)),
    };
    let money = stats.figure("/savings/net_usd").map_or_else(|| "not known".to_owned(), usd);
    vec![
        format!("since {}{capped}", time(stats.word("/since"))),
        format!(
            "sessions     {} green, {} yellow, {} red, {} held back by the guard; {} tokens held",
            of("/sessions/green"),
            of("/sessions/yellow"),
            of("/sessions/red"),
            of("/sessions/guard_tripped"),
            of("/tokens_held")
        ),
        format!("compactions  {}{prepared}", counts(stats, "/compactions/by_status")),
        format!("  by strategy {}", counts(stats, "/compactions/by_strategy")),
        format!(
            "savings      {} tokens gross, {} net; cost {}, prompt caches lost {}, saved net {money}",
            of("/savings/gross_tokens"),
            signed("/savings/net_tokens"),
            usd(stats.figure("/savings/cost_usd").unwrap_or_default()),
            usd(stats.figure("/savings/cache_cost_usd").unwrap_or_default()),
        ),
        format!(
            "queue        {} pending, {} running, {} dead; the oldest waits {:.1} s",
            of("/queue/pending"),
            of("/queue/running"),
            of("/queue/dead"),
            stats.figure("/queue/oldest_age_seconds").unwrap_or_default()
        ),
    ]
}

fn counts(stats: &Value, at: &str) -> String {
    let all = stats.pointer(at).and_then(Value::as_object).into_iter().flatten();
    let told: Vec<String> = all
        .map(|(word, _)| word)
        .map(|word| {
            let number = stats.number(&format!("{at}/{}", word.replace('~', "~0").replace('/', "~1")));
            format!("{} {}", count(number), visible(word))
        })
        .collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

fn upstreams(stats: &Value) -> String {
    let mut table = Table::new(&[
        "~UPSTREAM",
        "~MODEL",
        ">CALLS",
        ">ERRORS",
        "?>IN",
        "?>OUT",
        "?>CACHED",
        ">COST",
        "?>P50",
        "?>P95",
    ]);
    for upstream in stats.list("/upstreams") {
        let of = |at: &str| count(upstream.number(at));
        let time = |at: &str| upstream.figure(at).map_or_else(String::new, |ms| format!("{:.1} s", ms / 1000.0));
        let input = upstream.number("/input_tokens");
        let cached = upstream.number("/cached_tokens") as f64 / input.max(1) as f64;
        table.row([
            upstream.word("/name").to_owned(),
            upstream.word("/model").to_owned(),
            of("/calls"),
            of("/errors"),
            count(input),
            of("/output_tokens"),
            percent(cached * 100.0),
            usd(upstream.figure("/cost_usd").unwrap_or_default()),
            time("/p50_ms"),
            time("/p95_ms"),
        ]);
    }
    let mut text = String::new();
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.lines(columns()));
    }
    text
}
