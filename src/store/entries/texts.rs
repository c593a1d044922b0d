//! The texts that shapes and compaction records are stored as.

use crate::domain::model::compaction::CompactionRecord;
use crate::domain::model::shape::Shape;

pub(super) fn shape_text(shape: &Shape) -> Option<String> {
    if shape.is_trivial() { None } else { serde_json::to_string(shape).ok() }
}

pub(super) fn record_text(record: &CompactionRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}
