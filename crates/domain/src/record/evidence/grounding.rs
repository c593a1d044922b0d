//! Whether the conversation says what a statement says, though what it cites does not show it: notes are often right where
//! their numbers are not.

use std::collections::HashSet;

use crate::record::numbers::PathNumbers;
use crate::record::quote::{names, prefix};
use crate::record::words;

/// Letters of a word that tells one text from another, and digits of such a number.
const LEAST_WORD: usize = 4;
const LEAST_DIGITS: usize = 2;
/// Share of a statement's words that stand in one message or call, and where all its names stand there.
const SHARE: f64 = 0.75;
const SHARE_WITH_NAMES: f64 = 0.5;
/// So many names at least tell of what a statement speaks.
const NAMES: usize = 2;
/// Quarter tokens of one text that are looked through.
const REACH: usize = 60_000;

/// What a statement is looked for by.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedWords {
    all: HashSet<u64>,
    of_names: HashSet<u64>,
}

impl WantedWords {
    pub fn of(statement: &str) -> WantedWords {
        let of_names: HashSet<&str> = names(statement).collect();
        let telling: HashSet<u64> = of_names.iter().flat_map(|name| stems(name)).collect();
        let of_names = if of_names.len() >= NAMES { telling } else { HashSet::new() };
        WantedWords { all: stems(statement), of_names }
    }

    /// Returns true if a text that has these words says the statement.
    fn is_said_by(&self, said: &HashSet<u64>) -> bool {
        if self.all.is_empty() {
            return false;
        }
        let share = self.all.intersection(said).count() as f64 / self.all.len() as f64;
        let has_names = !self.of_names.is_empty() && self.of_names.is_subset(said);
        share >= SHARE || has_names && share >= SHARE_WITH_NAMES
    }
}

/// The messages and calls of a path, each by those of its words that some statement is looked for by.
#[derive(Debug, Default)]
pub(super) struct PathWords(Vec<HashSet<u64>>);

impl PathWords {
    pub fn of<'w>(wanted: impl Iterator<Item = &'w WantedWords>, path: &PathNumbers<'_>) -> PathWords {
        let wanted: HashSet<u64> = wanted.flat_map(|wanted| wanted.all.iter().copied()).collect();
        if wanted.is_empty() {
            return PathWords::default();
        }
        let said = path.said.iter().map(|said| stems(said.text));
        let asked = path.users.values().map(|words| stems(&words.text));
        let calls = path.calls.values().map(|call| stems(&call.text()));
        let sought = |said: HashSet<u64>| said.intersection(&wanted).copied().collect();
        PathWords(said.chain(asked).chain(calls).map(sought).collect())
    }

    pub fn say(&self, wanted: &WantedWords) -> bool {
        self.0.iter().any(|said| wanted.is_said_by(said))
    }
}

/// Returns true if these calls and messages, with the agent's answers to them, say a statement together.
pub(super) fn is_said_together(wanted: &WantedWords, path: &PathNumbers<'_>, calls: &[u32], users: &[u32]) -> bool {
    let calls = calls.iter().filter_map(|call| path.calls.get(call)).map(|call| stems(&call.text()));
    let asked = users.iter().filter_map(|user| path.users.get(user)).map(|words| stems(&words.text));
    let answers = path.said.iter().filter(|said| users.contains(&said.behind)).map(|said| stems(said.text));
    let said: HashSet<u64> = calls.chain(asked).chain(answers).flatten().collect();
    wanted.is_said_by(&said)
}

fn stems(text: &str) -> HashSet<u64> {
    let mut stems = HashSet::new();
    words::each(prefix(text, REACH), &mut |word| {
        let letters = word.text.chars().count();
        let is_number = word.text.bytes().all(|byte| byte.is_ascii_digit());
        if word.is_pair || letters >= LEAST_WORD || is_number && letters >= LEAST_DIGITS {
            stems.insert(word.stem());
        }
    });
    stems
}
