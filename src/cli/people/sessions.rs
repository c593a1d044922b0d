//! `contextd sessions`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{ago, bar, count, percent};
use crate::cli::output::{columns, print};
use crate::cli::table::Table;

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// How full their window is.
    #[arg(long, value_parser = ["green", "yellow", "red"])]
    state: Option<String>,
    /// With this id of the client's own.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Changed since this time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    updated_after: Option<String>,
    /// With this value under a key of its metadata; several of them, to have all.
    #[arg(long, value_name = "KEY=VALUE", value_parser = metadata)]
    metadata: Vec<(String, String)>,
    /// What comes first: the newest, the last changed, or the most tokens.
    #[arg(long, value_parser = ["created", "activity", "size"])]
    order: Option<String>,
    /// The most sessions that are listed.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
    /// One session a line, as the API has it.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: SessionsArgs) -> anyhow::Result<()> {
    let filters = [
        ("state", &args.state),
        ("external_id", &args.external_id),
        ("updated_after", &args.updated_after),
        ("order", &args.order),
    ];
    let mut query: Vec<(&str, &str)> =
        filters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    query.extend(args.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let limit = usize::try_from(args.limit)?;
    let found = Service::new(&args.service)?.list(&["v1", "sessions"], &query, limit).await?;
    if args.json {
        return found.iter().try_for_each(|session| print(&format!("{}\n", session.text)));
    }
    if found.is_empty() {
        return print("no sessions\n");
    }
    let mut table =
        Table::new(&["SESSION", "STATE", "FILL", "?>TOKENS", "?>ENTRIES", "?CHANGED", "~EXTERNAL ID", "~TITLE"]);
    for session in &found {
        table.row(row(&session.value));
    }
    print(&table.lines(columns()))?;
    if found.len() == limit {
        print(&format!("the first {limit}; --limit shows more\n"))?;
    }
    Ok(())
}

/// The parameter that asks for a value of metadata.
fn metadata(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((format!("metadata.{key}"), value.to_owned()))
}

fn row(session: &Value) -> [String; 8] {
    let share = session.figure("/snapshot/utilization").unwrap_or_default();
    [
        session.word("/id").to_owned(),
        session.word("/snapshot/state").to_owned(),
        format!("{} {:>7}", bar(share, 10), percent(share * 100.0)),
        count(session.number("/snapshot/tokens")),
        count(session.number("/entry_count")),
        ago(session.word("/updated_at")),
        session.word("/external_id").to_owned(),
        session.word("/title").to_owned(),
    ]
}
