//! `contextd chapters`.

use clap::Args;
use serde_json::Value;

use crate::cli::client::{Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::figures::{count, percent};
use crate::cli::output::{columns, print};
use crate::cli::table::Table;

/// Chapters within chapters that are shown.
const DEEPEST: usize = 16;

#[derive(Debug, Args)]
pub struct ChaptersArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Its id, or its external id.
    session: String,
    /// The API's answer as it is.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: ChaptersArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    let session = service.session(&args.session).await?;
    let answer = service.get(&["v1", "sessions", session.value.word("/id"), "chapters"], &[]).await?;
    if args.json {
        return print(&(answer.text + "\n"));
    }
    let mut table = Table::new(&["~CHAPTER", "TASKS", "?>BEFORE", "?>AFTER", ">SAVED", "?SHOWN", "~MESSAGE"]);
    rows(&mut table, answer.value.list("/items"), 0);
    if table.is_empty() {
        return print("no chapters\n");
    }
    print(&table.lines(columns()))
}

/// A chapter stands before those that are in it.
fn rows(table: &mut Table, chapters: &[Value], depth: usize) {
    for chapter in chapters {
        let (first, last) = (chapter.number("/start"), chapter.number("/end"));
        table.row([
            format!("{}{}", "  ".repeat(depth), chapter.word("/name")),
            format!("{first}-{last}"),
            count(chapter.number("/tokens_before")),
            count(chapter.number("/tokens_after")),
            percent(chapter.figure("/savings_pct").unwrap_or_default()),
            if chapter.is("/in_context") { "yes" } else { "no" }.to_owned(),
            chapter.word("/message").to_owned(),
        ]);
        if depth < DEEPEST {
            rows(table, chapter.list("/chapters"), depth + 1);
        }
    }
}
