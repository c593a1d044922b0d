//! Identifiers that compactions carry on.

use serde::Serialize;

/// Something that a summary should keep literally, and how much it was used: old uses count less with every
/// compaction, so that what is used least and longest ago goes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrackedIdentifier {
    pub text: String,
    pub weight: u32,
}
