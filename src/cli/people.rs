//! Commands that look at a running service, and change it: for people, and with `--json` for scripts.

mod chapters;
mod compact;
mod compaction;
mod sessions;
mod show;
mod stats;
mod tail;
mod top;

use clap::Subcommand;

use chapters::ChaptersArgs;
use compact::CompactArgs;
use sessions::SessionsArgs;
use show::ShowArgs;
use stats::StatsArgs;
use tail::TailArgs;
use top::TopArgs;

/// Each asks the service at `--url`.
#[derive(Debug, Subcommand)]
pub enum People {
    /// List sessions, the newest first.
    Sessions(SessionsArgs),
    /// Show a session: how full its window is, what fills it, its last compactions and tasks.
    Show(ShowArgs),
    /// Compact a session, or say what that would do.
    Compact(CompactArgs),
    /// List a session's chapters.
    Chapters(ChaptersArgs),
    /// Follow what happens to a session, or to all of them.
    Tail(TailArgs),
    /// Watch the sessions that are fullest or busiest.
    Top(TopArgs),
    /// Print a tenant's figures: sessions, compactions, savings, upstreams, queue.
    Stats(StatsArgs),
}

impl People {
    /// Runs the command.
    ///
    /// # Errors
    /// What the service answered in place of what was asked for.
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            People::Sessions(args) => sessions::run(args).await,
            People::Show(args) => show::run(args).await,
            People::Compact(args) => compact::run(args).await,
            People::Chapters(args) => chapters::run(args).await,
            People::Tail(args) => tail::run(args).await,
            People::Top(args) => top::run(args).await,
            People::Stats(args) => stats::run(args).await,
        }
    }
}
