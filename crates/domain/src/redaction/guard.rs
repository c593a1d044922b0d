//! What looks like a secret and is none: placeholders, references, fixtures, plain words.

use std::sync::LazyLock;

/// A value with less information than this, in bits for each character, was typed to fill a place.
const LEAST_ENTROPY: f64 = 2.5;
/// What is made by chance has more.
const RANDOM_ENTROPY: f64 = 3.0;
/// Made by chance: at least so many characters, and so many in a row without punctuation.
const RANDOM_CHARS: usize = 12;
const RANDOM_PIECE: usize = 8;
/// Least of [`chance`]: names of code have capitals at the beginnings of their words alone, and few digits.
const RANDOM_CHANCE: usize = 28;
/// Letters and digits that are left of a password once its fillers are taken out.
const LEAST_LEFT: usize = 4;
/// Longer values are looked at up to here.
const LOOKED_AT: usize = 4_096;

/// What makes a value one that somebody has to replace.
const PLACEHOLDERS: [&str; 19] = [
    "example",
    "placeholder",
    "your",
    "xxxx",
    "dummy",
    "changeme",
    "change_me",
    "redacted",
    "replace",
    "insert",
    "sample",
    "1234567890",
    "0123456789",
    "abcdefgh",
    "****",
    "...",
    "…",
    "••",
    "deadbeef",
];

/// Words that fixtures and defaults are made of.
static FILLERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut words: Vec<&str> = include_str!("fillers.txt").lines().filter(|line| !line.starts_with('#')).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words
});

/// Returns true if it may be a token: neither a placeholder nor too regular.
pub(super) fn is_token(value: &str) -> bool {
    entropy(value) >= LEAST_ENTROPY && !is_placeholder(value) && !is_run(value)
}

/// Returns true if it looks made by chance, as names of code and words do not.
pub(super) fn is_random(value: &str) -> bool {
    let pieces = value.split(|c: char| !c.is_ascii_alphanumeric());
    let longest = pieces.map(str::len).max().unwrap_or(0);
    value.len() >= RANDOM_CHARS
        && longest >= RANDOM_PIECE
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && chance(value) >= RANDOM_CHANCE
        && entropy(value) >= RANDOM_ENTROPY
        && !is_reference(value)
        && is_token(value)
}

/// Returns true if it may be a password: no reference, no placeholder, and more than the words of fixtures.
pub(super) fn is_password(value: &str) -> bool {
    let varied = value.bytes().any(|byte| Some(byte) != value.bytes().next());
    varied && !is_reference(value) && !is_placeholder(value) && left(value) >= LEAST_LEFT
}

/// Returns true if it is words alone, as names and prose are.
pub(super) fn is_wordy(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || matches!(c, '_' | '-' | '.' | '/' | ':' | ' '))
}

/// Returns true if it names where the secret is kept, or is a value of another kind.
pub(super) fn is_reference(value: &str) -> bool {
    const BEGINS: [&str; 22] = [
        "$", "%", "{", "<", "*", "/", "./", "../", "~/", "@", "&", "#", "op://", "arn:", "vault:", "ref+", "file:",
        "env:", "env.", "process.", "os.", "secrets.",
    ];
    const HOLDS: [&str; 9] = ["${", "{{", "$(", "://", "[redacted", "getenv", ".env", "](", "=>"];
    let number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && value.len() < 8;
    number
        || BEGINS.iter().any(|begin| value.starts_with(begin))
        || HOLDS.iter().any(|part| value.contains(part))
        || is_call(value)
}

/// `name(`, `a.b(`, `Type<`, `list[`: code that gives the value.
fn is_call(value: &str) -> bool {
    let name =
        value.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '?' | '!'));
    name.len() < value.len() && name.starts_with(['(', '[', '<'])
}

fn is_placeholder(value: &str) -> bool {
    let lower = head(value).to_lowercase();
    PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// Returns true if most of it is one character.
fn is_run(value: &str) -> bool {
    let same = value.bytes().zip(value.bytes().skip(1)).filter(|(a, b)| a == b).count();
    same * 2 > value.len()
}

/// How many letters and digits are left without fillers.
fn left(value: &str) -> usize {
    let lower = head(value).to_lowercase();
    let (mut rest, mut left) = (lower.as_str(), 0);
    while let Some(next) = rest.chars().next() {
        let filler = FILLERS.iter().find(|word| rest.starts_with(**word));
        let skipped = filler.map_or_else(|| next.len_utf8(), |word| word.len());
        left += usize::from(filler.is_none() && next.is_alphanumeric());
        rest = rest.get(skipped..).unwrap_or_default();
    }
    left
}

/// How much it looks made by chance, in percent: of the steps from one letter or digit to the next, those to a capital and
/// those between letters and digits, and half of the share of digits. Capitals in a row count where there are small letters.
fn chance(value: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let bytes = head(value).as_bytes();
    let steps = bytes.windows(2).map(|pair| (class(pair[0]), class(pair[1]))).filter(|(a, b)| *a > 0 && *b > 0);
    let has_small = bytes.iter().any(u8::is_ascii_lowercase);
    let changes = |(a, b)| a != b && (a, b) != (2, 1) || (a, b) == (2, 2) && has_small;
    let (all, changed) = steps.fold((0, 0), |(all, changed), step| (all + 1, changed + usize::from(changes(step))));
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    changed * 100 / std::cmp::max(all, 1) + digits * 50 / std::cmp::max(bytes.len(), 1)
}

/// Shannon's, in bits for each byte.
fn entropy(value: &str) -> f64 {
    let bytes = head(value).as_bytes();
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let all = bytes.len().max(1) as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    shares.map(|share| -share * share.log2()).sum()
}

fn head(value: &str) -> &str {
    let mut end = value.len().min(LOOKED_AT);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    value.get(..end).unwrap_or_default()
}
