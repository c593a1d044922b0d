//! The tool ledger as compactions store it; `summary::ledger` fills and renders it.

use serde::{Deserialize, Serialize};

use super::call_end::CallEnd;

/// All replaced calls: the newest as lines, the older as totals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    #[serde(default)]
    pub totals: Vec<Total>,
    #[serde(default)]
    pub lines: Vec<LedgerLine>,
}

/// Calls of one tool that are no longer listed one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    pub name: String,
    pub calls: u64,
    pub errors: u64,
}

/// One call, clipped, or several of the same, with the outcome of the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    pub name: String,
    /// The argument that says what was acted on (a path, a command, an id), as `key=value` where the key is no common one.
    #[serde(default)]
    pub target: String,
    /// The other arguments.
    #[serde(default)]
    pub rest: String,
    pub outcome: CallEnd,
    /// What the result tells, in a few words.
    #[serde(default)]
    pub says: String,
    /// Recognised as changing nothing.
    #[serde(default)]
    pub read_only: bool,
    /// How many calls it stands for.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub calls: u64,
    /// How many of them failed before the last.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed_before: u64,
    /// Bytes of the last result.
    #[serde(default, skip_serializing_if = "is_none")]
    pub size: u64,
}

fn one() -> u64 {
    1
}

fn is_one(calls: &u64) -> bool {
    *calls == 1
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl LedgerLine {
    /// How many of its calls failed or were refused.
    pub fn errors(&self) -> u64 {
        self.failed_before + u64::from(self.outcome.went_wrong())
    }
}
