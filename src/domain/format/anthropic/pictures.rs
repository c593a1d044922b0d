//! Pictures by their number: a request may have a hundred, and six hundred where the model's window is larger than 200,000
//! tokens.

use serde_json::Value;

use super::sent::{Sent, keep_newest};
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
    let leave_out = |block: &mut Value| *block = anthropic_not_shown("image", block);
    keep_newest(sent, "\"image\"", most, is_picture, leave_out, |entry| {
        notes.entry = entry;
        let fault = ItemFault::Refused(ViolationCode::TooManyMedia);
        notes.add_fault(NoteCode::MediaDropped, fault, format!("a request has {most} images at most"));
    });
}

fn is_picture(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind == "image")
}
