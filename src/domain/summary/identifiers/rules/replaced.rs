//! Which earlier rule a newer one takes the place of.
//!
//! Cautiously: where the newer one names what it does away with ("tabs, not spaces", "forget what I said about X"), says
//! another value of one kind about the same thing ("max 5 retries" after "max 3 retries"), or forbids what the other
//! wants.

use std::collections::BTreeSet;

use super::cues::{
    ANSWER, BUT, CANCELS, CORRECTIONS, EMPTY, NEGATIONS, NOT, NUMBERED, OPENINGS, WIDE_NEGATIONS, lists, phrases,
};
use super::latin::folded;
use super::values::{NUMBER, is_wide, kind_of, singular, unspaced};
use crate::domain::summary::text::within;

/// Of a message, so many quarter tokens of its beginning may say that it is a correction.
const CORRECTS_WITHIN: usize = 400;

/// A rule as far as it can be in conflict with another.
#[derive(Debug, Default)]
pub struct RuleWords {
    about: BTreeSet<String>,
    /// Kind and word.
    values: BTreeSet<(usize, String)>,
    /// What it calls by a number: "part 3".
    numbered: BTreeSet<(String, String)>,
    /// Names in it: "rel-1", "src/a.rs".
    names: BTreeSet<String>,
    /// What it wants gone.
    gone: BTreeSet<String>,
    forbids: bool,
    corrects: bool,
    cancels: bool,
}

impl RuleWords {
    pub fn of(rule: &str) -> RuleWords {
        let text = plain(rule);
        let opened = phrases(OPENINGS).find_map(|opening| text.strip_prefix(opening));
        let corrects = opened.is_some() || phrases(CORRECTIONS).any(|cue| text.contains(cue));
        let said = opened.unwrap_or(&text);
        let cancels = phrases(CANCELS).any(|cue| said.starts_with(cue));
        let (wanted, gone) = if cancels { ("", said) } else { parted(said) };
        let mut told = RuleWords { corrects, cancels, ..RuleWords::default() };
        // Not to forget something is to do it.
        let wanted = wanted.replace("don't forget", "").replace("do not forget", "");
        let terms_wanted = told.terms(&wanted);
        let before = [""].into_iter().chain(terms_wanted.iter().map(String::as_str));
        for (word, before) in terms_wanted.iter().zip(before) {
            match kind_of(word) {
                Some(NUMBER) if lists(NUMBERED, before) => {
                    told.numbered.insert((before.to_owned(), word.clone()));
                }
                Some(kind) => {
                    told.values.insert((kind, singular(word).to_owned()));
                }
                None if is_name(word) => {
                    told.about.extend(subject(word));
                    told.names.insert(word.clone());
                }
                None => told.about.extend(subject(word)),
            }
        }
        told.gone = terms(gone).iter().filter_map(|word| subject(word)).collect();
        told
    }

    /// The terms of what is wanted; notes whether it is forbidden.
    fn terms(&mut self, wanted: &str) -> Vec<String> {
        let is_unspaced = wanted.chars().any(is_wide);
        let mut wanted = wanted.to_owned();
        for negation in phrases(WIDE_NEGATIONS).filter(|_| is_unspaced) {
            self.forbids |= wanted.contains(negation);
            wanted = wanted.replace(negation, " ");
        }
        let terms = terms(&wanted);
        self.forbids |= terms.iter().any(|word| lists(NEGATIONS, word));
        terms
    }

    fn subjects(&self) -> BTreeSet<&str> {
        self.about.iter().chain(self.values.iter().map(|(_, word)| word)).map(String::as_str).collect()
    }
}

/// Returns true if the newer rule takes the older one's place.
pub fn replaces(newer: &RuleWords, older: &RuleWords) -> bool {
    let subjects = older.subjects();
    if other_ones(newer, older) {
        return false;
    }
    let named = !newer.gone.is_empty() && newer.gone.iter().all(|word| subjects.contains(word.as_str()));
    named && (newer.cancels || !older.forbids)
        || other_value(newer, older)
        || other_name(newer, older)
        || opposite(newer, older)
}

/// A correction that gives the same thing another name.
fn other_name(newer: &RuleWords, older: &RuleWords) -> bool {
    let besides = |rule: &RuleWords| -> BTreeSet<String> { rule.about.difference(&rule.names).cloned().collect() };
    let (new, old) = (besides(newer), besides(older));
    newer.corrects
        && newer.forbids == older.forbids
        && !newer.names.is_empty()
        && !older.names.is_empty()
        && newer.names.is_disjoint(&older.names)
        && new.intersection(&old).count() * 2 > new.len().max(old.len())
}

