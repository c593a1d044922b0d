//! A running service: does it answer, is it ready, is it this version, does it take the key?

use super::finding::Finding;
use crate::cli::client::{Address, Fault, Service, ServiceArgs};
use crate::cli::fields::Fields;

const CHECK: &str = "service";
const PATIENCE_SECONDS: u64 = 10;

pub async fn look(address: Address) -> Finding {
    let service = match Service::new(&ServiceArgs { address, timeout: PATIENCE_SECONDS }) {
        Ok(service) => service,
        Err(error) => return Finding::fail(CHECK, format!("{error:#}"), "mend --url or --key"),
    };
    match asked(&service).await {
        Ok(version) if version == env!("CARGO_PKG_VERSION") => {
            Finding::ok(CHECK, format!("{} is ready, takes the key, and is version {version}", service.root()))
        }
        Ok(version) => Finding::warn(
            CHECK,
            format!("{} is ready, and is version {version}; this is {}", service.root(), env!("CARGO_PKG_VERSION")),
            "use the same version of both",
        ),
        Err(fault) => Finding::fail(CHECK, fault.to_string(), advice(&fault)),
    }
}

fn advice(fault: &Fault) -> &'static str {
    match fault {
        Fault::Away { .. } => "start it, or mend --url",
        Fault::Stranger { .. } | Fault::Broken { .. } => "see what listens there: --url may name another program",
        Fault::Refused { status: 401, .. } => {
            "give --key or CONTEXTD_API_KEY a key of its, which `contextd keys create` makes"
        }
        Fault::Refused { status: 403, .. } => {
            "with --dev it answers on this machine alone: ask it there, or run it with keys"
        }
        Fault::Refused { .. } => {
            "docs/CODES.md has what the code means, the book's troubleshooting what to do; its log says more"
        }
        _ => "its log says more",
    }
}

async fn asked(service: &Service) -> Result<String, Fault> {
    service.get(&["readyz"], &[]).await?;
    service.get(&["v1", "sessions"], &[("limit", "1")]).await?;
    Ok(service.get(&["openapi.json"], &[]).await?.value.word("/info/version").to_owned())
}
