//! Messages that contexts show by head and tail, as clients post them back.

use uuid::Uuid;

use crate::context::placeholder::{named_entry, shows_words_of};
use crate::model::message::{Block, Message, Role};

/// The entry whose words a message says that it shows by head and tail.
pub fn cut_entry(message: &Message) -> Option<Uuid> {
    let is_cut = matches!(message.role, Role::Assistant | Role::User);
    message.content.iter().filter(|_| is_cut).find_map(|block| match block {
        Block::Text { text, .. } => named_entry(text),
        _ => None,
    })
}

/// Puts the whole texts of that entry in the place of those that are shown by head and tail. One that merely looks like
/// it stays.
pub fn put_whole_words(message: &mut Message, id: Uuid, stored: &Message) {
    let mut originals = stored.content.iter();
    for block in &mut message.content {
        let Block::Text { text, .. } = block else { continue };
        if named_entry(text) != Some(id) {
            continue;
        }
        let whole = originals.find_map(|block| match block {
            Block::Text { text: whole, .. } if shows_words_of(text, id, whole) => Some(whole),
            _ => None,
        });
        if let Some(whole) = whole {
            text.clone_from(whole);
        }
    }
}
