//! Notes that a caller or a hook gave in place of earlier messages. No message says what stands in them, so every record
//! quotes them until others are given.

use super::notice;
use super::quote::shortened;
use crate::model::compaction::CompactionRecord;

pub(super) const HEADING: &str = "Notes that were given with an earlier compaction:";
/// The notes may take one part in so many of the room.
const SHARE: usize = 6;
/// Quarter tokens of the beginning and of the end that are carried from compaction to compaction.
const CARRIED: (usize, usize) = (24_000, 8_000);

/// The newest given notes that a compaction knows of: its own summary, or what it carries.
pub fn notes(record: &CompactionRecord) -> Option<String> {
    let own = record.summary_body.as_ref().or(record.summary.as_ref()).filter(|_| record.from_hook);
    let notes = match own {
        // What came with a handle is told where it came.
        Some(_) if record.by_handle => None,
        Some(own) => Some(notice::without(own)),
        None => record.given.clone(),
    };
    notes.filter(|notes| !notes.trim().is_empty()).map(|notes| shortened(&notes, CARRIED.0, CARRIED.1))
}

/// The notes under their heading, in their share of a record of so many quarter tokens.
pub(super) fn told(notes: &str, quarters: usize) -> String {
    let room = quarters / SHARE;
    format!("{HEADING}\n{}", shortened(notes, room * 3 / 4, room / 4))
}
