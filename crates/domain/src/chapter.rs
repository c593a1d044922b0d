//! Chapters: finished tasks that the agent folded into a name and a message of its own.
//!
//! A chapter is an entry. The record of the newest compaction says which chapters stand on a path and what they hide,
//! as it says everything else of the view; so closing chapters is one kind of compaction, and is taken back like one.

mod close;
mod fold;
mod folder;
mod number;
mod prompt;
mod slug;
mod tasks;

use serde::{Deserialize, Serialize};

use super::summary::transcript::without_tags;
use crate::model::json::{JsonError, parse_lenient};
use crate::model::message::{Message, Role};

pub use crate::model::fold::{Fold, ShownFold};
pub use close::{Closing, close};
pub use fold::{Slot, arrange};
pub use folder::{event_names, own_depths};
pub use number::{number, numbered, prefix, unnumber};
pub use prompt::{prompt, tool};
pub use slug::Slugs;
pub use tasks::{FoldedView, Overlap, Refusal, TaskRange, TaskSpan, TaskState, check, spans, starts_task, title};

/// How much of a chapter the context shows. Less than all only where a few words would take more room than the few that
/// they stand for: the message is in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    #[default]
    Full,
    Name,
    Path,
}

/// The item of a `chapter` entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    pub name: String,
    pub message: String,
    /// Unique among its siblings, and never changed.
    pub slug: String,
    /// The numbers of the tasks that it closed, as they were then.
    pub start: u32,
    pub end: u32,
    /// Estimates of what it hides and of its own message.
    pub tokens_before: u64,
    pub tokens_after: u64,
    #[serde(default)]
    pub form: Form,
    pub fold: Fold,
    /// The chapters among what it closed.
    #[serde(default)]
    pub chapters: Vec<Fold>,
}

impl Chapter {
    /// The item of its entry, as JSON text.
    pub fn item(&self) -> String {
        let mut item = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = item.as_object_mut() {
            fields.insert("type".to_owned(), "chapter".into());
        }
        item.to_string()
    }

    /// Reads the item of a chapter's entry.
    ///
    /// # Errors
    /// The item is not one that [`Chapter::item`] wrote.
    pub fn read(item: &str) -> Result<Chapter, JsonError> {
        serde_json::from_value(parse_lenient(item)?).map_err(|error| JsonError(error.to_string()))
    }

    /// Gives the text that the model sees in place of what the chapter hides, as long as the chapter is not nested:
    /// name, message and path.
    ///
    /// The agent's words can't open or end a summary there.
    pub fn text(&self) -> String {
        without_tags(&self.text_as_written())
    }

    /// [`Chapter::text`] with whatever the agent wrote.
    fn text_as_written(&self) -> String {
        let name = self.name.split_whitespace().collect::<Vec<_>>().join(" ");
        let path = format!("/chapters/{}/", self.slug);
        match self.form {
            Form::Full => format!("Chapter \"{name}\" ({path})\n\n{}", self.message.trim()),
            Form::Name => format!("Chapter \"{name}\" ({path})"),
            Form::Path => path,
        }
    }

    /// The texts that contexts have shown in its place: earlier ones had it as the agent wrote it.
    pub fn texts(&self) -> Vec<String> {
        vec![self.text(), self.text_as_written()]
    }

    /// [`Chapter::text`] as a message. It is the agent's own, but no answer.
    pub fn shown(&self) -> Message {
        Message::text(Role::Custom, self.text())
    }

    /// `summary.md`.
    pub fn summary(&self) -> String {
        format!("# {}\n\n{}\n", self.name, self.message)
    }
}

/// Returns true if a text looks like [`Chapter::text`], with a number before it or without. Only the chapters
/// themselves can tell whether it is one.
pub fn may_be_shown(text: &str) -> bool {
    let rest = numbered(text).map_or(text, |(_, rest)| rest).trim_start();
    rest.starts_with("Chapter \"") || rest.starts_with("/chapters/")
}

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod tests;
