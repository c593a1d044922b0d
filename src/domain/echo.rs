//! Finding what is new in a transcript that is posted whole.
//!
//! What comes back is rarely what was stored, word for word: a client posts the rebuilt context, in another format
//! perhaps, with messages merged or split, results elided, calls renamed and texts of our own in between. So both sides
//! are taken apart into [`atoms`] and the atoms are aligned in order.

mod align;
mod atoms;
mod chapters;
mod own;
mod retold;

use super::message::Message;

pub use align::align;
pub use chapters::{Shown, Standing};
pub use own::{Originals, is_own, same_text, whole_again};

/// One stored entry that the posted transcript is expected to say, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub said: Said,
    /// A user's message, which a context may show with a number in front.
    pub is_task: bool,
}

/// What an item says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    Message(Message),
    /// Nothing to a model: the item itself, as JSON text.
    Nothing(String),
}

/// How a posted transcript relates to the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Leading posted items that are stored.
    pub matched: usize,
    /// Leading stored steps that the posted transcript says; fewer than there are: it departs there, or ends early.
    pub steps: usize,
    /// Of the first item that is not matched: blocks that are stored already. They lead the message and are results.
    pub stored_blocks: usize,
    /// The last number that a task or a chapter of the matched items carries.
    pub number: Option<usize>,
}

#[cfg(test)]
mod tests;
