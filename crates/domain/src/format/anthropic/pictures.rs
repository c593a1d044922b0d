//! Pictures and documents by number, pages and size: a request may have a hundred of them, and a hundred pages; six hundred
//! where the model's window is larger than 200,000 tokens. Where there are more than twenty pictures, none may be large.

use super::sent::{Sent, each_block};
use crate::format::note_code::NoteCode;
use crate::format::outgoing::Notes;
use crate::format::refused::{AnthropicMedium, anthropic_not_shown};
use crate::format::violation_code::ViolationCode;
use crate::format::write::ItemFault;

/// How many pictures and documents a request may have, and how many pages, whatever the model.
pub const MOST: usize = 100;
/// How many pictures of any size a request may have.
const MOST_LARGE: usize = 20;
/// The longest side in pixels of one picture among more.
const MAX_SIDE: u32 = 2_000;

/// [`MOST`] for a model with a window of so many tokens.
pub fn most(window: u32) -> usize {
    if window > 200_000 { 600 } else { MOST }
}

/// A picture or document of a request.
struct Shown {
    /// Its place among the messages.
    message: usize,
    is_large: bool,
    is_image: bool,
    /// Why it goes.
    gone: Option<ViolationCode>,
}

/// Leaves the newest pictures and documents; a text stands in the place of each of the others.
pub fn bound(sent: &mut [Sent], most: usize, notes: &mut Notes<'_>) {
    let mut shown = newest_first(sent, most);
    let is_kept = |one: &Shown| one.is_image && one.gone.is_none();
    let pictures = shown.iter().filter(|one| is_kept(one)).count();
    let large = shown.iter_mut().rev().filter(|one| is_kept(one) && one.is_large);
    large.take(pictures.saturating_sub(MOST_LARGE)).for_each(|one| one.gone = Some(ViolationCode::MediaTooLarge));
    shown.reverse();
    for of_message in shown.chunk_by(|one, other| one.message == other.message) {
        if let Some(message) = of_message.first().and_then(|first| sent.get_mut(first.message)) {
            leave_out(message, of_message, most, notes);
        }
    }
}

/// All of them, judged by their number and pages.
fn newest_first(sent: &[Sent], most: usize) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut room = most;
    let holds = |message: &&Sent| ["\"image\"", "\"document\""].iter().any(|sign| message.text.contains(sign));
    for (place, message) in sent.iter().enumerate().rev().filter(|(_, message)| holds(message)) {
        let mut blocks = Vec::new();
        each_block(&mut message.value(), &mut |block| {
            if AnthropicMedium::of(block).is_some() {
                blocks.push(std::mem::take(block));
            }
        });
        for medium in blocks.iter().rev().filter_map(AnthropicMedium::of) {
            let mut gone = (shown.len() >= most).then_some(ViolationCode::TooManyMedia);
            if gone.is_none() && !medium.is_image {
                let pages = usize::try_from(medium.pages()).unwrap_or(usize::MAX);
                match room.checked_sub(pages) {
                    Some(left) => room = left,
                    None => gone = Some(ViolationCode::TooManyPages),
                }
            }
            let is_large = gone.is_none() && medium.side() > MAX_SIDE;
            shown.push(Shown { message: place, is_large, is_image: medium.is_image, gone });
        }
    }
    shown
}

/// Puts a text in the place of each that goes. `shown`: all of the message, in their order.
fn leave_out(message: &mut Sent, shown: &[Shown], most: usize, notes: &mut Notes<'_>) {
    let mut reasons: Vec<ViolationCode> = shown.iter().filter_map(|one| one.gone).collect();
    reasons.dedup();
    if reasons.is_empty() {
        return;
    }
    let (mut value, mut of_message) = (message.value(), shown.iter());
    each_block(&mut value, &mut |block| {
        let Some(is_image) = AnthropicMedium::of(block).map(|medium| medium.is_image) else { return };
        if of_message.next().is_some_and(|one| one.gone.is_some()) {
            *block = anthropic_not_shown(if is_image { "image" } else { "document" }, block);
        }
    });
    message.text = value.to_string();
    notes.entry = message.entry;
    for code in reasons {
        let detail = match code {
            ViolationCode::TooManyPages => format!("a request has {most} pages of documents at most"),
            ViolationCode::MediaTooLarge => {
                format!("among more than {MOST_LARGE} images none has a side of more than {MAX_SIDE} pixels")
            }
            _ => format!("a request has {most} images and documents at most"),
        };
        notes.add_fault(NoteCode::MediaDropped, ItemFault::Refused(code), detail);
    }
}
