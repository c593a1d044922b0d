//! What a rule finds, and what takes its place.

use regex::Regex;

/// A secret in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub start: usize,
    pub end: usize,
    pub kind: &'static str,
}

/// What stands in place of a secret.
pub(super) fn mark(kind: &str, place: Option<&str>) -> String {
    match place {
        Some(place) => format!("[redacted: {kind}, {place}]"),
        None => format!("[redacted: {kind}]"),
    }
}

/// A pattern of ours. Word boundaries and digits are ASCII's: secrets are, and Unicode's are slow.
pub(super) fn compiled(pattern: &str) -> Option<Regex> {
    let pattern = pattern.replace(r"\b", r"(?-u:\b)").replace(r"\d", "[0-9]");
    Regex::new(&pattern).ok()
}
