//! Secrets that the text around them gives away.

use std::sync::LazyLock;

use regex::Regex;

use super::found::{Found, compiled};
use super::guard::{is_password, is_random, is_reference, is_token, is_wordy};

/// The table of patterns.
pub(super) const TABLE: &str = include_str!("patterns.tsv");

struct Pattern {
    kind: &'static str,
    regex: Regex,
    check: fn(&str) -> bool,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| TABLE.lines().filter_map(read).collect());

fn read(row: &'static str) -> Option<Pattern> {
    let mut cells = row.split('\t').map(str::trim);
    let (kind, regex) = (cells.next().filter(|kind| !kind.starts_with('#'))?, compiled(cells.next()?)?);
    let check = match cells.next()? {
        "password" => is_password,
        "random" => is_random,
        "token" => |value: &str| is_token(value) && !is_reference(value),
        "argument" => |value: &str| !is_wordy(value) && is_password(value),
        _ => |_: &str| true,
    };
    Some(Pattern { kind, regex, check })
}

/// Finds what stands where a secret stands.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    for pattern in PATTERNS.iter() {
        let secrets = pattern.regex.captures_iter(text).filter_map(|captures| captures.get(1));
        let real = secrets.filter(|secret| (pattern.check)(secret.as_str()));
        found.extend(real.map(|secret| Found { start: secret.start(), end: secret.end(), kind: pattern.kind }));
    }
}

/// How many patterns the table has, and how many were understood.
#[cfg(test)]
pub(super) fn read_rows() -> (usize, usize) {
    (TABLE.lines().filter(|row| !row.starts_with('#')).count(), PATTERNS.len())
}
