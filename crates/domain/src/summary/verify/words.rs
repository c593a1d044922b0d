//! Words that tell something, of which a summary says what it is about.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::record::words::{self, LEAST, Word};
use crate::summary::prompt;

/// The words that the prompts ask in: they stand in summaries of everything.
static ASKED_IN: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    let mut asked = HashSet::new();
    prompt::OURS.iter().for_each(|ours| {
        words::each(ours, &mut |word| {
            asked.insert(word.stem());
        });
    });
    asked
});

/// Returns true for a word that we ask in ourselves: `next_steps` is a heading and no name.
pub(super) fn is_asked_in(word: Word<'_>) -> bool {
    ASKED_IN.contains(&word.stem())
}

/// Returns true if a word tells something: no number, not a short one, and none of those that every summary has.
pub(super) fn tells(word: Word<'_>) -> bool {
    if word.is_pair {
        return true;
    }
    let is_long = word.text.chars().nth(LEAST - 1).is_some();
    is_long && word.text.chars().any(char::is_alphabetic) && !is_asked_in(word)
}
