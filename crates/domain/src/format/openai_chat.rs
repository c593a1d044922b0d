//! Chat Completions messages, and what its many imitators send under that name.
//!
//! Fields of a message that say how the model thought (`reasoning_content`, `reasoning`, `reasoning_details`) travel
//! as one opaque [`Thinking`](crate::model::message::Block::Thinking) block and come back as they were.

mod read;
mod write;

use std::borrow::Cow;

use super::outgoing;

pub use read::read;
pub use write::write;

/// Message fields in which imitators of the API put the model's thinking, the readable ones first.
pub const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];
/// The most characters of the id of a call that the API takes.
const MAX_ID: usize = 40;
/// The longest name of a tool that the API takes.
pub(super) const MAX_NAME: usize = 64;

/// The id itself where the API takes it, else one derived from it, the same for a call and its result.
pub(super) fn call_id(id: &str) -> Cow<'_, str> {
    match id.chars().count() <= MAX_ID {
        true => Cow::Borrowed(id),
        false => outgoing::word(id, MAX_ID),
    }
}

/// How the user message begins that holds what a tool message can't.
pub const ATTACHED: &str = "Attached to the result of tool call ";
/// Text in the tool message that points to that user message.
pub const ATTACHMENT_FOLLOWS: &str = "(the attachment follows in a user message)";

#[cfg(test)]
mod tests;
