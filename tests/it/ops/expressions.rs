//! What the expressions of rules and board are about, and whether there is such a thing.

use std::collections::BTreeSet;

use contextd::families::{self, Family};
use serde_json::Value;

use super::read;
use super::rules::alerts;

/// What Prometheus and the exporters of every language have.
const STANDARD: [&str; 7] = [
    "up",
    "ALERTS",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_max_fds",
    "process_start_time_seconds",
];
/// Labels that Prometheus gives.
const SCRAPED: [&str; 4] = ["job", "instance", "alertname", "alertstate"];

/// Each expression with where it stands.
pub fn all() -> Vec<(String, String)> {
    let rules = alerts().into_iter().map(|alert| (alert.name, alert.expr));
    rules.chain(super::board::expressions()).collect()
}

/// Metrics of an expression, each with the labels that it is selected by.
fn selected(expr: &str) -> Vec<(String, Vec<String>)> {
    let strings = regex::Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    let bare = strings.replace_all(expr, "''");
    let metric = regex::Regex::new(r"\b(contextd_\w+|process_\w+|up|ALERTS)\b(?:\{([^}]*)\})?").unwrap();
    let label = regex::Regex::new(r"(\w+)\s*(?:=~|!~|!=|=)").unwrap();
    let labels = |text: &str| label.captures_iter(text).map(|found| found[1].to_owned()).collect();
    let found = metric.captures_iter(&bare);
    found.map(|found| (found[1].to_owned(), found.get(2).map_or(Vec::new(), |text| labels(text.as_str())))).collect()
}

/// Labels that an expression groups or joins by.
fn grouped(expr: &str) -> Vec<String> {
    let clause = regex::Regex::new(r"\b(?:by|on|without|ignoring) \(([^)]*)\)").unwrap();
    let split = |text: &str| text.split(',').map(|label| label.trim().to_owned()).collect::<Vec<_>>();
    clause.captures_iter(expr).flat_map(|found| split(&found[1])).collect()
}

/// The family of a series' name.
fn family(name: &str) -> Option<&'static Family> {
    let exact = |name: &str| families::ALL.iter().find(|family| family.name == name);
    let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|part| exact(name.strip_suffix(part)?));
    of_histogram.filter(|family| family.kind == families::Kind::Histogram).or_else(|| {
        // A histogram has no series of its own name.
        exact(name).filter(|family| family.kind != families::Kind::Histogram)
    })
}

#[test]
fn every_expression_is_about_what_there_is() {
    let all = all();
    assert!(all.len() > 70, "{}", all.len());
    for (place, expr) in &all {
        let selected = selected(expr);
        assert!(!selected.is_empty(), "{place}: {expr}");
        let mut possible: BTreeSet<&str> = SCRAPED.into();
        for (name, labels) in &selected {
            let own: Vec<&str> = match family(name) {
                Some(family) => family.labels.to_vec(),
                None => {
                    assert!(STANDARD.contains(&name.as_str()), "{place}: there is no {name}");
                    Vec::new()
                }
            };
            possible.extend(&own);
            if name.ends_with("_bucket") {
                possible.insert("le");
            }
            for label in labels {
                let known = own.contains(&label.as_str()) || SCRAPED.contains(&label.as_str());
                assert!(known || label == "le", "{place}: {name} has no label {label}");
            }
        }
        for label in grouped(expr) {
            assert!(possible.contains(label.as_str()), "{place}: nothing has the label {label}: {expr}");
        }
    }
}

#[test]
fn the_board_shows_every_family() {
    let board = read("ops/grafana/contextd.json");
    let board: Value = serde_json::from_str(&board).unwrap();
    let text = board.to_string();
    let missing: Vec<&str> =
        families::ALL.iter().map(|family| family.name).filter(|name| !text.contains(*name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn words_that_are_not_there_are_found() {
    assert!(family("contextd_http_requests_total").is_some() && family("contextd_http_requests").is_none());
    assert!(family("contextd_compaction_wait_seconds_bucket").is_some());
    assert!(family("contextd_compaction_wait_seconds").is_none() && family("contextd_sessions_bucket").is_none());
    let expr = r#"sum by (job, le) (rate(contextd_a_bucket{b=~"x{c='d'}", e!="f"}[5m])) and on (g) up"#;
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(selected(expr), [("contextd_a_bucket".to_owned(), labels(&["b", "e"])), ("up".to_owned(), Vec::new())]);
    assert_eq!(grouped(expr), labels(&["job", "le", "g"]));
}
