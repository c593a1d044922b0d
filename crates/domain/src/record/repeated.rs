//! What of the user's words stands once more: in a later message of theirs, in the agent's words, or below the record.

use std::collections::{HashMap, HashSet};

use super::quote::{prefix, sentences, shape, size, suffix};
use super::words::hashed;
use crate::model::message::{Message, Role};

/// Stands in place of words that the request below the record holds too.
const BELOW: &str = "[stands below]";
/// Quarter tokens of the lines in a row that are told by that mark at least.
const LEAST_BELOW: usize = 160;
/// Quarter tokens of a sentence that is known again: shorter ones, such as an answer in a word, come by chance.
const LEAST_SENTENCE: usize = 24;
/// In how many messages a sentence stands that somebody else than the user puts there, or the label that they begin with.
const USUAL: usize = 3;
const LEAST_ALIKE: usize = 4;
/// Letters of the line or the label with which messages of one kind begin at least: people begin with "Hello," too.
const LEAST_LETTERS: usize = 12;
const LONGEST_KIND: usize = 240;
/// A kind holds one of so many of the messages at most.
const LARGEST_KIND: usize = 3;
/// Characters of one text that are looked at, at either end, and of all that is kept.
const REACH: usize = 12_000;
const REACH_OF_KEPT: usize = 400_000;
/// Passages of the agent's that are looked at: the newest.
const MOST_PASSAGES: usize = 1_024;

/// Which of the user's words stand once more further on.
#[derive(Debug, Default)]
pub(super) struct RepeatedWords {
    /// Lines with a message that a later one repeats as a whole, and the number of the last such message.
    whole: HashMap<usize, u32>,
    /// The numbers of those later messages.
    named: HashSet<u32>,
    /// Lines with a message that begins as several others do, but for the newest of them: a program writes such.
    alike: HashSet<usize>,
    /// Lines with a message most of which stands elsewhere.
    mostly_elsewhere: HashSet<usize>,
    /// The last line in which a sentence stands, by its hash; of those that stand in several.
    sentences: HashMap<u64, usize>,
    /// Sentences of the messages behind the record, and of what the agent said, as hashes.
    others: HashSet<u64>,
}

/// A message of the user's.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserMessage<'t> {
    /// Its line.
    pub at: usize,
    pub number: u32,
    pub text: &'t str,
}

