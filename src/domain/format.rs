//! The formats that transcripts come in and contexts go out in.
//!
//! `read` turns one raw item into a normalised one; `write` turns a planned view into a provider's messages.
//! Each format has one file under `format/` that does both.

pub mod anthropic;
#[cfg(test)]
pub(in crate::domain) mod corpus;
pub mod field;
mod keys;
pub mod native;
pub mod openai_chat;
pub mod openai_responses;
pub(in crate::domain) mod outgoing;
pub mod pi;
pub mod write;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use self::write::{Note, Piece};
use super::entry::EntryType;
use super::json;
use super::message::{Message, Stop};
use super::usage::ReportedUsage;

/// A wire format, named as in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Native,
    OpenaiChat,
    OpenaiResponses,
    Anthropic,
    Pi,
}

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
    /// The item can't be sent back verbatim in its own format; see [`super::shape::Shape::needs_repair`].
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

/// Reads one raw item. Unknown keys and unknown blocks are kept, never refused.
///
/// # Errors
/// Text that is not JSON, an item of the wrong kind, or a known field of the wrong type.
pub fn read(format: Format, raw: &str) -> Result<Item, ItemError> {
    let value = json::parse_lenient(raw).map_err(|error| ItemError::new("", error.to_string()))?;
    match format {
        Format::Native => native::read(&value),
        Format::OpenaiChat => openai_chat::read(&value),
        Format::OpenaiResponses => openai_responses::read(&value),
        Format::Anthropic => anthropic::read(&value),
        Format::Pi => pi::read(&value),
    }
}

/// The JSON texts of the target's messages, in order. `pieces` come from [`super::pairing::pieces`] for the same
/// format; what the format can't say is added to `notes`.
pub fn write(format: Format, pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    match format {
        Format::Native => native::write(pieces, notes),
        Format::OpenaiChat => openai_chat::write(pieces, notes),
        Format::OpenaiResponses => openai_responses::write(pieces, notes),
        Format::Anthropic => anthropic::write(pieces, notes),
        Format::Pi => pi::write(pieces, notes),
    }
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

impl Format {
    pub const ALL: [Format; 5] =
        [Format::Native, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Pi];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Native => "native",
            Format::OpenaiChat => "openai_chat",
            Format::OpenaiResponses => "openai_responses",
            Format::Anthropic => "anthropic",
            Format::Pi => "pi",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == name)
    }
}
