//! `contextd doctor`: what stands in the way of running well, and what to do about it.

mod configuration;
mod database;
mod finding;
mod machine;
mod service;
mod upstreams;

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::client::Address;
use super::output::{columns, print};
use super::progress::Progress;
use crate::config::{Config, ConfigError};
use finding::{Finding, Verdict};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A running service to look at too.
    #[arg(long, env = "CONTEXTD_URL")]
    url: Option<String>,
    /// A key of that service's.
    #[arg(long, env = "CONTEXTD_API_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Ask each upstream a short question too, which its provider charges for.
    #[arg(long)]
    call: bool,
    /// One object with all `checks`.
    #[arg(long)]
    json: bool,
}

/// Looks at everything, with the configuration that a service would have here.
///
/// # Errors
/// A check failed.
pub async fn run(args: DoctorArgs, config: Result<Config, ConfigError>) -> anyhow::Result<()> {
    let progress = Progress::spinner();
    let mut findings = configuration::look(&config);
    match &config {
        Ok(config) => {
            progress.say("the database");
            findings.extend(database::look(config).await);
            progress.say("the upstreams");
            findings.extend(upstreams::look(config, args.call).await);
            findings.extend(machine::look(config));
        }
        Err(_) => {
            let skipped = ["database", "upstreams", "machine"];
            findings.extend(skipped.map(|check| Finding::skipped(check, "there is no configuration to go by")));
        }
    }
    progress.say("the service");
    findings.push(match &args.url {
        Some(url) => service::look(Address { url: url.clone(), key: args.key.clone() }).await,
        None => Finding::skipped("service", "no --url was given"),
    });
    drop(progress);
    let failed = findings.iter().filter(|finding| finding.verdict == Verdict::Fail).count();
    if args.json {
        print(&format!("{}\n", json!({"ok": failed == 0, "checks": findings})))?;
    } else {
        print(&findings.iter().map(|finding| finding.lines(columns())).collect::<String>())?;
    }
    match failed {
        0 => Ok(()),
        1 => bail!("1 check failed"),
        failed => bail!("{failed} checks failed"),
    }
}
