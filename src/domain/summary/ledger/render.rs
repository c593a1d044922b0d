//! Writing a ledger down within a bound: calls that changed something first and in the order in which they were made, then
//! those that only looked, by tool. What the room can't hold is counted by name, and so is what the body tells already.

use std::collections::{HashMap, HashSet};

use super::told::ToldCalls;
use super::{OTHER, is_lasting};
use crate::domain::model::call_end::CallEnd;
use crate::domain::model::ledger::{Ledger, LedgerLine, Total};
use crate::domain::record::effect::keeps_list;
use crate::domain::summary::text::quarters;

mod group;
mod line;

use group::grouped;
use line::{Detail, failures, show};

const OTHER_CALLS: &str = "other ";

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
            Lines::Failed => line.outcome.went_wrong(),
        }
    }
}

impl Ledger {
    /// The ledger in about `max_tokens` (four characters each). Every call stays represented by its name and
    /// count; the bound gives way only to the list of names itself.
    pub fn render(&self, max_tokens: u32) -> String {
        self.render_beside("", max_tokens)
    }

    /// As [`Ledger::render`], behind a body that tells some of the calls.
    pub fn render_beside(&self, body: &str, max_tokens: u32) -> String {
        let budget = (max_tokens as usize).saturating_mul(4);
        let told = ToldCalls::of(body);
        let first = |line| if told.tells(line) { Detail::Told } else { Detail::Name };
        let mut details: Vec<Detail> = self.lines.iter().map(first).collect();
        let names = self.write(&details);
        let room = budget.checked_sub(quarters(&names) + OTHER_CALLS.len());
        let Some(mut room) = room.filter(|room| *room > 0) else { return names };
        let order = self.by_need();
        let mut groups: HashSet<&str> = HashSet::new();
        for (lines, detail) in STEPS {
            let wanted = order.iter().filter_map(|at| Some((*at, self.lines.get(*at)?)));
            for (at, line) in wanted.filter(|(_, line)| lines.hold(line)) {
                let open = |shown: &&mut Detail| **shown < detail && **shown != Detail::Told;
                let Some(shown) = details.get_mut(at).filter(open) else { continue };
                // The first of a group brings its head with it.
                let opens = in_group(line, detail) && !groups.contains(line.name.as_str());
                let head = if opens { group::head_size(line) } else { 0 };
                let cost = head + size(line, detail).saturating_sub(size(line, *shown));
                if cost <= room {
                    room -= cost;
                    *shown = detail;
                    groups.extend(opens.then_some(line.name.as_str()));
                }
            }
        }
        let text = self.write(&details);
        if quarters(&text) <= budget { text } else { names }
    }

    /// The places of the lines, the likeliest to be needed for their room first: what lasts, what failed, what is recent
    /// or large. What keeps a list of things to do comes last.
    fn by_need(&self) -> Vec<usize> {
        let count = self.lines.len().max(1) as u64;
        let need = |(at, line): (usize, &LedgerLine)| {
            let lasting = !line.read_only && is_lasting(&line.name, &line.target);
            let failed = line.outcome != CallEnd::Returned;
            let need = at as u64 * 100 / count
                + u64::from(lasting) * 100
                + u64::from(failed) * 40
                + (line.size / 400).min(40)
                + (line.calls * 5).min(20);
            let cost = size(line, Detail::Target) as u64;
            if keeps_list(&line.name) { 0 } else { (need + 50) * 1_000 / (cost + 100) }
        };
        let needs: Vec<u64> = self.lines.iter().enumerate().map(need).collect();
        let mut order: Vec<usize> = (0..needs.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(needs.get(*at).copied()), std::cmp::Reverse(*at)));
        order
    }

    fn write(&self, details: &[Detail]) -> String {
        let lines = || self.lines.iter().zip(details.iter().copied());
        let mut out: Vec<String> = Vec::new();
        let bare = details.iter().all(|detail| *detail == Detail::Name);
        let label = if bare { "calls".to_owned() } else { format!("{OTHER_CALLS}calls") };
        out.extend(row(&label, &self.counted(&self.totals, details, Detail::Name)));
        out.extend(row("told above, calls", &self.counted(&[], details, Detail::Told)));
        for read_only in [false, true] {
            let sort = || lines().filter(move |(line, detail)| line.read_only == read_only && *detail > Detail::Name);
            let alone = sort().filter(|(line, detail)| !in_group(line, *detail));
            out.extend(alone.map(|(line, detail)| show(line, detail)));
            out.extend(grouped(sort().filter(|(line, detail)| in_group(line, *detail)).map(|(line, _)| line)));
        }
        out.join("\n")
    }

    /// Totals with the lines of this detail.
    fn counted(&self, totals: &[Total], details: &[Detail], wanted: Detail) -> Vec<Total> {
        let mut counted = totals.to_vec();
        let mut places: HashMap<String, usize> =
            counted.iter().enumerate().map(|(at, total)| (total.name.clone(), at)).collect();
        let named = self.lines.iter().zip(details).filter(|(_, detail)| **detail == wanted);
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

/// A row of totals. `None`: there are none.
fn row(label: &str, totals: &[Total]) -> Option<String> {
    let totals: Vec<String> = totals.iter().map(total).collect();
    (!totals.is_empty()).then(|| format!("{label}: {}", totals.join(", ")))
}

/// Returns true if a line shares one with others of its tool: its target is one word, and all that is told.
fn in_group(line: &LedgerLine, detail: Detail) -> bool {
    let rest = detail >= Detail::Call && !line.rest.is_empty() && !line.read_only;
    let says = detail == Detail::Full && !line.says.is_empty();
    let words = !line.read_only && line.target.contains(' ');
    matches!(line.outcome, CallEnd::Returned | CallEnd::Failed) && !rest && !says && !words
}

/// Returns the room that a line takes, alone or in a group.
fn size(line: &LedgerLine, detail: Detail) -> usize {
    match detail {
        Detail::Told | Detail::Name => 0,
        _ if in_group(line, detail) => group::size(line),
        _ => quarters(&show(line, detail)) + 1,
    }
}

fn total(total: &Total) -> String {
    let errors = failures(total.errors);
    match total.calls {
        1 if total.name != OTHER => format!("{}{errors}", total.name),
        calls => format!("{} ×{calls}{errors}", total.name),
    }
}
