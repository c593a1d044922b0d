//! A user's own words around a document that was pasted.

/// Longer user messages are pasted documents: their rules are the document's.
const MAX_MESSAGE: usize = 8_000;
/// A longer paragraph at the edge belongs to what was pasted.
const MAX_PARAGRAPH: usize = 1_500;

/// The text, or of a long one its first and its last paragraph, where they are short enough to have been typed.
pub fn own_words(text: &str) -> Vec<&str> {
    let text = text.trim();
    if text.len() <= MAX_MESSAGE {
        return vec![text];
    }
    let first = text.split("\n\n").next();
    let last = text.rsplit("\n\n").next();
    first.into_iter().chain(last).filter(|paragraph| paragraph.len() <= MAX_PARAGRAPH).collect()
}
