//! `contextd report`: a session as one HTML file, with its pictures, to mail or to attach.

mod page;
mod saw_tooth;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::client::{Service, ServiceArgs};
use super::fields::Fields;
use super::output::print;
use crate::service::core::clock;
use page::{COMPACTIONS, Gathered};

/// Points of the saw-tooth.
const POINTS: &str = "400";
const LARGEST: &str = "20";

#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    service: ServiceArgs,
    /// Its id, or its external id.
    session: String,
    /// Where to write it; `-` is standard output [default: contextd-report-ID.html].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub async fn run(args: ReportArgs) -> anyhow::Result<()> {
    let service = Service::new(&args.service)?;
    let session = service.session(&args.session).await?.value;
    let id = session.word("/id").to_owned();
    let path = ["v1", "sessions", &id];
    let of = |part: &'static str| [path.as_slice(), &[part]].concat();
    let gathered = Gathered {
        composition: service.get(&of("composition"), &[("largest", LARGEST)]).await?.value,
        timeline: service.get(&of("timeline"), &[("points", POINTS)]).await?.value,
        compactions: service
            .list(&of("compactions"), &[], COMPACTIONS)
            .await?
            .into_iter()
            .map(|one| one.value)
            .collect(),
        tasks: service.get(&of("tasks"), &[]).await?.value,
        chapters: service.get(&of("chapters"), &[]).await?.value,
        session,
    };
    let page = page::page(&gathered, clock::now());
    let file = args.output.unwrap_or_else(|| PathBuf::from(format!("contextd-report-{id}.html")));
    if file.as_os_str() == "-" {
        return print(&page);
    }
    tokio::fs::write(&file, &page).await.with_context(|| format!("writing {}", file.display()))?;
    print(&format!("{} ({} KiB)\n", file.display(), page.len() >> 10))
}
