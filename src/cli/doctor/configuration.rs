//! The configuration: whether it is accepted, and what in it goes against itself.

use super::finding::Finding;
use crate::config::{Config, ConfigError, UpstreamKindSetting};
use crate::telemetry::{OtherProtocol, other_protocols};

const CHECK: &str = "configuration";
const OURS: &str = "CONTEXTD_";
/// Variables of the programs beside the service.
const BESIDE: [&str; 3] = ["CONTEXTD_CONFIG", "CONTEXTD_URL", "CONTEXTD_API_KEY"];

pub fn look(config: &Result<Config, ConfigError>) -> Vec<Finding> {
    let mut findings = vec![match config {
        Ok(config) => Finding::ok(CHECK, accepted(config)),
        Err(error) => Finding::fail(
            CHECK,
            format!("refused: {error}"),
            "mend it: docs/book/src/configuring.md lists every key and variable",
        ),
    }];
    findings.extend(variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())));
    if let Ok(config) = config {
        findings.extend(contradictions(config));
    }
    findings.extend(other_protocols().into_iter().map(unspoken));
    findings
}

fn unspoken(OtherProtocol { variable, protocol }: OtherProtocol) -> Finding {
    let found = format!("{variable}={protocol} is not spoken: spans and metrics go out as http/protobuf");
    let advice = "set it to http/protobuf, and the endpoint to the collector's port for OTLP over HTTP, usually 4318";
    Finding::warn("telemetry", found, advice)
}

fn accepted(config: &Config) -> String {
    let database = if config.database.url.is_some() { "a named database" } else { "the embedded database" };
    let upstreams = config.upstreams.iter().filter(|upstream| upstream.kind != UpstreamKindSetting::Builtin).count();
    let upstreams = match upstreams {
        0 => "no upstream".to_owned(),
        1 => "one upstream".to_owned(),
        upstreams => format!("{upstreams} upstreams"),
    };
    format!("accepted: {database}, {upstreams} beside the built-in summariser, listens on {}", config.listen)
}

/// Names that the service reads are few; one that looks like them and is none of them is a slip.
fn variables(names: impl Iterator<Item = String>) -> Option<Finding> {
    let known = Config::variables();
    let is_known = |name: &String| known.contains(name) || BESIDE.contains(&name.as_str());
    let mut unknown: Vec<String> = names.filter(|name| name.starts_with(OURS) && !is_known(name)).collect();
    unknown.sort_unstable();
    let advice = "nothing reads them: look for a slip of the pen, or unset them";
    (!unknown.is_empty()).then(|| Finding::warn("environment", format!("unknown: {}", unknown.join(", ")), advice))
}

/// What is accepted and does not do what it looks like.
fn contradictions(config: &Config) -> Vec<Finding> {
    let (api, works) = (config.role.serves_api(), config.role.works());
    let is_own = config.database.url.is_none();
    let told = [
        (
            config.proxy.enabled && !api,
            "the proxy is enabled, and this role serves no API",
            "role = \"all\" or \"api\" serves it",
        ),
        (
            is_own && !(api && works),
            "one half runs alone over the embedded database",
            "set DATABASE_URL, so that both halves share one",
        ),
        (
            works && config.worker.concurrency >= config.database.max_connections,
            "there are as many jobs at a time as connections to the database",
            "raise database.max_connections or lower worker.concurrency, so that requests find one",
        ),
    ];
    told.into_iter()
        .filter(|(is_so, ..)| *is_so)
        .map(|(_, found, advice)| Finding::warn(CHECK, found, advice))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_seen() {
        let names = |names: &[&str]| variables(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(
            names(&["CONTEXTD_LISTEN", "CONTEXTD_URL", "CONTEXTD_UPSTREAM_MODEL", "PATH", "DATABASE_URL"]),
            None
        );
        assert!(names(&["CONTEXTD_LISTENS"]).unwrap().found.contains("CONTEXTD_LISTENS"));
    }

    #[test]
    fn what_goes_against_itself_is_told() {
        assert_eq!(contradictions(&Config::default()), []);
        let mut config = Config { role: crate::config::ProcessRole::Worker, ..Config::default() };
        config.proxy.enabled = true;
        config.worker.concurrency = config.database.max_connections;
        assert_eq!(contradictions(&config).len(), 3);
    }
}
