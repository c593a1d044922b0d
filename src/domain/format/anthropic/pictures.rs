//! Pictures by their number: a request may have a hundred, and six hundred where the model's window is larger than 200,000
//! tokens.

use serde_json::Value;

use super::sent::{Sent, each_block};
use crate::domain::format::note_code::NoteCode;
use crate::domain::format::outgoing::Notes;
use crate::domain::format::refused::anthropic_not_shown;
use crate::domain::format::violation_code::ViolationCode;
use crate::domain::format::write::ItemFault;

/// How many pictures a request may have, whatever the model.
pub const MOST: usize = 100;

/// How many pictures a request may have for a model with a window of so many tokens.
pub fn most(window: u32) -> usize {
    if window > 200_000 { 600 } else { MOST }
}

/// Leaves the newest pictures; a text stands in the place of each of the others.
pub fn bound(sent: &mut [Sent], most: usize, notes: &mut Notes<'_>) {
    let mut room = most;
    for message in sent.iter_mut().rev().filter(|message| message.text.contains("\"image\"")) {
        let mut value = message.value();
        let mut pictures = 0;
        each_block(&mut value, &mut |block| pictures += usize::from(is_picture(block)));
        let mut gone = pictures.saturating_sub(room);
        room = room.saturating_sub(pictures);
        if gone == 0 {
            continue;
        }
        each_block(&mut value, &mut |block| {
            if gone > 0 && is_picture(block) {
                gone -= 1;
                *block = anthropic_not_shown("image", block);
            }
        });
        message.text = value.to_string();
        notes.entry = message.entry;
        let fault = ItemFault::Refused(ViolationCode::TooManyMedia);
        notes.add_fault(NoteCode::MediaDropped, fault, format!("a request has {most} images at most"));
    }
}

fn is_picture(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind == "image")
}
