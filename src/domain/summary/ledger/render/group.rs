//! Several calls of one tool on one line: `- read ×5 (1 failed): a.rs ×3, b.rs, c.rs (failed)`.

use std::collections::HashMap;

use super::line::{Detail, failures, short_target, show};
use crate::domain::model::call_end::CallEnd;
use crate::domain::model::ledger::LedgerLine;
use crate::domain::summary::text::quarters;

/// Characters of targets after which a new line begins, so that the outcome stands near what it is of.
const LINE_CHARS: usize = 400;

/// The calls on one target, however their other arguments differ.
struct Target {
    text: String,
    calls: u64,
    errors: u64,
    failed: bool,
}

/// The lines of each tool together, at most [`LINE_CHARS`] and a target on a line.
pub fn grouped<'l>(lines: impl Iterator<Item = &'l LedgerLine>) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&LedgerLine>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let place = *places.entry(&line.name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(line),
            None => groups.push((&line.name, vec![line])),
        }
    }
    groups.iter().flat_map(|(name, lines)| group(name, lines)).collect()
}

fn group(name: &str, lines: &[&LedgerLine]) -> Vec<String> {
    if let [line] = lines {
        return vec![show(line, Detail::Target)];
    }
    let changing = lines.iter().any(|line| !line.read_only);
    let mut told = Vec::new();
    let mut row: Vec<Target> = Vec::new();
    let mut chars = 0;
    for target in targets(lines) {
        chars += target.text.chars().count();
        row.push(target);
        if chars >= LINE_CHARS {
            told.push(written(name, &row, changing));
            row.clear();
            chars = 0;
        }
    }
    told.extend((!row.is_empty()).then(|| written(name, &row, changing)));
    told
}

/// Each target once, where it stands first.
fn targets(lines: &[&LedgerLine]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let place = *places.entry(&line.target).or_insert(targets.len());
        if place == targets.len() {
            let text = if line.target.is_empty() { "()".to_owned() } else { short_target(line) };
            targets.push(Target { text, calls: 0, errors: 0, failed: false });
        }
        if let Some(target) = targets.get_mut(place) {
            target.calls += line.calls;
            target.errors += line.errors();
            target.failed = line.outcome == CallEnd::Failed;
        }
    }
    targets
}

fn written(name: &str, row: &[Target], changing: bool) -> String {
    if let [Target { text, calls: 1, failed, .. }] = row {
        return format!("- {name}({text}) → {}", if *failed { "failed" } else { "returned" });
    }
    let calls: u64 = row.iter().map(|target| target.calls).sum();
    let errors = row.iter().map(|target| target.errors).sum();
    // A key that all share is said once.
    let key = row.first().and_then(|target| target.text.split_once('=')).map(|(key, _)| format!("{key}="));
    let key = key.filter(|key| !key.contains(' ') && row.iter().all(|target| target.text.starts_with(key.as_str())));
    let key = key.unwrap_or_default();
    let targets: Vec<String> = row.iter().map(|target| told(target, &key)).collect();
    let ended = match row.iter().filter(|target| target.failed).count() {
        _ if !changing => "",
        0 => " → returned",
        failed if failed == row.len() => "",
        _ => " → others returned",
    };
    format!("- {name} ×{calls}{}: {key}{}{ended}", failures(errors), targets.join(", "))
}

fn told(target: &Target, key: &str) -> String {
    let text = target.text.strip_prefix(key).unwrap_or(&target.text);
    let times = if target.calls > 1 { format!(" ×{}", target.calls) } else { String::new() };
    let failed = if target.failed { " (failed)" } else { "" };
    format!("{text}{times}{failed}")
}

/// Returns the room that the head of a group takes, and its end.
pub fn head_size(line: &LedgerLine) -> usize {
    quarters(&line.name) + if line.read_only { 24 } else { 40 }
}

/// Returns the room that a line takes in a group, with its part of the heads that long groups have more of.
pub fn size(line: &LedgerLine) -> usize {
    let target = quarters(&short_target(line)).max(2);
    let times = if line.calls > 1 { 9 } else { 0 };
    let failed = if line.outcome == CallEnd::Failed { 9 } else { 0 };
    target + times + failed + 2 + head_size(line) * target / LINE_CHARS
}
