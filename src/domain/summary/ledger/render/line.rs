//! One call, or several on one target, on a line: `- edit(a.rs) → returned`.

use crate::domain::model::ledger::LedgerLine;
use crate::domain::summary::text::clip;

/// Characters of a target where little else is told; of a command's, for what it does stands in front; and of one that only
/// looks.
const SHORT_TARGET: usize = 120;
const SHORT_COMMAND: usize = 84;
const SHORT_LOOK: usize = 64;

/// How much of a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing: the body tells it.
    Told,
    /// Counted by its name.
    Name,
    Target,
    /// All its arguments and its outcome.
    Call,
    /// What the result told, too.
    Full,
}

/// The line with as much of it as is to be shown.
pub fn show(line: &LedgerLine, detail: Detail) -> String {
    // Of several looks at one thing each had arguments of its own.
    let rest = if detail >= Detail::Call && !(line.read_only && line.calls > 1) { line.rest.as_str() } else { "" };
    let separator = if rest.is_empty() || line.target.is_empty() { "" } else { ", " };
    let target = if detail == Detail::Full { line.target.clone() } else { short_target(line) };
    let said = format!("{target}{separator}{rest}");
    let outcome = line.outcome.into_str();
    let says = if detail == Detail::Full && !line.says.is_empty() { format!(": {}", line.says) } else { String::new() };
    if line.calls == 1 {
        return format!("- {}({said}) → {outcome}{says}", line.name);
    }
    let colon = if said.is_empty() { "" } else { ": " };
    format!("- {} ×{}{}{colon}{said} → {outcome}{says}", line.name, line.calls, failures(line.errors()))
}

/// As much of a target as is told where little else is.
pub fn short_target(line: &LedgerLine) -> String {
    let width = match line.target.contains(' ') {
        true if line.read_only => SHORT_LOOK,
        true => SHORT_COMMAND,
        false => SHORT_TARGET,
    };
    clip(&line.target, width)
}

/// How many of several calls failed, where any did.
pub fn failures(errors: u64) -> String {
    match errors {
        0 => String::new(),
        failed => format!(" ({failed} failed)"),
    }
}