impl RepeatedWords {
    /// Of the user's messages and of what the agent said, both in their order.
    pub fn of<'t>(messages: &[UserMessage<'t>], by_agent: impl DoubleEndedIterator<Item = &'t str>) -> RepeatedWords {
        let mut repeated = RepeatedWords::default();
        let mut last = HashMap::new();
        for UserMessage { at, number, text } in messages.iter().rev().copied() {
            let last = *last.entry(hashed(text)).or_insert(number);
            if last != number {
                repeated.whole.insert(at, last);
                repeated.named.insert(last);
            }
        }
        let mut kinds: HashMap<String, Vec<usize>> = HashMap::new();
        let mut found: HashMap<u64, (usize, usize)> = HashMap::new();
        for UserMessage { at, text, .. } in messages.iter().rev().copied() {
            if let Some(kind) = kind(text) {
                kinds.entry(kind).or_default().push(at);
            }
            for sentence in long_sentences(text) {
                found.entry(sentence).or_insert((at, 0)).1 += 1;
            }
        }
        // What most messages begin with is a frame around what people say.
        let is_kind = |lines: &Vec<usize>| lines.len() >= LEAST_ALIKE && lines.len() * LARGEST_KIND <= messages.len();
        let alike = kinds.into_values().filter(is_kind);
        repeated.alike = alike.flat_map(|lines| lines.into_iter().skip(1)).collect();
        let usual = found.into_iter().filter(|(_, (_, times))| *times >= USUAL);
        repeated.sentences = usual.map(|(sentence, (last, _))| (sentence, last)).collect();
        repeated.others = by_agent.rev().take(MOST_PASSAGES).flat_map(long_sentences).collect();
        repeated
    }

    /// Takes into account what the messages behind the record say, and finds which of the user's say hardly anything else.
    pub fn hear(&mut self, kept: &[Message], messages: &[UserMessage<'_>]) {
        let mut left = REACH_OF_KEPT;
        for message in kept.iter().rev().filter(|message| matches!(message.role, Role::User | Role::Assistant)) {
            let text = message.plain_text();
            if text.len() > left {
                break;
            }
            left -= text.len();
            self.others.extend(long_sentences(&text));
        }
        let mostly = messages.iter().filter(|message| self.is_mostly_elsewhere(message.at, message.text));
        self.mostly_elsewhere = mostly.map(|message| message.at).collect();
    }

    /// The number of the last message that says the same as the one in this line.
    pub fn last_of(&self, at: usize) -> Option<u32> {
        self.whole.get(&at).copied()
    }

    /// Returns true if an earlier message is told by this one.
    pub fn is_named(&self, number: u32) -> bool {
        self.named.contains(&number)
    }

    /// Returns true if a later message says the same, or begins as this one and several others do.
    pub fn is_overtaken(&self, at: usize) -> bool {
        self.whole.contains_key(&at) || self.alike.contains(&at)
    }

    /// Returns true if little of the message in this line is told nowhere else.
    pub fn is_hardly_own(&self, at: usize) -> bool {
        self.is_overtaken(at) || self.mostly_elsewhere.contains(&at)
    }

    /// Returns true if a sentence of the message in this line stands in a later one too, behind the record, or in what the
    /// agent said.
    pub fn stands_elsewhere(&self, at: usize, sentence: &str) -> bool {
        if size(sentence) < LEAST_SENTENCE || self.sentences.is_empty() && self.others.is_empty() {
            return false;
        }
        let sentence = hashed(sentence.trim());
        self.sentences.get(&sentence).is_some_and(|last| *last > at) || self.others.contains(&sentence)
    }

    fn is_mostly_elsewhere(&self, at: usize, text: &str) -> bool {
        let (mut all, mut elsewhere) = (0, 0);
        for sentence in sentences(prefix(text, REACH)) {
            let size = size(sentence);
            all += size;
            elsewhere += if self.stands_elsewhere(at, sentence) { size } else { 0 };
        }
        elsewhere * 5 > all * 4
    }
}

/// The sentences of a text that are known again, each once, as hashes.
fn long_sentences(text: &str) -> HashSet<u64> {
    let all = sentences(prefix(text, REACH)).into_iter();
    let behind = if text.len() > REACH { sentences(suffix(text, REACH)) } else { Vec::new() };
    all.chain(behind).filter(|sentence| size(sentence) >= LEAST_SENTENCE).map(|one| hashed(one.trim())).collect()
}

/// What a message begins with, where it is a label or a line of several words: those of one program begin alike.
fn kind(text: &str) -> Option<String> {
    let line = prefix(text.lines().next()?.trim(), LONGEST_KIND);
    let label = line.split_once(": ").map(|(label, _)| label).or_else(|| line.strip_suffix(':'));
    let kind = label.map_or_else(|| shape(line), str::to_owned);
    let letters = kind.chars().filter(|letter| letter.is_alphabetic()).count();
    (letters >= LEAST_LETTERS && kind.split_whitespace().nth(1).is_some()).then_some(kind)
}

/// The lines of a request, as hashes.
pub(super) fn lines_of_request(text: &str) -> impl Iterator<Item = u64> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(hashed)
}

/// A text with a mark in place of lines in a row that the request below the record holds too. `None`: there are none, or too few.
pub(super) fn without_lines(text: &str, below: &HashSet<u64>) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let stands = |line: &&str| line.trim().is_empty() || below.contains(&hashed(line.trim()));
    let mut told: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let run = lines[at..].iter().take_while(|line| stands(line)).count();
        if lines[at..at + run].iter().map(|line| size(line.trim())).sum::<usize>() >= LEAST_BELOW {
            told.push(BELOW);
        } else {
            told.extend(&lines[at..at + run]);
        }
        told.extend(lines.get(at + run));
        at += run + 1;
    }
    told.contains(&BELOW).then(|| told.join("\n"))
}

#[cfg(test)]
mod tests;
