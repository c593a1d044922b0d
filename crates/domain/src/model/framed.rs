//! The elements around every summary message of this service, and how such a message is told from speech.

pub const OPEN: &str = "<context-summary>";
pub const CLOSE: &str = "</context-summary>";

/// Returns true if a text is a summary message of this service, as a client posts it back with its transcript.
pub fn is_framed(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with(CLOSE) && (text.starts_with(OPEN) || text.contains(&format!("\n{OPEN}\n")))
}
