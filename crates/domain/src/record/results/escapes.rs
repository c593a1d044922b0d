//! Sequences that a terminal takes as orders, in what a program printed.

use std::sync::LazyLock;

use regex::Regex;

/// Begins a sequence that a terminal takes as an order.
const ESCAPE: char = '\u{1b}';
static ESCAPES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])").ok());

/// A text without the sequences by which a program colours it.
pub fn without_escapes(text: String) -> String {
    match &*ESCAPES {
        Some(escapes) if text.contains(ESCAPE) => escapes.replace_all(&text, "").into_owned(),
        _ => text,
    }
}
