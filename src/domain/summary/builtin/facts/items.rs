//! The lists of items that a span gives.

use std::collections::HashMap;

use super::work::FileWork;

/// Items are kept at this length at most.
pub const ITEM_CHARS: usize = 300;

/// Everything that sections are filled from, oldest first within each list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub goal: Vec<String>,
    pub rules: Vec<String>,
    pub done: Vec<String>,
    /// Files that were changed, and how.
    pub files: Vec<FileWork>,
    pub in_progress: Vec<String>,
    pub blocked: Vec<String>,
    pub decisions: Vec<String>,
    pub questions: Vec<String>,
    pub next: Vec<String>,
    pub context: Vec<String>,
    pub results: Vec<String>,
    /// Identifiers, the weightiest first: those that nothing else tells of fill what is left of the room.
    pub named: Vec<String>,
    /// Attempts that worked, see [`signature`](super::signature).
    pub worked: Vec<String>,
    /// How much each identifier of the span weighs.
    pub weights: HashMap<String, u32>,
    /// The span has a todo list of its own.
    pub planned: bool,
    /// The user spoke in the span.
    pub heard: bool,
}
