//! Folds: the part of its path that a chapter hides.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Part of the path that a chapter stands for, as depths: they never change, not in forks either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// The chapter's entry.
    pub chapter: Uuid,
    /// Where that entry itself is.
    pub depth: i64,
    /// First depth that it closed; `to` is the last one, inclusive.
    pub from: i64,
    pub to: i64,
    /// The first of these that it hides. The chapter is shown here.
    pub place: i64,
    /// Depths that stay as they are (the first user message, pinned entries), ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbatim: Vec<i64>,
}

/// A fold of the view at hand, with what that does to its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFold {
    pub fold: Fold,
    /// Of the chapter's message.
    pub tokens: u32,
    /// Of the hidden entries as they came; their tool results are among them.
    pub hidden_tokens: i64,
    pub hidden_result_tokens: i64,
    /// The path's totals before `fold.place`.
    pub path_tokens_before: i64,
    pub path_result_tokens_before: i64,
}

impl Fold {
    /// Returns true if the entry at this depth belongs to the chapter, hidden or not.
    pub fn spans(&self, depth: i64) -> bool {
        (self.from..=self.to).contains(&depth)
    }

    pub fn hides(&self, depth: i64) -> bool {
        (self.place..=self.to).contains(&depth) && self.verbatim.binary_search(&depth).is_err()
    }

    /// The hidden depths as inclusive ranges, ascending.
    pub fn hidden(&self) -> Vec<(i64, i64)> {
        let mut ranges = Vec::new();
        let mut from = self.place;
        for depth in self.verbatim.iter().copied().filter(|depth| *depth >= self.place) {
            if from < depth {
                ranges.push((from, depth - 1));
            }
            from = depth + 1;
        }
        if from <= self.to {
            ranges.push((from, self.to));
        }
        ranges
    }
}
