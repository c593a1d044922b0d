//! The file lists that earlier summaries pass on.

use crate::domain::format::pi;
use crate::domain::model::compaction::FileLists;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::summary::files::FileOps;
use crate::service::path::view::PathSlice;
use crate::store::entries::StoredEntry;

/// The files that earlier summaries tell of.
pub(crate) fn seeded_files(loaded: &PathSlice) -> FileOps {
    let mut ops = FileOps::default();
    if let Some(record) = loaded.record().filter(|record| !record.from_hook) {
        ops.seed(&record.details);
    }
    ops
}

/// The file lists of a branch summary of the service's own, for a compaction that replaces it. Of pi's, a compaction
/// takes none, as in pi.
pub(crate) fn own_file_lists(stored: &StoredEntry) -> Option<FileLists> {
    let is_own = stored.entry.head.kind == EntryType::BranchSummary && stored.entry.source_format == Format::Native;
    is_own.then(|| passed_on(stored)).flatten()
}

/// The file lists of an earlier branch summary, unless a hook made it.
pub(crate) fn passed_on(stored: &StoredEntry) -> Option<FileLists> {
    let item = json::parse_lenient(&stored.entry.item).ok()?;
    if stored.entry.source_format == Format::Pi {
        return (!pi::from_hook(&item)).then(|| pi::file_lists(&item));
    }
    let from_hook = item.get("from_hook").and_then(serde_json::Value::as_bool).unwrap_or(false);
    serde_json::from_value(item.get("details")?.clone()).ok().filter(|_| !from_hook)
}
