//! What the sessions came to, summed up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter, Result};

/// From here on a session should have something to give.
const LARGE: u64 = 2_000;

/// How one session went.
#[derive(Default)]
pub struct Outcome {
    pub name: String,
    /// As [`refusals`](super::refused::refusals) says it.
    pub refused: Vec<String>,
    /// `succeeded`, or `skipped` with its reason.
    pub compaction: Option<String>,
    /// The own-format rebuild was equal with no note at all.
    pub exact: bool,
    pub notes: Vec<String>,
    pub violations: Vec<String>,
    pub items: usize,
    pub calls: usize,
    pub tokens: (u64, u64),
    pub recall: Option<f64>,
}

#[derive(Default)]
pub struct Report {
    done: usize,
    exact: usize,
    items: usize,
    calls: usize,
    tokens: (u64, u64),
    recalls: Vec<f64>,
    pub refused: BTreeSet<String>,
    cut_short: usize,
    compactions: BTreeMap<String, usize>,
    /// Sessions of some size that were not compacted.
    left: Vec<String>,
    notes: BTreeMap<String, usize>,
    pub violations: Vec<String>,
}

impl Report {
    pub fn with(mut self, outcome: Outcome) -> Report {
        let Outcome { name, refused, compaction, notes, violations, .. } = outcome;
        self.violations.extend(violations.into_iter().map(|violation| format!("{name}: {violation}")));
        if !refused.is_empty() {
            self.refused.extend(refused);
            self.cut_short += 1;
            return self;
        }
        self.done += 1;
        self.exact += usize::from(outcome.exact);
        self.items += outcome.items;
        self.calls += outcome.calls;
        self.tokens.0 += outcome.tokens.0;
        self.tokens.1 += outcome.tokens.1;
        self.recalls.extend(outcome.recall);
        for code in notes {
            *self.notes.entry(code).or_default() += 1;
        }
        let ending = compaction.unwrap_or_else(|| "none".to_owned());
        if ending != "succeeded" && outcome.tokens.0 > LARGE {
            self.left.push(format!("{name}: {ending} at {} tokens", outcome.tokens.0));
        }
        *self.compactions.entry(ending).or_default() += 1;
        self
    }

    pub fn sessions(&self) -> usize {
        self.done + self.cut_short
    }

    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let sessions = self.sessions();
        writeln!(out, "corpus: {sessions} sessions, {} items, {} tool calls", self.items, self.calls)?;
        writeln!(out, "rebuilt in their own format: {} exactly, {} with notes", self.exact, self.done - self.exact)?;
        writeln!(out, "notes of those: {:?}", self.notes)?;
        writeln!(out, "compactions: {:?}", self.compactions)?;
        for left in &self.left {
            writeln!(out, "  {left}")?;
        }
        writeln!(out, "tokens before and after: {:?}", self.tokens)?;
        let mean = self.recalls.iter().sum::<f64>() / self.recalls.len().max(1) as f64;
        writeln!(out, "identifiers recalled before restoring, mean: {mean:.3}")?;
        writeln!(out, "refused: {}", self.refused.len())?;
        for refused in &self.refused {
            writeln!(out, "  {refused}")?;
        }
        writeln!(out, "violations: {}", self.violations.len())?;
        for violation in &self.violations {
            writeln!(out, "  {}", violation.chars().take(600).collect::<String>())?;
        }
        Ok(())
    }
}
