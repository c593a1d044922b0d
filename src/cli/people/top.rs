//! `contextd top`: the sessions that are fullest or busiest, and the tenant's figures, redrawn in place.

mod frame;
mod screen;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::Duration;

use anyhow::bail;
use chrono::TimeDelta;
use clap::Args;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cli::client::{Fault, Service, ServiceArgs};
use crate::cli::fields::Fields;
use crate::cli::output::{self, columns, print};
use crate::service::core::clock;
use frame::{Frame, Order, Shown};
use screen::{Pressed, Screen};

/// Sessions of each kind that are asked for.
const MOST: usize = 100;
/// Sessions that changed since count as busy.
const BUSY_MINUTES: i64 = 60;
/// Rows of a frame that no terminal bounds.
const ROWS_ONCE: usize = 40;

#[derive(Debug, Args)]
pub struct TopArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// What comes first.
    #[arg(long, value_enum, default_value_t = Order::Fill)]
    sort: Order,
    /// Seconds between two looks.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Print one frame and leave.
    #[arg(long)]
    once: bool,
}

pub async fn run(args: TopArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    if args.once {
        let shown = look(&service).await?;
        let frame = Frame { order: args.sort, remark: "" };
        let (columns, rows) = (columns().unwrap_or(usize::MAX), ROWS_ONCE);
        let lines = frame.lines(&shown, columns, rows).into_iter().map(|line| line.text + "\n");
        return print(&lines.collect::<String>());
    }
    if !output::is_terminal() || !std::io::stdin().is_terminal() {
        bail!("`top` needs a terminal; `contextd top --once` prints one frame");
    }
    // What is wrong from the beginning is told before the screen changes.
    let first = look(&service).await?;
    watch(service, first, args).await
}

async fn watch(service: Service, first: Shown, args: TopArgs) -> anyhow::Result<()> {
    let (news, mut seen) = watch::channel((first, String::new()));
    let every = Duration::from_secs(args.every);
    let looking = tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let found = look(&service).await;
            news.send_modify(|(shown, remark)| match found {
                Ok(found) => (*shown, *remark) = (found, String::new()),
                // The last figures stay, and are told to be old.
                Err(fault) => *remark = fault.to_string(),
            });
        }
    });
    let (mut ended, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hung_up = signal(SignalKind::hangup())?;
    let mut screen = Screen::open()?;
    let mut order = args.sort;
    loop {
        {
            let now = seen.borrow_and_update();
            screen.draw(&now.0, &Frame { order, remark: &now.1 })?;
        }
        tokio::select! {
            _ = seen.changed() => {}
            _ = ended.recv() => break,
            _ = interrupted.recv() => break,
            _ = hung_up.recv() => break,
            pressed = screen.pressed() => match pressed {
                Pressed::Leave => break,
                Pressed::Order => order = if order == Order::Fill { Order::Activity } else { Order::Fill },
                Pressed::Redraw => {}
            },
        }
    }
    looking.abort();
    Ok(())
}

/// Sessions that are red, that are yellow, and that changed lately, and the tenant's figures.
async fn look(service: &Service) -> Result<Shown, Fault> {
    let since = (clock::now() - TimeDelta::minutes(BUSY_MINUTES)).to_rfc3339();
    let since = since.replace("+00:00", "Z");
    let sessions = async |query: &[(&str, &str)]| service.list(&["v1", "sessions"], query, MOST).await;
    let (red, yellow, busy) = ([("state", "red")], [("state", "yellow")], [("updated_after", since.as_str())]);
    let (stats, red, yellow, busy, any) = tokio::try_join!(
        service.get(&["v1", "stats"], &[]),
        sessions(&red),
        sessions(&yellow),
        sessions(&busy),
        sessions(&[]),
    )?;
    let all = red.into_iter().chain(yellow).chain(busy).chain(any).map(|answer| answer.value);
    let by_id: HashMap<String, Value> = all.map(|session| (session.word("/id").to_owned(), session)).collect();
    Ok(Shown { at: clock::now(), stats: stats.value, sessions: by_id.into_values().collect() })
}
