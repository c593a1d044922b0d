//! Request and answer of a chapters call.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::chapter::Refusal;
use crate::domain::tokens::accounting::Snapshot;

/// A chapter that the agent writes: task numbers of the index, inclusive.
#[derive(Debug, Clone)]
pub struct NewChapter {
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub message: String,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterRefused {
    /// Place in the call, from 0.
    pub index: usize,
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub reason: Refusal,
    pub detail: &'static str,
}

/// `tokens_before` is the estimate of what the chapter hides, `tokens_after` that of its own message.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChapterWritten {
    pub id: Uuid,
    pub name: String,
    pub slug: String,
    /// Its folder under `vfs`.
    pub path: String,
    pub start: u32,
    pub end: u32,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub savings_pct: f64,
}

/// What a chapters call did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ChaptersWritten {
    pub chapters: Vec<ChapterWritten>,
    /// Chapters of the call that could not be written; the others were.
    pub refused: Vec<ChapterRefused>,
    /// Reverting it takes all chapters of the call back; null after an empty list.
    pub compaction_id: Option<Uuid>,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
}
