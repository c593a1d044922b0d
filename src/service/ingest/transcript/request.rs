//! A posted transcript, and what posting it did.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::domain::tokens::accounting::Snapshot;
use crate::service::compaction::CompactionRef;
use crate::service::ingest::append::{self, AppendedEntry, Warning};

/// A whole transcript, and what goes with it. `None` leaves a field, `Some(None)` clears it.
#[derive(Debug, Clone)]
pub struct PutTranscript {
    pub format: Format,
    pub items: Vec<Box<RawValue>>,
    pub system: Option<Option<Box<RawValue>>>,
    pub tools: Option<Option<Box<RawValue>>>,
    /// The provider's own usage object for the newest answer, where that is new.
    pub usage: Option<Value>,
}

/// What posting a transcript did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Put {
    /// Entries that were stored now.
    pub appended: usize,
    /// Posted items that were not: stored already, or this service's own words. `matched + appended` are all posted.
    pub matched: usize,
    /// The posted history departs from the stored one, or ends before it: the leaf went to another branch or back.
    pub forked: bool,
    pub leaf_id: Option<Uuid>,
    pub snapshot: Snapshot,
    /// The compaction that this call started, if any.
    pub compaction: Option<CompactionRef>,
    /// The entries stored now.
    pub entries: Vec<AppendedEntry>,
    pub warnings: Vec<Warning>,
    /// The newest compaction on the path: its entry.
    #[serde(skip)]
    pub newest: Option<Uuid>,
    /// It changes what a compaction covers, so that its record is to be told again.
    #[serde(skip)]
    pub falls: bool,
}

impl Put {
    /// How large an answer this makes, about.
    pub fn bytes(&self) -> usize {
        append::bytes(&self.entries, &self.warnings)
    }
}
