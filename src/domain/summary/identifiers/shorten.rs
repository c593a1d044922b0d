//! A long message by its head and tail, what is left out between them stated.

use uuid::Uuid;

use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::summary::text::{quarters, within};

/// Of a longer message, head and tail are carried: two thirds and one.
const MAX_CHARS: usize = 2_400;
/// What is cut shorter than this, in quarter tokens, says nothing.
const LEAST: usize = 80;
/// What the statement of what is left out takes, in quarter tokens.
const GAP_ROOM: usize = 100;
/// The least that a long message is shortened to, in quarter tokens.
pub const SHORTEST: usize = LEAST + GAP_ROOM;

/// A message's text as it is carried: whole, or head and tail with what is left out stated.
pub fn carried(said: &str, entry: Option<Uuid>) -> String {
    let said = said.trim();
    match said.char_indices().nth(MAX_CHARS) {
        None => said.to_owned(),
        Some((end, _)) => {
            let left_out = said[end..].chars().count();
            let (head, rest) = parted(said, MAX_CHARS / 3 * 2);
            format!("{head}{}{}", gap(left_out, entry), parted(rest, left_out).1)
        }
    }
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

/// A carried message in at most `room` quarter tokens. `None`: there is room for nothing that says anything.
pub fn fitted(message: &TrackedIdentifier, room: usize) -> Option<String> {
    let text = message.text.as_str();
    if quarters(text) <= room {
        return Some(text.to_owned());
    }
    let room = room.checked_sub(GAP_ROOM).filter(|room| *room >= LEAST)?;
    let (whole_head, left_out, whole_tail) = at_gap(text);
    let head = within(whole_head, room / 3 * 2);
    let rest = &whole_head[head.len()..];
    let tail = end_within(if whole_tail.is_empty() { rest } else { whole_tail }, room / 3);
    let left_out = left_out + rest.chars().count() + whole_tail.chars().count() - tail.chars().count();
    Some(format!("{head}{}{tail}", gap(left_out, message.entry)))
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENTRY: Uuid = Uuid::from_u128(7);

    fn request(said: &str, entry: Option<Uuid>) -> TrackedIdentifier {
        TrackedIdentifier::request(carried(said, entry), entry)
    }

    #[test]
    fn long_ones_are_told_by_head_and_tail() {
        let said = format!("{}THE END", "many words ".repeat(900));
        let request_of = request(&said, Some(ENTRY));
        let (head, left_out, tail) = at_gap(&request_of.text);
        assert!(said.starts_with(head) && said.ends_with(tail) && tail.ends_with("THE END"));
        assert_eq!(head.len() + left_out + tail.len(), said.len());
        assert_eq!(head.len() + tail.len(), MAX_CHARS);
        assert!(request_of.text.contains(&ENTRY.to_string()));
        let shorter = fitted(&request_of, 600).unwrap();
        let (head, left_out, tail) = at_gap(&shorter);
        assert!(quarters(&shorter) <= 600 && said.starts_with(head) && said.ends_with(tail), "{shorter}");
        assert_eq!(head.len() + left_out + tail.len(), said.len());
        assert_eq!(fitted(&request_of, 100), None);
        let whole = request("fix it", None);
        assert_eq!((whole.text.as_str(), fitted(&whole, 6)), ("fix it", Some("fix it".to_owned())));
    }

    proptest! {
        #[test]
        fn what_is_left_out_is_counted(said in "([a-zé日 ]{1,40}\n?){0,90}", room in 0_usize..3_000) {
            let request = request(&said, Some(ENTRY));
            if let Some(text) = fitted(&request, room) {
                prop_assert!(quarters(&text) <= room);
                let (head, left_out, tail) = at_gap(&text);
                prop_assert_eq!(head.chars().count() + left_out + tail.chars().count(), said.trim().chars().count());
                prop_assert!(said.trim().starts_with(head) && said.trim().ends_with(tail));
            }
        }
    }
}
