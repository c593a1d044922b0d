//! The service over HTTP beside raw PostgreSQL on the same server, in alternating rounds.
//!
//! `cargo bench --bench http` prints the table that `docs/PERFORMANCE.md` shows; times are reported, never asserted.
//! `CONTEXTD_BENCH_QUICK=1` makes short rounds; `CONTEXTD_BENCH_ONLY=append,rebuild,auto,long,slow,isolation` picks scenarios,
//! `reads` too: with `CONTEXTD_BENCH_ENTRIES=12000,100000,200000` on sessions of these sizes.

mod append;
mod auto;
mod client;
mod cpu;
mod isolation;
mod long;
#[expect(clippy::expect_used, clippy::panic, reason = "test support")]
#[path = "../../tests/support/played_upstream.rs"]
mod played_upstream;
mod raw;
mod reads;
mod rebuild;
mod report;
mod server;
mod slow;
mod transcript;

use std::time::Duration;

use report::Report;
use server::Server;

/// Whatever ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
struct Effort {
    rounds: usize,
    /// Of one side of one round.
    window: Duration,
}

impl Effort {
    fn from_env() -> Effort {
        match std::env::var_os("CONTEXTD_BENCH_QUICK") {
            Some(_) => Effort { rounds: 3, window: Duration::from_secs(1) },
            None => Effort { rounds: 7, window: Duration::from_secs(3) },
        }
    }
}

fn wanted(scenario: &str) -> bool {
    std::env::var("CONTEXTD_BENCH_ONLY").map_or(true, |only| only.split(',').any(|word| word == scenario))
}

#[tokio::main]
async fn main() -> Outcome<()> {
    // Fails where there is one already, and any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let effort = Effort::from_env();
    let mut report = Report::default();
    let server = Server::start(&[]).await?;
    report.note(format!("contextd {} on {}", env!("CARGO_PKG_VERSION"), raw::version(&server).await?));
    report.note(format!("rounds: {} of {:?} a side", effort.rounds, effort.window));
    if wanted("append") {
        for clients in [32, 1] {
            append::measure(&server, effort, clients, &mut report).await?;
        }
    }
    if wanted("rebuild") {
        rebuild::measure(&server, effort, &[1, 8], &mut report).await?;
    }
    if wanted("auto") {
        auto::measure(&server, effort, &mut report).await?;
    }
    if wanted("long") {
        long::measure(&server, effort, &mut report).await?;
    }
    let (now, peak) = server.memory_mb()?;
    report.figure("memory of contextd after all this", format!("{now:.0} MB, at its peak {peak:.0} MB"), "< 150 MB");
    server.stop().await?;
    if wanted("reads") {
        reads::measure(&mut report).await?;
    }
    if wanted("slow") {
        slow::measure(effort, &mut report).await?;
    }
    if wanted("isolation") {
        isolation::measure(&mut report).await?;
    }
    report.print();
    Ok(())
}
