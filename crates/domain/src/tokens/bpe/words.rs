//! Ordinary words, found without the splitting pattern and looked up without encoding.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A vocabulary. It is fixed, so nobody can fill it with keys that collide.
pub type Words = HashSet<&'static [u8], BuildHasherDefault<WordHasher>>;

/// The piece that `text` starts with, where it is an ASCII word in lower case or capitalised, with or without a space
/// before it, and what follows can't belong to it: no letter, no mark, no apostrophe. Both encodings split it off so.
pub fn leading_word(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let start = usize::from(bytes.first() == Some(&b' '));
    let from = start + usize::from(bytes.get(start).is_some_and(u8::is_ascii_uppercase));
    let lower = bytes.get(from..)?.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let end = from + lower;
    let ends = bytes.get(end).is_none_or(|next| next.is_ascii() && !next.is_ascii_alphabetic() && *next != b'\'');
    if lower > 0 && ends { text.get(..end) } else { None }
}

/// Multiplies in eight bytes at a time: words are short.
#[derive(Debug, Default, Clone, Copy)]
pub struct WordHasher(u64);

const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

impl WordHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        self.add(rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    }

    fn write_usize(&mut self, length: usize) {
        self.add(length as u64);
    }

    /// The table takes its place from the low bits, which a product mixes least.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::leading_word;

    #[test]
    fn a_word_that_may_go_on_is_left_to_the_pattern() {
        let cases = [
            ("word", Some("word")),
            (" Word. More", Some(" Word")),
            ("Word(", Some("Word")),
            ("it's", None),
            ("wordŚ", None),
            ("nai\u{308}ve", None),
            ("camelCase", None),
            ("A", None),
            ("  word", None),
            ("\tword", None),
            ("'s ", None),
            ("7th", None),
            ("", None),
        ];
        for (text, word) in cases {
            assert_eq!(leading_word(text), word, "{text:?}");
        }
    }
}
