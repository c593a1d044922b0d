//! The numbers of what a record no longer reads.

use serde::{Deserialize, Serialize};

/// Where the reading of a history may begin the next time, and what comes before it in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordNumbers {
    pub depth: i64,
    pub messages: u32,
    pub users: u32,
    pub calls: u32,
}
