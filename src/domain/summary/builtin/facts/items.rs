//! The lists of items that a span gives.

/// Raw items are kept at this length at most; rendering clips further.
pub const ITEM_CHARS: usize = 400;

/// Everything that sections are filled from, oldest first within each list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub goal: Vec<String>,
    pub rules: Vec<String>,
    pub done: Vec<String>,
    pub in_progress: Vec<String>,
    pub blocked: Vec<String>,
    pub decisions: Vec<String>,
    pub questions: Vec<String>,
    pub next: Vec<String>,
    pub files: Vec<String>,
    /// Identifiers other than paths, the weightiest first, as `files` are.
    pub mentions: Vec<String>,
    pub context: Vec<String>,
    pub results: Vec<String>,
    /// Calls that changed nothing.
    pub lookups: usize,
    /// Attempts that worked, see [`signature`](super::signature).
    pub worked: Vec<String>,
    /// The span has a todo list of its own.
    pub planned: bool,
}
