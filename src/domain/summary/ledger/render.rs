//! Writing a ledger down within a bound: calls that changed something first and in the order in which they were made, then
//! those that only looked, by tool. What the room can't hold is counted by name.

use std::collections::{HashMap, HashSet};

use super::{OTHER, is_lasting};
use crate::domain::model::ledger::{CallOutcome, Ledger, LedgerLine, Total};
use crate::domain::summary::text::{clip, quarters};

/// How much of a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// Counted by its name.
    Name,
    Target,
    /// All its arguments and its outcome.
    Call,
    /// What the result told, too.
    Full,
}

/// The order in which lines are given room, the likeliest to be needed first within a step.
const STEPS: [(Lines, Detail); 6] = [
    (Lines::Changing, Detail::Target),
    (Lines::Looking, Detail::Target),
    (Lines::Changing, Detail::Call),
    (Lines::Failed, Detail::Full),
    (Lines::Changing, Detail::Full),
    (Lines::Looking, Detail::Full),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Changing,
    Looking,
    Failed,
}

impl Lines {
    fn hold(self, line: &LedgerLine) -> bool {
        match self {
            Lines::Changing => !line.read_only,
            Lines::Looking => line.read_only,
            Lines::Failed => line.outcome == CallOutcome::Error,
        }
    }
}

impl Ledger {
    /// The ledger in about `max_tokens` (four characters each). Every call stays represented by its name and
    /// count; the bound gives way only to the list of names itself.
    pub fn render(&self, max_tokens: u32) -> String {
        let budget = (max_tokens as usize).saturating_mul(4);
        let mut details = vec![Detail::Name; self.lines.len()];
        let names = self.write(&details);
        let Some(mut room) = budget.checked_sub(quarters(&names)).filter(|room| *room > 0) else { return names };
        let order = self.by_need();
        let mut groups: HashSet<&str> = HashSet::new();
        for (lines, detail) in STEPS {
            let wanted = order.iter().filter_map(|at| Some((*at, self.lines.get(*at)?)));
            for (at, line) in wanted.filter(|(_, line)| lines.hold(line)) {
                let Some(shown) = details.get_mut(at).filter(|shown| **shown < detail) else { continue };
                // The first of a tool brings the group's head with it.
                let head = if groups.contains(line.name.as_str()) { 0 } else { quarters(&line.name) + 24 };
                let cost = head + size(line, detail).saturating_sub(size(line, *shown));
                if cost <= room {
                    room -= cost;
                    *shown = detail;
                    groups.insert(&line.name);
                }
            }
        }
        let text = self.write(&details);
        if quarters(&text) <= budget { text } else { names }
    }

    /// The places of the lines, the likeliest to be needed first: what lasts, what failed, what is recent or large.
    fn by_need(&self) -> Vec<usize> {
        let count = self.lines.len().max(1) as u64;
        let need = |(at, line): (usize, &LedgerLine)| {
            let lasting = !line.read_only && is_lasting(&line.name, &line.target);
            let failed = line.outcome != CallOutcome::Ok;
            at as u64 * 100 / count
                + u64::from(lasting) * 100
                + u64::from(failed) * 40
                + (line.size / 400).min(40)
                + (line.calls * 5).min(20)
        };
        let needs: Vec<u64> = self.lines.iter().enumerate().map(need).collect();
        let mut order: Vec<usize> = (0..needs.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(needs.get(*at).copied()), std::cmp::Reverse(*at)));
        order
    }

    fn write(&self, details: &[Detail]) -> String {
        let lines = || self.lines.iter().zip(details.iter().copied());
        let mut out: Vec<String> = Vec::new();
        let counted = self.counted(details);
        if !counted.is_empty() {
            let totals: Vec<String> = counted.iter().map(total).collect();
            let label = if details.iter().all(|detail| *detail == Detail::Name) { "calls" } else { "other calls" };
            out.push(format!("{label}: {}", totals.join(", ")));
        }
        for read_only in [false, true] {
            let sort = || lines().filter(move |(line, detail)| line.read_only == read_only && *detail > Detail::Name);
            let alone = sort().filter(|(line, detail)| !in_group(line, *detail));
            out.extend(alone.map(|(line, detail)| show(line, detail)));
            out.extend(grouped(sort().filter(|(line, detail)| in_group(line, *detail)).map(|(line, _)| line)));
        }
        out.join("\n")
    }

    /// The totals with the lines that are counted by their names alone.
    fn counted(&self, details: &[Detail]) -> Vec<Total> {
        let mut counted = self.totals.clone();
        let mut places: HashMap<String, usize> =
            counted.iter().enumerate().map(|(at, total)| (total.name.clone(), at)).collect();
        let named = self.lines.iter().zip(details).filter(|(_, detail)| **detail == Detail::Name);
        for (line, _) in named {
            let place = *places.entry(line.name.clone()).or_insert(counted.len());
            if place == counted.len() {
                counted.push(Total { name: line.name.clone(), calls: 0, errors: 0 });
            }
            if let Some(total) = counted.get_mut(place) {
                total.calls += line.calls;
                total.errors += line.errors();
            }
        }
        counted
    }
}

