//! The tool ledger as compactions store it; `summary::ledger` fills and renders it.

use serde::{Deserialize, Serialize};

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

/// One call, clipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    pub name: String,
    /// The argument that says what was acted on (a path, a command, an id), as `key=value`.
    #[serde(default)]
    pub target: String,
    /// The other arguments.
    #[serde(default)]
    pub rest: String,
    pub outcome: CallOutcome,
    /// First words of the result.
    #[serde(default)]
    pub says: String,
    /// Recognised as changing nothing.
    #[serde(default)]
    pub read_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    Error,
    NoResult,
}
