//! An answer laid beside its span: which of its words, names and phrases stand there.

use std::collections::{HashMap, HashSet};

use super::evidence::SpanEvidence;
use super::names;
use super::runs::Runs;
use super::share::Share;
use super::voice::Voice;
use super::words::tells;
use crate::record::words::{self, Word};

/// The most words of the user's that are told apart.
const MOST_SAID: usize = 2_000;
/// The most words of an answer that are looked for.
const MOST_WORDS: usize = 20_000;
/// What of an answer stands in its span.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Words of the span, the user's among them that tell something.
    pub span_words: usize,
    pub said_words: usize,
    /// Words that tell something.
    pub content: Share,
    /// Such words that the user said too.
    pub said: u32,
    /// Names of things, places and people, and long numbers.
    pub names: Share,
    /// Shares of the answer's words that stand in the span in pages, and in phrases.
    pub pages: f64,
    pub phrases: f64,
}

impl Found {
    pub(super) fn of(text: &str, span: &SpanEvidence) -> Found {
        let mut answer = Answer::of(text);
        let mut seen = Seen::default();
        span.each_text(&mut |voice, text| {
            if voice == Voice::Note {
                answer.runs.part();
            }
            words::each(text, &mut |word| answer.meet(voice, word, &mut seen));
        });
        answer.found(&seen)
    }
}

/// Words and runs of an answer, and which of them were met.
struct Answer {
    content: HashMap<u64, Met>,
    /// Words of names, and pairs of neighbours in longer ones.
    parts: HashMap<u64, bool>,
    names: Vec<Vec<u64>>,
    runs: Runs,
}

#[derive(Debug, Clone, Copy, Default)]
struct Met {
    anywhere: bool,
    by_user: bool,
}

/// What the way through the span keeps.
#[derive(Default)]
struct Seen {
    words: usize,
    previous: u64,
    said: HashSet<u64>,
}

impl Answer {
    fn of(text: &str) -> Answer {
        let (mut content, mut all) = (HashMap::new(), Vec::new());
        words::each(text, &mut |word| {
            if all.len() < MOST_WORDS {
                all.push(word.hash());
                if tells(word) {
                    content.insert(word.stem(), Met::default());
                }
            }
        });
        let names = names::of(text);
        let parts = names.iter().flatten().map(|part| (*part, false)).collect();
        Answer { content, parts, names, runs: Runs::of(&all) }
    }

    fn meet(&mut self, voice: Voice, word: Word<'_>, seen: &mut Seen) {
        seen.words += 1;
        let (hash, stem) = (word.hash(), word.stem());
        for part in [hash, names::pair(seen.previous, hash)] {
            if let Some(met) = self.parts.get_mut(&part) {
                *met = true;
            }
        }
        seen.previous = hash;
        if let Some(met) = self.content.get_mut(&stem) {
            met.anywhere = true;
            met.by_user |= voice == Voice::User;
        }
        if voice == Voice::User && seen.said.len() < MOST_SAID && tells(word) {
            seen.said.insert(stem);
        }
        if voice != Voice::Note {
            self.runs.meet(hash, voice == Voice::User);
        }
    }

    fn found(&self, seen: &Seen) -> Found {
        Found {
            span_words: seen.words,
            said_words: seen.said.len(),
            content: Share::of(self.content.values().map(|met| met.anywhere)),
            said: self.content.values().filter(|met| met.by_user).count() as u32,
            names: Share::of(
                self.names
                    .iter()
                    .map(|parts| parts.iter().all(|part| self.parts.get(part).copied().unwrap_or_default())),
            ),
            pages: self.runs.in_pages(),
            phrases: self.runs.in_phrases(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::testing::{assistant, task, user};

    fn found(text: &str, said: &str, told: &str) -> Found {
        Found::of(text, &SpanEvidence::of(&task(vec![user(said), assistant(told)])))
    }

    #[test]
    fn counts_what_stands_in_the_span() {
        let found = found(
            "The parser of src/new/parse_line.rs was moved, quuxFactory too.",
            "Move the parsers please",
            "Moved parse_line.rs out of the folder.",
        );
        assert_eq!(found.names, Share { found: 1, total: 2 });
        // `line` is a word that we ask in.
        assert_eq!((found.content, found.said), (Share { found: 3, total: 4 }, 1));
    }
}
