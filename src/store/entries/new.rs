//! Entries, branches and heads that are about to be written.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::EntryMeta;
use crate::domain::model::format::Format;
use crate::store::sessions::HeadRow;

/// An entry about to be written.
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub head: EntryMeta,
    pub branch: i32,
    pub parent_id: Option<Uuid>,
    pub path_result_tokens: i64,
    pub source_format: Format,
    pub source_id: Option<String>,
    pub record: Option<CompactionRecord>,
    pub item: String,
    pub created_at: DateTime<Utc>,
}

/// A branch about to be written; see the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranch {
    pub branch: i32,
    pub parent_session: Uuid,
    pub parent_branch: i32,
    pub fork_depth: i64,
}

/// Entries, what follows from them, and the session's head as it is afterwards.
#[derive(Debug)]
pub struct Write<'a> {
    pub session_id: Uuid,
    /// The head's version before; the write happens only if it still holds.
    pub version: i64,
    pub head: &'a HeadRow,
    pub entries: &'a [NewEntry],
    pub branches: &'a [NewBranch],
    pub now: DateTime<Utc>,
}
