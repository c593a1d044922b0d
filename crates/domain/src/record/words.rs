//! A text as words that can be compared, whatever its script.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Letters of a word that tell it from others; endings differ between forms.
const STEM: usize = 6;
/// Letters of the shortest word that tells something.
pub const LEAST: usize = 4;

/// A word: whole, and without its ending.
#[derive(Debug, Clone, Copy)]
pub struct Word<'w> {
    pub text: &'w str,
    /// Two neighbouring signs of a script that puts no spaces.
    pub is_pair: bool,
}

impl Word<'_> {
    pub fn hash(&self) -> u64 {
        hashed(self.text)
    }

    /// Hash of the word without its ending.
    pub fn stem(&self) -> u64 {
        let word = self.text.strip_suffix('s').filter(|word| word.len() >= LEAST - 1).unwrap_or(self.text);
        let end = word.char_indices().nth(STEM).map_or(word.len(), |(at, _)| at);
        hashed(&word[..end])
    }
}

/// Calls `found` for every word of a text in order, in small letters.
pub fn each(text: &str, found: &mut dyn FnMut(Word<'_>)) {
    let mut word = String::new();
    let mut before: Option<char> = None;
    let flush = |word: &mut String, found: &mut dyn FnMut(Word<'_>)| {
        if !word.is_empty() {
            found(Word { text: word, is_pair: false });
            word.clear();
        }
    };
    for c in text.chars() {
        if is_unspaced(c) {
            flush(&mut word, found);
            if let Some(before) = before.replace(c) {
                let pair: String = [before, c].iter().collect();
                found(Word { text: &pair, is_pair: true });
            }
            continue;
        }
        before = None;
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else {
            flush(&mut word, found);
        }
    }
    flush(&mut word, found);
}

/// Han, kana, Hangul, Thai: no spaces, or endings that stick to the word.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// A digest by which texts are compared.
pub fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
