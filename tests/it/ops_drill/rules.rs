//! The repository's rules and scrape configuration, as the drill uses them.

use crate::ops::rules::alerts;
use crate::ops::{RULES, SCRAPE, read};

/// How much faster time runs in the rules.
const FASTER: u64 = 30;
/// No `for` is shorter than this, in seconds: a machine that is busy for a moment is no fault.
const SHORTEST: u64 = 5;
/// Thresholds that are times themselves, and therefore are divided too. Every other threshold is what it is in the file.
const TIMES: [(&str, &str); 3] =
    [("ContextdQueueStuck", "> 300"), ("ContextdCompactionsLate", "> 60"), ("ContextdFiguresStale", "> 300")];

/// The rules with each window and each `for` a thirtieth as long, and likewise the thresholds that are times.
pub fn quickened() -> String {
    let mut text = read(RULES);
    for (name, threshold) in TIMES {
        let seconds: u64 = threshold.trim_start_matches("> ").parse().unwrap();
        text = with_threshold(&text, name, threshold, &format!("> {}", seconds / FASTER));
    }
    let window = regex::Regex::new(r"\[(\d+)m\]").unwrap();
    let text = window.replace_all(&text, |found: &regex::Captures| format!("[{}s]", scaled(&found[1])));
    let pause = regex::Regex::new(r"(?m)^( +for: )(\d+)m$").unwrap();
    pause
        .replace_all(&text, |found: &regex::Captures| format!("{}{}s", &found[1], scaled(&found[2]).max(SHORTEST)))
        .into_owned()
}

fn scaled(minutes: &str) -> u64 {
    minutes.parse::<u64>().unwrap() * 60 / FASTER
}

fn with_threshold(text: &str, alert: &str, from: &str, to: &str) -> String {
    let start = text.find(&format!("- alert: {alert}\n")).unwrap();
    let (before, rest) = text.split_at(start);
    let end = rest.find("labels:").unwrap();
    let (rule, after) = rest.split_at(end);
    assert_eq!(rule.matches(from).count(), 1, "{alert}");
    format!("{before}{}{after}", rule.replace(from, to))
}

/// The scrape configuration with this target, scraped and evaluated every second.
pub fn scraping(address: &str, key_file: Option<&str>) -> String {
    let text = read(SCRAPE);
    let target = "\"contextd:8080\"";
    assert_eq!(text.matches(target).count(), 1);
    let text =
        text.replace(target, &format!("\"{address}\"")).replace(": 15s", ": 1s").replace("timeout: 10s", "timeout: 1s");
    let Some(key_file) = key_file else { return text };
    // As the comment in the file says.
    let commented =
        ["# authorization:", "#   type: Bearer", "#   credentials_file: /etc/prometheus/contextd-metrics-key"];
    let uncommented = commented.iter().fold(text, |text, line| {
        assert_eq!(text.matches(line).count(), 1, "{line}");
        text.replace(line, &line[2..])
    });
    uncommented.replace("/etc/prometheus/contextd-metrics-key", key_file)
}

#[test]
fn nothing_but_time_is_changed() {
    let (was, is) = (read(RULES), quickened());
    let number = regex::Regex::new(r"\b\d+[ms]?\b").unwrap();
    assert_eq!(number.replace_all(&was, "N"), number.replace_all(&is, "N"));
    assert_ne!(was, is);
}

#[test]
fn each_alert_has_its_drill() {
    let drills = ["database", "edges", "process", "queue", "sessions", "upstreams"]
        .map(|file| read(&format!("tests/it/ops_drill/{file}.rs")))
        .concat();
    for alert in alerts() {
        assert!(drills.contains(&format!("fires(\"{}\"", alert.name)), "{}", alert.name);
    }
}
