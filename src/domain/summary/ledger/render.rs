//! Writing a ledger down within a bound.

use super::OTHER;
use crate::domain::model::ledger::{CallOutcome, Ledger, LedgerLine, Total};
use crate::domain::summary::text::{clip, quarters};

/// How much of a line is shown; each level is shorter than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    Full,
    /// Without the other arguments, the result's words cut short.
    Call,
    /// Target and outcome.
    Target,
    /// The name alone; neighbours of one name are counted together.
    Name,
}

/// The order in which lines lose detail, oldest first within a step: what changed something keeps its target
/// longest.
const STEPS: [(bool, Detail); 6] = [
    (true, Detail::Call),
    (true, Detail::Target),
    (false, Detail::Call),
    (true, Detail::Name),
    (false, Detail::Target),
    (false, Detail::Name),
];

impl Ledger {
    /// The ledger in about `max_tokens` (four characters each). Every call stays represented by its name and
    /// count; the bound gives way only to the list of names itself.
    pub fn render(&self, max_tokens: u32) -> String {
        let budget = (max_tokens as usize).saturating_mul(4);
        let mut details = vec![Detail::Full; self.lines.len()];
        let mut text = self.write(&details);
        for (read_only, detail) in STEPS {
            let excess = quarters(&text).saturating_sub(budget);
            if excess == 0 {
                return text;
            }
            self.shorten(&mut details, read_only, detail, excess);
            text = self.write(&details);
        }
        if quarters(&text) <= budget { text } else { self.folded().write(&[]) }
    }

    /// Takes detail from the oldest lines of one sort until `excess` quarter tokens are saved.
    fn shorten(&self, details: &mut [Detail], read_only: bool, detail: Detail, excess: usize) {
        let mut saved = 0;
        let mut run: Option<&str> = None;
        for (line, shown) in self.lines.iter().zip(details) {
            if line.read_only == read_only && *shown < detail {
                if saved >= excess {
                    return;
                }
                let joins = detail == Detail::Name && run == Some(&line.name);
                let now = if joins { 0 } else { size(line, detail) };
                saved += size(line, *shown).saturating_sub(now);
                *shown = detail;
            }
            run = (*shown == Detail::Name).then_some(&line.name);
        }
    }

    /// Everything counted by name.
    fn folded(&self) -> Ledger {
        let mut folded = self.clone();
        folded.fold(folded.lines.len());
        folded
    }

    fn write(&self, details: &[Detail]) -> String {
        let mut out: Vec<String> = Vec::new();
        if !self.totals.is_empty() {
            let totals: Vec<String> = self.totals.iter().map(total).collect();
            let label = if self.lines.is_empty() { "calls" } else { "earlier calls" };
            out.push(format!("{label}: {}", totals.join(", ")));
        }
        let mut run: Option<Total> = None;
        for (line, &detail) in self.lines.iter().zip(details) {
            if run.as_ref().is_some_and(|run| detail != Detail::Name || run.name != line.name) {
                out.extend(run.take().map(|run| format!("- {}", total(&run))));
            }
            if detail == Detail::Name {
                let run = run.get_or_insert_with(|| Total { name: line.name.clone(), calls: 0, errors: 0 });
                run.calls += 1;
                run.errors += u64::from(line.outcome == CallOutcome::Error);
            } else {
                out.push(show(line, detail));
            }
        }
        out.extend(run.map(|run| format!("- {}", total(&run))));
        out.join("\n")
    }
}

fn size(line: &LedgerLine, detail: Detail) -> usize {
    quarters(&show(line, detail)) + 1
}

fn show(line: &LedgerLine, detail: Detail) -> String {
    if detail == Detail::Name {
        return format!("- {}", line.name);
    }
    let rest = if detail == Detail::Full && !line.rest.is_empty() { format!(", {}", line.rest) } else { String::new() };
    let width = match detail {
        Detail::Full => 80,
        Detail::Call => 40,
        _ => 0,
    };
    let says = match clip(&line.says, width) {
        says if says.is_empty() || width == 0 => String::new(),
        says => format!(": {says}"),
    };
    let outcome = match line.outcome {
        CallOutcome::Ok => "ok",
        CallOutcome::Error => "error",
        CallOutcome::NoResult => "no result",
    };
    let target = clip(&line.target, if line.read_only && detail == Detail::Target { 60 } else { 200 });
    format!("- {}({target}{rest}) → {outcome}{says}", line.name)
}

fn total(total: &Total) -> String {
    let errors = match total.errors {
        0 => String::new(),
        1 => " (1 error)".to_owned(),
        many => format!(" ({many} errors)"),
    };
    match total.calls {
        1 if total.name != OTHER => format!("{}{errors}", total.name),
        calls => format!("{} ×{calls}{errors}", total.name),
    }
}
