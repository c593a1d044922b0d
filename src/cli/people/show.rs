//! `contextd show`.

use std::fmt::Write;

use clap::Args;
use serde_json::Value;

use super::compaction;
use crate::cli::client::{Answer, Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{ago, bar, count, percent, time};
use crate::cli::output::{columns, print};
use crate::cli::table::Table;
use crate::cli::text::visible;

/// Compactions that are shown, and the newest tasks.
const COMPACTIONS: usize = 10;
const TASKS: usize = 20;

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Its id, or its external id.
    session: String,
    /// Entries that are shown, the largest first.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    largest: u32,
    /// One object: `session`, `composition`, `compactions` and `tasks` as the API has them.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: ShowArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    let session = service.session(&args.session).await?;
    let path = ["v1", "sessions", session.value.word("/id")];
    let of = |part: &'static str| [path.as_slice(), &[part]].concat();
    let largest = args.largest.to_string();
    let composition = service.get(&of("composition"), &[("largest", &largest)]).await?;
    let compactions = service.list(&of("compactions"), &[], COMPACTIONS).await?;
    let tasks = service.get(&of("tasks"), &[]).await?;
    if args.json {
        return print(&document(&session, &composition, &compactions, &tasks));
    }
    let mut text = head(&session.value);
    text += &filling(&composition.value);
    if !compactions.is_empty() {
        let rows: Vec<&Value> = compactions.iter().map(|compaction| &compaction.value).collect();
        section(&mut text, "Last compactions", &compaction::table(&rows));
    }
    section(&mut text, "Newest tasks", &tasks_table(tasks.value.list("")));
    print(&text)
}

fn document(session: &Answer, composition: &Answer, compactions: &[Answer], tasks: &Answer) -> String {
    let compactions: Vec<&str> = compactions.iter().map(|compaction| compaction.text.as_str()).collect();
    let parts = [
        ("session", session.text.as_str()),
        ("composition", &composition.text),
        ("compactions", &format!("[{}]", compactions.join(","))),
        ("tasks", &tasks.text),
    ];
    let fields: Vec<String> = parts.iter().map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}\n", fields.join(","))
}

fn head(session: &Value) -> String {
    let mut text = String::new();
    let named = [("", "/title"), ("external id ", "/external_id"), ("model ", "/model")];
    let named = named.iter().filter(|(_, at)| !session.word(at).is_empty());
    let names: Vec<String> = named.map(|(name, at)| format!("{name}{}", visible(session.word(at)))).collect();
    let _ = writeln!(text, "{}", [vec![session.word("/id").to_owned()], names].concat().join(" · "));
    let of = |at: &str| count(session.number(at));
    let share = session.figure("/snapshot/utilization").unwrap_or_default();
    let source = match session.word("/snapshot/source") {
        "usage" => "the provider's count",
        "usage_rejected" => "an estimate: what was reported can't be",
        _ => "an estimate",
    };
    let guess =
        if session.word("/snapshot/window_source") == "guess" { " (a guess: the model is not known)" } else { "" };
    let _ = writeln!(
        text,
        "{} [{}] {}: {} tokens ({source}) in a window of {}{guess}, {} of them kept free",
        session.word("/snapshot/state"),
        bar(share, 30),
        percent(share * 100.0),
        of("/snapshot/tokens"),
        of("/snapshot/window"),
        of("/snapshot/reserve_tokens"),
    );
    let _ = writeln!(
        text,
        "{} entries, begun {}, changed {}",
        of("/entry_count"),
        time(session.word("/created_at")),
        ago(session.word("/updated_at"))
    );
    if session.is("/snapshot/anti_thrash/tripped") {
        let retry = session.figure("/snapshot/anti_thrash/retry_at_tokens");
        let until = retry.map_or_else(String::new, |tokens| format!(" until {} tokens", count(tokens.max(0.0) as u64)));
        let why = match session.word("/snapshot/anti_thrash/tripped_by") {
            "cost" => "cost more than they bring",
            "both" => "saved too little or cost more than they bring",
            _ => "saved too little",
        };
        let _ = writeln!(text, "the guard holds compactions back{until}: the last ones {why}");
    }
    text
}

fn filling(composition: &Value) -> String {
    let mut text = String::new();
    let share = |part: &Value| percent(part.figure("/share_pct").unwrap_or_default());
    let mut categories = Table::new(&["CATEGORY", ">TOKENS", ">SHARE", ""]);
    for part in composition.list("/categories").iter().filter(|part| part.number("/tokens") > 0) {
        let drawn = bar(part.figure("/share_pct").unwrap_or_default() / 100.0, 30).replace('-', "");
        categories.row([part.word("/category").to_owned(), count(part.number("/tokens")), share(part), drawn]);
    }
    section(&mut text, "In the window now", &categories);
    let mut tools = Table::new(&["~TOOL", ">CALLS", ">RESULTS", ">TOKENS", ">SHARE"]);
    for part in composition.list("/tools") {
        let name = if part.word("/name").is_empty() { "(unknown)" } else { part.word("/name") };
        let [calls, results, tokens] = ["/calls", "/results", "/tokens"].map(|at| count(part.number(at)));
        tools.row([name.to_owned(), calls, results, tokens, share(part)]);
    }
    section(&mut text, "By tool", &tools);
    let mut largest = Table::new(&["ENTRY", "~WHAT", ">TOKENS", ">SHARE"]);
    for part in composition.list("/largest") {
        let words = [part.word("/type"), part.word("/role"), part.word("/tool_name")];
        let elided = if part.is("/elided") { "elided" } else { "" };
        let words = words.into_iter().chain([elided]).filter(|word| !word.is_empty());
        let what = words.collect::<Vec<_>>().join(" ");
        largest.row([part.word("/entry_id").to_owned(), what, count(part.number("/tokens")), share(part)]);
    }
    section(&mut text, "Largest entries", &largest);
    text
}

fn tasks_table(tasks: &[Value]) -> Table {
    let mut table = Table::new(&[">N", "STATE", ">TOKENS", "~TASK"]);
    for task in tasks.iter().skip(tasks.len().saturating_sub(TASKS)) {
        let [n, tokens] = ["/n", "/tokens"].map(|at| count(task.number(at)));
        table.row([n, task.word("/state").to_owned(), tokens, task.word("/title").to_owned()]);
    }
    table
}

fn section(text: &mut String, title: &str, table: &Table) {
    if !table.is_empty() {
        let _ = write!(text, "\n{title}\n{}", table.lines(columns()));
    }
}
