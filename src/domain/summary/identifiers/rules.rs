//! The user's own rules: sentences that say how things are to be from then on, not what is to be done once.
//!
//! Told by patterns, a table for each language: what is never, always or only done, what must be, what is allowed,
//! preferred or hated, bounds, budgets and dates, and plain orders about how to work. A request ("Fix the bug in a.rs")
//! is none, nor is a report ("It always fails").

mod cues;
mod east_asian;
mod english;
mod french;
mod german;
mod latin;
mod paste;
mod prose;
mod replaced;
mod russian;
mod spanish;
mod strict;
mod table;
mod values;

use crate::domain::summary::text::{clip, sentences};
use latin::Latin;

pub(super) use replaced::{RuleWords, correction, replaces};
pub(super) use strict::is_strict;

const MAX_RULE_CHARS: usize = 300;
/// Most that is taken from one message: what has more is a document.
const MAX_FROM_ONE: usize = 40;
/// Longer sentences are no rules, and no sentences.
const MAX_SENTENCE: usize = 800;

/// The rules in a user's text, in their own words.
pub fn rules(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for own in paste::own_words(text) {
        let spoken = Latin::of(own);
        let told = sentences(own).into_iter().filter(|sentence| tells_rule(sentence, spoken));
        found.extend(told.take(MAX_FROM_ONE).map(|rule| clip(&rule, MAX_RULE_CHARS)));
    }
    found.truncate(MAX_FROM_ONE);
    found
}

/// Returns true if a sentence says how things are to be.
pub(super) fn is_rule(sentence: &str) -> bool {
    tells_rule(sentence, Latin::of(sentence))
}

/// As [`is_rule`], in a text of these languages.
fn tells_rule(sentence: &str, spoken: Latin) -> bool {
    // A colon leads to something else.
    if sentence.len() > MAX_SENTENCE || sentence.ends_with([':', '：']) || !prose::is_prose(sentence) {
        return false;
    }
    match prose::Script::of(sentence) {
        prose::Script::Latin => spoken.is_rule(&latin::folded(sentence)),
        prose::Script::Cyrillic => russian::is_rule(&sentence.to_lowercase()),
        prose::Script::EastAsian => east_asian::is_rule(sentence),
    }
}

#[cfg(test)]
mod tests;
