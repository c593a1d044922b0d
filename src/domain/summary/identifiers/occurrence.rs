//! Where an identifier stands in a text.

use crate::domain::summary::text::one_line;

/// Returns true if the identifier stands in the text by itself, not as part of a longer word or number.
pub fn stands_in(text: &str, identifier: &str) -> bool {
    text.match_indices(identifier).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + identifier.len()..].chars().next();
        let inside = |c: Option<char>, edge: Option<char>| {
            c.is_some_and(char::is_alphanumeric) && edge.is_some_and(char::is_alphanumeric)
        };
        !inside(before, identifier.chars().next()) && !inside(after, identifier.chars().next_back())
    })
}

/// A text in which words of the user's are looked for: one line, in lower case, without the marks by which our own
/// delimiters were taken out of it.
pub(super) fn flat(text: &str) -> String {
    let line = one_line(text).to_lowercase();
    if line.contains(['&', '\\']) { line.replace("&lt;", "<").replace("\\[", "[") } else { line }
}

/// Returns true if words of the user's stand in a [`flat`] text.
pub(super) fn quoted_in(told: &str, words: &str) -> bool {
    told.contains(flat(words).trim_end_matches(['.', '!', '…']))
}
