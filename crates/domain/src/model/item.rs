//! One item of a transcript, read, and the fault of one that can't be.

use crate::model::entry_type::EntryType;
use crate::model::message::{Message, Stop};
use crate::model::usage::ReportedUsage;

/// One item, read: what it is and what it says. Made by [`read`].
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub kind: EntryType,
    /// `None` for entries that say nothing to the model (labels, model changes, a pi header …).
    pub message: Option<Message>,
    /// The id that the item came with.
    pub source_id: Option<String>,
    /// pi only: the `parentId` that it came with. `Some(None)` is a root.
    pub source_parent: Option<Option<String>>,
    /// Usage reported inside the item itself (Anthropic and pi messages).
    pub usage: Option<ReportedUsage>,
    pub stop: Option<Stop>,
    /// The item can't be sent back verbatim in its own format; see [`crate::model::shape::Shape::needs_repair`].
    pub needs_repair: bool,
}

/// An item that its format can't hold: where in the item, and why. Shown to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct ItemError {
    /// JSON pointer inside the item ("" is the item itself).
    pub pointer: String,
    pub detail: String,
}

impl Item {
    /// An item that is one message and carries nothing else.
    pub fn of_message(message: Message, needs_repair: bool) -> Item {
        Item {
            kind: EntryType::Message,
            stop: message.stop,
            message: Some(message),
            source_id: None,
            source_parent: None,
            usage: None,
            needs_repair,
        }
    }
}

impl ItemError {
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> ItemError {
        ItemError { pointer: pointer.into(), detail: detail.into() }
    }
}
