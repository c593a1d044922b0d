//! Violations found, item by item.

use std::collections::HashSet;

use serde::Serialize;
use utoipa::ToSchema;

use crate::format::violation_code::ViolationCode;

/// What is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Violation {
    pub code: ViolationCode,
    /// The item, counted from 0.
    pub index: usize,
    pub detail: String,
}

/// Violations of one item after the other.
#[derive(Default)]
pub(super) struct Report {
    pub(super) found: Vec<Violation>,
    named: HashSet<usize>,
    pub(super) index: usize,
}

impl Report {
    pub(super) fn add(&mut self, code: ViolationCode, detail: impl Into<String>) {
        self.at(self.index, code, detail);
    }

    pub(super) fn at(&mut self, index: usize, code: ViolationCode, detail: impl Into<String>) {
        self.named.insert(index);
        self.found.push(Violation { code, index, detail: detail.into() });
    }

    pub(super) fn names(&self, index: usize) -> bool {
        self.named.contains(&index)
    }
}
