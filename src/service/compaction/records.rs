//! Records of the span that a compaction replaces: what of its messages outlives it.

use crate::domain::model::message::Message;
use crate::domain::summary::files::{FileOps, FileTable, OpenFile};
use crate::domain::summary::identifiers::IdentifierSpan;
use crate::service::path::file_lists::{own_file_lists, seeded_files};
use crate::service::path::view::PathSlice;
use crate::store::entries::StoredEntry;

/// Identifiers and files of a span.
#[derive(Default)]
pub(crate) struct Records {
    pub identifiers: IdentifierSpan,
    pub files: FileOps,
    open_file: OpenFile,
}

impl Records {
    /// With the files that an earlier summary tells of.
    pub(crate) fn on(loaded: &PathSlice) -> Records {
        Records { files: seeded_files(loaded), ..Records::default() }
    }

    /// Takes in an entry that is no longer shown, and its message.
    pub(crate) fn add(&mut self, stored: &StoredEntry, message: &Message, table: FileTable<'_>) {
        self.identifiers.add(message);
        self.done(message, table);
        own_file_lists(stored).iter().for_each(|lists| self.files.seed(lists));
    }

    /// Takes in what was done in a message.
    pub(crate) fn done(&mut self, message: &Message, table: FileTable<'_>) {
        self.files.note(message, table, &mut self.open_file);
    }
}
