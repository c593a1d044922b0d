//! The user's newest requests, which outlive every summary word for word.

use std::collections::VecDeque;

use uuid::Uuid;

use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::domain::summary::text::{quarters, within};

/// Requests that a context always shows. A mere "yes" or "go on" is shown as well, and counts for none.
const WANTED: usize = 3;
/// With those.
const MOST: usize = 6;
/// Newest messages of the user's that are looked at.
const HEARD: usize = 16;
/// Of a longer request, head and tail are carried: two thirds and one.
const MAX_CHARS: usize = 1_500;
/// What is cut shorter than this, in quarter tokens, says nothing.
const LEAST: usize = 80;
/// What the statement of what is left out takes, in quarter tokens.
const GAP_ROOM: usize = 100;

/// The newest requests of a path, as its messages pass, oldest first.
#[derive(Debug, Default)]
pub struct Requests(VecDeque<Request>);

#[derive(Debug)]
struct Request {
    carried: TrackedIdentifier,
    /// Its own message is in the new context.
    stands: bool,
}

impl Requests {
    /// Takes in the user's next message.
    pub fn note(&mut self, said: &str, entry: Option<Uuid>, stands: bool) {
        let carried = carried(said, entry);
        // Said again, it is as new as that.
        self.0.retain(|request| request.carried.text != carried.text);
        self.0.push_back(Request { carried, stands });
        if self.0.len() > HEARD {
            self.0.pop_front();
        }
    }

    /// Returns those that a summary has to carry, oldest first; `earlier` ones were carried before these were said.
    pub fn into_carried(self, earlier: &[TrackedIdentifier]) -> Vec<TrackedIdentifier> {
        let again = |one: &TrackedIdentifier| self.0.iter().any(|request| request.carried.text == one.text);
        let earlier = earlier.iter().filter(|one| one.kind == IdentifierKind::Request && !again(one));
        let earlier: Vec<Request> = earlier.map(|one| Request { carried: one.clone(), stands: false }).collect();
        let (mut wanted, mut carried) = (0, Vec::new());
        for request in earlier.into_iter().chain(self.0).rev().take(MOST) {
            if wanted == WANTED {
                break;
            }
            wanted += usize::from(!is_brief(&request.carried.text));
            if !request.stands {
                carried.push(request.carried);
            }
        }
        carried.reverse();
        carried
    }
}

/// A word or two of assent or the like, in any language.
fn is_brief(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    let unspaced = text.chars().any(|c| c > '\u{2e80}' && c.is_alphabetic());
    if unspaced { letters < 5 } else { letters < 16 && text.split_whitespace().count() < 3 }
}

/// A request as it is carried: whole, or head and tail with what is left out stated.
fn carried(said: &str, entry: Option<Uuid>) -> TrackedIdentifier {
    let said = said.trim();
    let text = match said.char_indices().nth(MAX_CHARS) {
        None => said.to_owned(),
        Some((end, _)) => {
            let left_out = said[end..].chars().count();
            let (head, rest) = parted(said, MAX_CHARS / 3 * 2);
            format!("{head}{}{}", gap(left_out, entry), parted(rest, left_out).1)
        }
    };
    TrackedIdentifier::request(text, entry)
}

fn parted(text: &str, chars: usize) -> (&str, &str) {
    text.split_at(text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at))
}

const GAP: &str = "\n[… ";
const LEFT_OUT: &str = " characters left out";
const GAP_END: &str = " …]\n";

fn gap(left_out: usize, entry: Option<Uuid>) -> String {
    let whole = entry.map(|entry| format!(", whole in entry {entry}")).unwrap_or_default();
    format!("{GAP}{left_out}{LEFT_OUT}{whole}{GAP_END}")
}

/// A carried request in at most `room` quarter tokens. `None`: there is room for nothing that says anything.
pub fn fitted(request: &TrackedIdentifier, room: usize) -> Option<String> {
    let text = request.text.as_str();
    if quarters(text) <= room {
        return Some(text.to_owned());
    }
    let room = room.checked_sub(GAP_ROOM).filter(|room| *room >= LEAST)?;
    let (whole_head, left_out, whole_tail) = at_gap(text);
    let head = within(whole_head, room / 3 * 2);
    let rest = &whole_head[head.len()..];
    let tail = end_within(if whole_tail.is_empty() { rest } else { whole_tail }, room / 3);
    let left_out = left_out + rest.chars().count() + whole_tail.chars().count() - tail.chars().count();
    Some(format!("{head}{}{tail}", gap(left_out, request.entry)))
}

/// Head, characters left out, and tail; all is head where nothing is left out.
fn at_gap(text: &str) -> (&str, usize, &str) {
    let parts = text.rsplit_once(GAP).and_then(|(head, rest)| {
        let (left_out, rest) = rest.split_once(LEFT_OUT)?;
        Some((head, left_out.parse().ok()?, rest.split_once(GAP_END)?.1))
    });
    parts.unwrap_or((text, 0, ""))
}

/// The longest end of at most this many quarter tokens.
fn end_within(text: &str, max_quarters: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += if c.is_ascii() { 1 } else { 4 };
        if used > max_quarters {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests;
