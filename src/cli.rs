//! The command line.

mod client;
mod doctor;
mod fields;
mod figures;
mod keys;
mod mcp;
pub mod output;
mod people;
mod progress;
mod report;
mod table;
mod text;
mod transcripts;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::config::{Config, Overrides, ProcessRole};
use crate::lifecycle::{self, Database};
use crate::service::Services;
use crate::telemetry;
use doctor::DoctorArgs;
use keys::KeysCommand;
use mcp::McpArgs;
use output::{Closed, print};
use people::People;
use report::ReportArgs;
use transcripts::{ExportArgs, Import};

/// Time that closing the database may take after a command.
const CLOSE_WITHIN: Duration = Duration::from_secs(30);

/// Manages the context of LLM agents.
#[derive(Debug, Parser)]
#[command(name = "contextd", version)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Common {
    /// The configuration file (TOML).
    #[arg(long, global = true, value_name = "FILE", env = "CONTEXTD_CONFIG")]
    config: Option<PathBuf>,
    /// Where the embedded database lives [default: .contextd].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service.
    Serve(Serve),
    /// Bring the database's schema up to date.
    Migrate,
    /// Print the OpenAPI document.
    Openapi,
    /// Manage API keys.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Make a session of a transcript file.
    Import(Import),
    /// Write a session to standard output, one JSON item a line: in pi's format every branch, else the leaf's path.
    Export(ExportArgs),
    /// Speak MCP on standard input and output for a running service: for agents that start a program.
    Mcp(McpArgs),
    #[command(flatten)]
    People(People),
    /// Write a session as one HTML file, with its pictures.
    Report(ReportArgs),
    /// Look for whatever stands in the way of running well, and say what to do.
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
struct Serve {
    /// Need no key, listen on loopback only, bring the schema up to date.
    #[arg(long)]
    dev: bool,
    /// [default: 127.0.0.1:8080]; port 0 picks a free one.
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Hand the providers' APIs on under /openai/v1 and /anthropic/v1, with conversations compacted on the way.
    #[arg(long)]
    proxy: bool,
    /// Work that this process does [default: all].
    #[arg(long)]
    role: Option<ProcessRole>,
}

/// Runs the command that `cli` names, with logs on standard error.
///
/// # Errors
/// Whatever the command fails with.
pub async fn run(cli: Cli) -> anyhow::Result<()> {
    let overrides = overrides(&cli);
    let outcome = match cli.command {
        // These ask a service, and need no configuration.
        Command::People(command) => command.run().await,
        Command::Report(args) => report::run(args).await,
        Command::Doctor(args) => doctor::run(args, Config::load(cli.common.config.as_deref(), overrides)).await,
        command => configured(command, cli.common.config.as_deref(), overrides).await,
    };
    match outcome {
        // As `… | head` has it: who has read enough is no failure.
        Err(error) if error.is::<Closed>() => Ok(()),
        outcome => outcome,
    }
}

async fn configured(command: Command, file: Option<&Path>, overrides: Overrides) -> anyhow::Result<()> {
    let config = Config::load(file, overrides)?;
    let telemetry = telemetry::init(&config.log).await?;
    let outcome = execute(command, config).await;
    telemetry.shutdown().await;
    outcome
}

fn overrides(cli: &Cli) -> Overrides {
    let data_dir = cli.common.data_dir.clone();
    match &cli.command {
        Command::Serve(serve) => {
            let Serve { listen, role, dev, proxy } = *serve;
            Overrides { listen, role, dev, proxy, data_dir }
        }
        _ => Overrides { data_dir, ..Overrides::default() },
    }
}

async fn execute(command: Command, config: Config) -> anyhow::Result<()> {
    match command {
        Command::Serve(_) => lifecycle::serve(config).await,
        Command::Migrate => {
            let database = Database::open(&config).await?;
            let outcome = database.migrate().await;
            database.close(CLOSE_WITHIN).await;
            outcome
        }
        Command::Openapi => print(&(serde_json::to_string_pretty(&crate::api::openapi())? + "\n")),
        Command::Keys(command) => {
            with_service(&config, async |services| keys::run(&services.keys, command).await).await
        }
        Command::Import(import) => {
            with_service(&config, async |services| transcripts::import(&services, import).await).await
        }
        Command::Export(export) => {
            with_service(&config, async |services| transcripts::export(&services, export).await).await
        }
        Command::Mcp(args) => mcp::bridge(args).await,
        Command::People(command) => command.run().await,
        Command::Report(args) => report::run(args).await,
        Command::Doctor(args) => doctor::run(args, Ok(config)).await,
    }
}

/// Runs a command on the database, which is opened and closed around it.
async fn with_service(
    config: &Config,
    command: impl AsyncFnOnce(Services) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let database = Database::open(config).await?;
    let outcome = async {
        if database.is_embedded() {
            database.migrate().await?;
        }
        command(lifecycle::services(config, &database)).await
    }
    .await;
    database.close(CLOSE_WITHIN).await;
    outcome
}

/// An address with its port; `localhost` is the loopback address.
fn listen_address(text: &str) -> Result<SocketAddr, std::net::AddrParseError> {
    match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_parse() {
        for line in [
            "serve --dev --listen localhost:0 --data-dir /tmp/x --role worker --config f.toml",
            "--config f.toml serve",
            "serve --dev --proxy",
            "migrate",
            "openapi",
            "keys create --tenant a --name b",
            "keys create --scope read --scope admin --expires-in 90d --requests-per-minute 600",
            "keys create --scope read,write",
            "keys list",
            "keys rotate 018f0000-0000-7000-8000-000000000000 --grace 1h",
            "keys revoke 018f0000-0000-7000-8000-000000000000",
            "import transcript.jsonl --format pi",
            "export 018f0000-0000-7000-8000-000000000000 --format anthropic",
            "export 018f0000-0000-7000-8000-000000000000 --format pi --leaf 018f0000-0000-7000-8000-000000000001",
            "mcp",
            "mcp --url https://context.example.com --key k --timeout 5",
            "sessions --state red --limit 5 --json",
            "show my-session --largest 3",
            "compact my-session --strategy mask --wait=5",
            "tail --after 7",
            "top --once --sort activity",
            "report my-session -o -",
            "doctor --call --json",
        ] {
            let words = std::iter::once("contextd").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        }
        for line in [
            "serve --listen nowhere",
            "serve --role boss",
            "keys revoke 1",
            "keys create --scope boss",
            "keys create --expires-in soon",
            "keys create --requests-per-minute 0",
            "keys rotate 018f0000-0000-7000-8000-000000000000 --grace 8d",
            "import --format pi",
            "mcp --timeout 0",
        ] {
            let words = std::iter::once("contextd").chain(line.split(' '));
            assert!(Cli::try_parse_from(words).is_err(), "{line}");
        }
    }
}
