//! What an agent says again and again: it tells nothing.

use std::collections::{HashMap, HashSet};

use super::quote::{density, prefix, sentences};
use super::words::hashed;

/// In how many of the agent's passages a sentence stands that is usual.
const USUAL: usize = 3;
/// Characters of one passage that are looked at, and passages: the newest.
const REACH: usize = 12_000;
const MOST: usize = 1_024;

/// Sentences without a name or a number that stand in several passages, as hashes.
#[derive(Debug, Default)]
pub(super) struct UsualSentences(HashSet<u64>);

impl UsualSentences {
    pub fn of<'t>(passages: impl DoubleEndedIterator<Item = &'t str>) -> UsualSentences {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        for text in passages.rev().take(MOST) {
            let said: HashSet<u64> = sentences(prefix(text, REACH)).into_iter().map(hashed).collect();
            said.into_iter().for_each(|sentence| *counts.entry(sentence).or_default() += 1);
        }
        UsualSentences(counts.into_iter().filter(|(_, count)| *count >= USUAL).map(|(sentence, _)| sentence).collect())
    }

    pub fn holds(&self, sentence: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&hashed(sentence.trim())) && density(sentence) == 0
    }
}
