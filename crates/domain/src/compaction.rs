//! Planning of compactions: cut point, strategies, masking and pruning, the guard against useless compactions, and
//! what a compaction reports.

pub mod cut;
pub mod excess;
pub mod fallback_reason;
pub mod guard;
pub mod mask;
pub mod pays;
pub mod prepare;
pub mod prune;
pub mod result;
pub mod strategy;
