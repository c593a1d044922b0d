//! The numbers of tasks and the texts of chapters in a context.

use std::collections::HashMap;

use crate::domain::chapter;
use crate::domain::context::view::ViewItem;
use crate::domain::format::note_code::NoteCode;
use crate::domain::format::write::Note;
use crate::domain::model::entry_type::EntryType;
use crate::service::core::error::Result;
use crate::service::core::head::SessionState;
use crate::service::path::entries::chapter_of;
use crate::service::path::view::PathSlice;

/// Which entries carry which number. They count up along the path, so that a context only ever gets longer at its end
/// between two compactions.
#[derive(Default)]
pub(super) struct TaskNumbers {
    by_index: HashMap<usize, usize>,
    /// Items with their number in front.
    items: HashMap<usize, String>,
}

impl TaskNumbers {
    pub fn of(loaded: &PathSlice) -> TaskNumbers {
        // Whether a task may be closed has no part in its number.
        let tasks = loaded.tasks(&SessionState::default());
        let marks = tasks.iter().enumerate().filter_map(|(place, task)| Some((task.mark?, place + 1)));
        let by_index: HashMap<usize, usize> = marks.collect();
        let item = |(index, number): (&usize, &usize)| {
            let entry = &loaded.stored.get(*index).filter(|stored| stored.entry.head.kind != EntryType::Chapter)?.entry;
            Some((*index, chapter::number(entry.source_format, &entry.item, *number)?))
        };
        let items = by_index.iter().filter_map(item).collect();
        TaskNumbers { by_index, items }
    }

    pub fn item(&self, index: usize) -> Option<&str> {
        self.items.get(&index).map(String::as_str)
    }

    pub fn text(&self, index: usize, text: &str) -> String {
        match self.by_index.get(&index) {
            Some(number) => format!("{}{text}", chapter::prefix(*number)),
            None => text.to_owned(),
        }
    }

    pub fn note(&self) -> Option<Note> {
        let count = self.by_index.len();
        (count > 0).then(|| Note::new(NoteCode::TasksNumbered, None, format!("{count} tasks begin with their number")))
    }
}

/// Reads the texts of the chapters of a view, by index.
pub(super) fn chapter_texts(loaded: &PathSlice, view: &[ViewItem]) -> Result<HashMap<usize, String>> {
    let mut texts = HashMap::new();
    for item in view {
        if let ViewItem::Entry { index, .. } = item
            && let Some(stored) = loaded.stored.get(*index)
            && stored.entry.head.kind == EntryType::Chapter
        {
            texts.insert(*index, chapter_of(stored)?.text());
        }
    }
    Ok(texts)
}
