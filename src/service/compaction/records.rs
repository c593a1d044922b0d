//! Records of the span that a compaction replaces: what of its messages outlives it.

use uuid::Uuid;

use crate::domain::model::message::Message;
use crate::domain::summary::files::{FileOps, FileTable, OpenFile};
use crate::domain::summary::identifiers::IdentifierSpan;
use crate::domain::summary::ledger::Recorder;
use crate::domain::summary::todos::TodoList;
use crate::service::path::file_lists::{own_file_lists, seeded_files};
use crate::service::path::view::PathSlice;
use crate::store::entries::StoredEntry;

/// Calls, identifiers, files and tasks of a span.
#[derive(Default)]
pub(crate) struct Records {
    pub calls: Recorder,
    pub identifiers: IdentifierSpan,
    pub files: FileOps,
    pub todos: TodoList,
    open_file: OpenFile,
}

impl Records {
    /// With the files and tasks that an earlier summary tells of.
    pub(crate) fn on(loaded: &PathSlice) -> Records {
        let todos = loaded.record().map(|record| TodoList::on(&record.todos)).unwrap_or_default();
        Records { files: seeded_files(loaded), todos, ..Records::default() }
    }

    /// Takes in an entry that is no longer shown, and its message. `id`: where the agent finds it again.
    pub(crate) fn add(&mut self, stored: &StoredEntry, id: Option<Uuid>, message: &Message, table: FileTable<'_>) {
        self.identifiers.add_entry(message, id);
        self.done(message, table);
        own_file_lists(stored).iter().for_each(|lists| self.files.seed(lists));
    }

    /// Takes in what was done in a message.
    pub(crate) fn done(&mut self, message: &Message, table: FileTable<'_>) {
        self.calls.add(message);
        self.todos.add(message);
        self.files.note(message, table, &mut self.open_file);
    }
}
