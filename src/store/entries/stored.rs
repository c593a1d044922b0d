//! A loaded entry.

use uuid::Uuid;

use super::new::NewEntry;
use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::entry::Entry;
use crate::domain::model::format::Format;

/// With what only the store knows of it.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    pub entry: Entry,
    pub session_id: Uuid,
    pub branch: i32,
    pub path_result_tokens: i64,
    /// Boxed: few entries have one, and a long path is held by the thousands.
    pub record: Option<Box<CompactionRecord>>,
    pub label: Option<String>,
}

impl StoredEntry {
    /// An entry that is about to be written, as it will be read.
    pub fn unsaved(new: &NewEntry, session_id: Uuid) -> StoredEntry {
        StoredEntry {
            entry: Entry {
                head: new.head.clone(),
                parent_id: new.parent_id,
                source_id: new.source_id.clone(),
                source_format: new.source_format,
                item: new.item.clone(),
                created_at: new.created_at,
            },
            session_id,
            branch: new.branch,
            path_result_tokens: new.path_result_tokens,
            record: new.record.clone().map(Box::new),
            label: None,
        }
    }

    /// The record of an entry that came as a sealed handle.
    pub fn handle(&self) -> Option<&CompactionRecord> {
        self.record.as_deref().filter(|record| record.by_handle && self.entry.source_format != Format::Native)
    }
}
