//! Finding what is new in a transcript that is posted whole.
//!
//! Transcripts rarely come back as they were stored, word for word: a client posts the rebuilt context, in another
//! format perhaps, with messages merged or split, results elided, calls renamed and texts of our own in between. So
//! both sides are taken apart into [`fragments`] and the fragments are aligned in order.

mod align;
mod calls;
mod chapters;
pub mod claude_code_file;
pub mod codex_lines;
mod enclosed;
mod fragments;
mod lines;
mod media;
mod own;
pub mod pi_export;
mod retold;
mod running;
mod trimmed;
mod words;

use std::collections::HashMap;

use crate::model::message::{Message, Role};
use crate::model::user_text::name_of;

pub use align::align;
pub use calls::{is_id, sent_ids, without_count};
pub use chapters::{ShownBesides, Standing};
pub use enclosed::{EnclosedSummary, element_key, enclosed_summaries};
pub use lines::{TextKey, text_key};
pub use own::{StoredCalls, StoredResult, attachments, is_opening, is_synthetic, whole_again};
pub use running::without_running;
pub use trimmed::starts;
pub use words::{cut_entry, put_whole_words};

/// One stored entry that the posted transcript is expected to say, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedEntry {
    pub said: Said,
    /// A user's message, which a context may show with a number in front.
    pub is_task: bool,
    /// Sizes in tokens that contexts gave its results when they left them out, by call id.
    pub sizes: HashMap<String, Vec<u32>>,
}

impl ExpectedEntry {
    fn sizes_of(&self, call_id: &str) -> &[u32] {
        self.sizes.get(call_id).map(Vec::as_slice).unwrap_or_default()
    }

    /// The name that a user's message came with.
    fn speaker(&self) -> Option<String> {
        match &self.said {
            Said::Message(message) if message.role == Role::User => message.name().map(name_of),
            _ => None,
        }
    }

    /// Returns true if `block` is the place right behind the message's last block, where there is no block.
    fn is_behind(&self, block: usize) -> bool {
        matches!(&self.said, Said::Message(message) if message.content.len() == block)
    }
}

/// Content of an item: a message, or nothing to a model.
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
