//! The formats that transcripts come in and contexts go out in.
//!
//! `read` turns one raw item into a normalised one; `write` turns a planned view into a provider's messages.
//! Each format has one file under `format/` that does both.

pub mod anthropic;
pub mod claude_code;
pub mod codex;
#[cfg(test)]
pub(crate) mod corpus;
pub mod field;
mod foreign;
pub mod gemini;
mod homes;
mod keys;
pub mod link;
pub mod native;
pub mod note_code;
pub mod openai_chat;
pub mod openai_responses;
mod order;
pub(crate) mod outgoing;
pub mod pi;
pub mod refused;
pub mod system;
mod tool_names;
pub mod violation_code;
pub mod write;

use std::borrow::Cow;

use serde_json::Value;

use self::link::{Link, LinkError};
use self::note_code::NoteCode;
use self::write::{Note, Piece};
use crate::model::abandoned::is_abandoned;
use crate::model::compaction::CompactionRecord;
use crate::model::format::Format;
use crate::model::item::{Item, ItemError};
use crate::model::json;
use crate::model::message::{Message, Role};
use crate::model::user_text::named;

pub use foreign::accept;
pub use order::parents_first;

/// Reads one raw item. Unknown keys and unknown blocks are kept, never refused.
///
/// # Errors
/// Text that is not JSON, an item of the wrong kind, or a known field of the wrong type.
pub fn read(format: Format, raw: &str) -> Result<Item, ItemError> {
    read_value(format, &parsed(raw)?)
}

/// [`read`] of an item that is parsed already.
///
/// # Errors
/// As [`read`], text that is not JSON aside.
pub fn read_value(format: Format, value: &Value) -> Result<Item, ItemError> {
    let (mut item, is_blank) = read_shaped(format, value)?;
    item.needs_repair |= (is_blank && format.has_provider()) || refused::is_refused(format, value);
    Ok(item)
}

/// Returns true if the item can be sent back as it is, for all that reading it tells: what its provider would refuse besides
/// is [`refused::faults`].
pub fn reads_whole(format: Format, value: &Value) -> bool {
    let whole = |(item, is_blank): (Item, bool)| !(item.needs_repair || is_blank && format.has_provider());
    read_shaped(format, value).is_ok_and(whole)
}

/// The message of one raw item, for whoever does not ask whether its provider would refuse it; `None` where it holds none.
///
/// # Errors
/// As [`read`].
pub fn read_message(format: Format, raw: &str) -> Result<Option<Message>, ItemError> {
    message_of(format, &parsed(raw)?)
}

/// [`read_message`] of an item that is parsed already.
///
/// # Errors
/// As [`read_value`].
pub fn message_of(format: Format, value: &Value) -> Result<Option<Message>, ItemError> {
    Ok(read_shaped(format, value)?.0.message)
}

fn parsed(raw: &str) -> Result<Value, ItemError> {
    stop_if_abandoned()?;
    json::parse_lenient(raw).map_err(|error| ItemError::new("", error.to_string()))
}

fn stop_if_abandoned() -> Result<(), ItemError> {
    if is_abandoned() { Err(ItemError::new("", "nobody waits for it any more")) } else { Ok(()) }
}

/// The item, and whether it names a place of a medium's bytes that is none.
fn read_shaped(format: Format, value: &Value) -> Result<(Item, bool), ItemError> {
    stop_if_abandoned()?;
    let mut item = match format {
        Format::Native => native::read(value),
        Format::OpenaiChat => openai_chat::read(value),
        Format::OpenaiResponses => openai_responses::read(value),
        Format::Anthropic => anthropic::read(value),
        Format::Gemini => gemini::read(value),
        Format::Pi => pi::read(value),
        Format::ClaudeCode => claude_code::read(value),
        Format::Codex => codex::read(value),
    }?;
    let is_blank = item.message.as_mut().is_some_and(Message::forget_blank_media);
    Ok((item, is_blank))
}

/// The items of one message, whatever stands around it: nothing is put before it.
pub fn write_alone(format: Format, message: Message, notes: &mut Vec<Note>) -> Vec<String> {
    let message = named_in(format, &message).unwrap_or(message);
    match format {
        Format::Anthropic => anthropic::spoken(None, &message, notes).iter().map(Value::to_string).collect(),
        Format::Gemini => gemini::spoken(&message, notes).iter().map(Value::to_string).collect(),
        _ => write(format, &[Piece::Message { entry: None, message }], notes),
    }
}

/// Links the lines of a file, in their order.
///
/// # Errors
/// Two lines of one id.
pub fn link(format: Format, lines: &[Value]) -> Result<Vec<Link>, LinkError> {
    match format {
        Format::Pi => pi::link(lines),
        Format::ClaudeCode => claude_code::link(lines),
        _ => Ok(vec![Link::default(); lines.len()]),
    }
}

/// The record of a compaction that a file tells of; `None` for any other line.
pub fn compaction_record(format: Format, line: &Value) -> Option<CompactionRecord> {
    match format {
        Format::Pi => pi::compaction_record(line),
        Format::ClaudeCode => claude_code::compaction_record(line),
        Format::Codex => codex::compaction_record(line),
        _ => None,
    }
}

/// The message with the name of who speaks before its words, where the format has no field for it.
fn named_in(format: Format, message: &Message) -> Option<Message> {
    if format == Format::OpenaiChat { None } else { named(message) }
}

/// Says which messages go without the name that they came with.
pub fn names_dropped(format: Format, pieces: &[Piece<'_>]) -> Vec<Note> {
    let note = |piece: &Piece<'_>| {
        let Piece::Message { entry: Some(entry), message } = piece else { return None };
        let name = message.name().filter(|_| message.role != Role::User && format != Format::OpenaiChat)?;
        Some(Note::new(NoteCode::NameDropped, Some(*entry), format!("the format has no field for the name {name:?}")))
    };
    pieces.iter().filter_map(note).collect()
}

/// The pieces as formats have them that have no field for the name of who speaks.
pub fn with_names<'p, 'a>(format: Format, pieces: &'p [Piece<'a>]) -> Cow<'p, [Piece<'a>]> {
    let with_name = |piece: &Piece<'a>| match piece {
        Piece::Message { entry, message } => {
            Some(Piece::Message { entry: *entry, message: named_in(format, message)? })
        }
        Piece::Verbatim { .. } => None,
    };
    let told: Vec<(usize, Piece<'a>)> =
        pieces.iter().enumerate().filter_map(|(at, piece)| Some((at, with_name(piece)?))).collect();
    if told.is_empty() {
        return Cow::Borrowed(pieces);
    }
    let mut all = pieces.to_vec();
    for (at, piece) in told {
        if let Some(place) = all.get_mut(at) {
            *place = piece;
        }
    }
    Cow::Owned(all)
}

/// The JSON texts of the target's messages, in order. `pieces` come from [`crate::context::pairing::pieces`] for the same
/// format; what the format can't say is added to `notes`.
pub fn write(format: Format, pieces: &[Piece<'_>], notes: &mut Vec<Note>) -> Vec<String> {
    let pieces = &*with_names(format, pieces);
    match format {
        Format::Native => native::write(pieces, notes),
        Format::OpenaiChat => openai_chat::write(pieces, notes),
        Format::OpenaiResponses => openai_responses::write(pieces, notes),
        Format::Anthropic => anthropic::write(pieces, notes),
        Format::Gemini => gemini::write(pieces, notes),
        Format::Pi => pi::write(pieces, notes),
        Format::ClaudeCode => claude_code::write(pieces, notes),
        Format::Codex => codex::write(pieces, notes),
    }
}