/// Both call something by a number, and not the same one: "part 3" is no other value of "part 4".
fn other_ones(newer: &RuleWords, older: &RuleWords) -> bool {
    !newer.numbered.is_empty() && !older.numbered.is_empty() && newer.numbered.is_disjoint(&older.numbered)
}

/// Both say a value of one kind, and not the same one, about the same thing.
fn other_value(newer: &RuleWords, older: &RuleWords) -> bool {
    if newer.forbids != older.forbids {
        return false;
    }
    let differs = |(kind, _): &(usize, String)| {
        let of = |rule: &RuleWords| -> BTreeSet<String> {
            rule.values.iter().filter(|(one, _)| one == kind).map(|(_, word)| word.clone()).collect()
        };
        let (new, old) = (of(newer), of(older));
        // A number may be of anything.
        let told = *kind != NUMBER || newer.about.intersection(&older.about).next().is_some();
        !old.is_empty() && new.is_disjoint(&old) && told
    };
    newer.values.iter().any(differs) && about_the_same(newer, older)
}

/// At least half of what one is about, the other is about as well.
fn about_the_same(newer: &RuleWords, older: &RuleWords) -> bool {
    let least = newer.about.len().min(older.about.len());
    match least {
        0 => newer.corrects || newer.about.len() == older.about.len(),
        _ => newer.about.intersection(&older.about).count() * 2 >= least,
    }
}

/// One forbids what the other wants.
fn opposite(newer: &RuleWords, older: &RuleWords) -> bool {
    let (new, old) = (newer.subjects(), older.subjects());
    let least = new.len().min(old.len());
    newer.forbids != older.forbids
        && newer.gone.is_empty()
        && least > 0
        && new.intersection(&old).count() == least
        && new.len().abs_diff(old.len()) <= 2
}

/// What is wanted, and what is to be gone.
fn parted(text: &str) -> (&str, &str) {
    let first = |cues: &'static [&'static str]| {
        phrases(cues).filter_map(|cue| text.split_once(cue)).min_by_key(|(before, _)| before.len())
    };
    first(NOT).or_else(|| first(BUT).map(|(gone, wanted)| (wanted, gone))).unwrap_or((text, ""))
}

/// Returns true for a word with a sign inside, as names of branches, files and flags have.
fn is_name(word: &str) -> bool {
    let signs = word.chars().any(|c| "-_/.".contains(c)) && word.chars().any(char::is_alphabetic);
    signs && !word.chars().any(is_wide)
}

/// The word, where it says what a rule is about.
fn subject(word: &str) -> Option<String> {
    let says = !lists(EMPTY, word) && !lists(NEGATIONS, word);
    says.then(|| if lists(ANSWER, word) { "answer".to_owned() } else { singular(word).to_owned() })
}

/// In lower case, without accents where the letters are Latin.
fn plain(rule: &str) -> String {
    let foreign = |c: char| is_wide(c) || ('\u{400}'..='\u{52f}').contains(&c);
    if rule.chars().any(foreign) { rule.to_lowercase() } else { folded(rule) }
}

/// Words; where letters stand without spaces every two of them, and the values among them.
fn terms(text: &str) -> Vec<String> {
    let ends = |c: char| !c.is_alphanumeric() && c != '$';
    let words = text.split(|c: char| c.is_whitespace() || ",;:!?\"()[]，。、；：！？「」".contains(c));
    let words = words.map(|word| word.trim_matches(ends)).filter(|word| !word.is_empty());
    words.flat_map(|word| if word.chars().any(is_wide) { pairs(word) } else { vec![word.to_owned()] }).collect()
}

fn pairs(word: &str) -> Vec<String> {
    let mut rest = word.to_owned();
    let mut terms = Vec::new();
    for value in unspaced() {
        if rest.contains(value) {
            terms.push(value.to_owned());
            rest = rest.replace(value, " ");
        }
    }
    for part in rest.split(' ') {
        let letters: Vec<char> = part.chars().collect();
        terms.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
    }
    terms
}

/// The beginning of a text, where that corrects what was said before.
pub fn correction(text: &str) -> Option<&str> {
    Some(within(text, CORRECTS_WITHIN)).filter(|beginning| RuleWords::of(beginning).corrects)
}