/// Returns true if a line shares one with others of its tool: its target is one word, and all that is told.
fn in_group(line: &LedgerLine, detail: Detail) -> bool {
    let rest = detail >= Detail::Call && !line.rest.is_empty() && !line.read_only;
    let says = detail == Detail::Full && !line.says.is_empty();
    let words = !line.read_only && line.target.contains(' ');
    line.outcome != CallOutcome::NoResult && !rest && !says && !words
}

/// One line for each tool: `- read ×5 (1 error): a.rs ×3, b.rs, c.rs (error)`.
fn grouped<'l>(lines: impl Iterator<Item = &'l LedgerLine>) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&LedgerLine>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let place = *places.entry(&line.name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(line),
            None => groups.push((&line.name, vec![line])),
        }
    }
    groups.iter().map(|(name, lines)| group(name, lines)).collect()
}

fn group(name: &str, lines: &[&LedgerLine]) -> String {
    if let [line] = lines {
        return show(line, Detail::Target);
    }
    let calls: u64 = lines.iter().map(|line| line.calls).sum();
    let errors = lines.iter().map(|line| line.errors()).sum();
    let targets: Vec<String> = lines.iter().map(|line| looked_at(line)).collect();
    // A key that all share is said once.
    let key =
        targets.first().and_then(|target| target.split_once('=')).map(|(key, _)| format!("{key}=")).unwrap_or_default();
    let shared = !key.contains(' ') && targets.iter().all(|target| target.starts_with(&key));
    let key = if shared { key } else { String::new() };
    let targets: Vec<&str> = targets.iter().map(|target| target.strip_prefix(&key).unwrap_or(target)).collect();
    format!("- {name} ×{calls}{}: {key}{}", failures(errors), targets.join(", "))
}

fn looked_at(line: &LedgerLine) -> String {
    let target = if line.target.is_empty() { "()" } else { &line.target };
    let times = if line.calls > 1 { format!(" ×{}", line.calls) } else { String::new() };
    let failed = if line.outcome == CallOutcome::Error { " (error)" } else { "" };
    format!("{}{times}{failed}", clip(target, 120))
}

/// Returns the room that a line takes, alone or in a group.
fn size(line: &LedgerLine, detail: Detail) -> usize {
    match detail {
        Detail::Name => 0,
        _ if in_group(line, detail) => quarters(&looked_at(line)) + 2,
        _ => quarters(&show(line, detail)) + 1,
    }
}

fn show(line: &LedgerLine, detail: Detail) -> String {
    // Of several looks at one thing each had arguments of its own.
    let rest = if detail >= Detail::Call && !(line.read_only && line.calls > 1) { line.rest.as_str() } else { "" };
    let separator = if rest.is_empty() || line.target.is_empty() { "" } else { ", " };
    let said = format!("{}{separator}{rest}", line.target);
    let outcome = match line.outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::Error => "error",
        CallOutcome::NoResult => "no result",
    };
    let says = if detail == Detail::Full && !line.says.is_empty() { format!(": {}", line.says) } else { String::new() };
    if line.calls == 1 {
        return format!("- {}({said}) → {outcome}{says}", line.name);
    }
    let colon = if said.is_empty() { "" } else { ": " };
    format!("- {} ×{}{}{colon}{said} → {outcome}{says}", line.name, line.calls, failures(line.errors()))
}

fn failures(errors: u64) -> String {
    match errors {
        0 => String::new(),
        1 => " (1 error)".to_owned(),
        many => format!(" ({many} errors)"),
    }
}

fn total(total: &Total) -> String {
    let errors = failures(total.errors);
    match total.calls {
        1 if total.name != OTHER => format!("{}{errors}", total.name),
        calls => format!("{} ×{calls}{errors}", total.name),
    }
}
