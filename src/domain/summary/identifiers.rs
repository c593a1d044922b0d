//! Identifiers: the exact strings that a summary must not lose, and the user's own rules and newest requests.
//!
//! Text is cut into short tokens first and each is classified by itself, so the work is linear on any input.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::domain::model::message::{Block, Message, Role};
use crate::domain::model::user_text::{UserText, UserTextClassifier};

pub mod clauses;
mod last_calls;
mod occurrence;
mod question;
mod requests;
mod restore;
mod rules;
mod shorten;
mod standing;
mod token;
mod weight;
mod words;

use last_calls::LastCalls;
use occurrence::{flat, quoted_in};
use requests::{Requests, is_brief};
use standing::{MAX_RULES, SaidRule, newest, standing};
use weight::{BY_MODEL, BY_USER, IN_CALL, MAX_WEIGHT, MOST_PRINTED, PRINTED};

pub use occurrence::stands_in;
pub use restore::{density, disclaimed, restore};
pub use rules::rules;
pub use token::is_measure;
pub use words::needed;

/// What the summary should keep word for word, of the summarised span and of earlier ones: identifiers, the user's
/// standing rules and newest requests. How many there are, how many the summary's body kept by itself, how many code put
/// back around it. `recall` (0-1) is measured before restoring. A request that is shown with a part left out counts as
/// lost; requests that still stand in the context by themselves are not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IdentifierReport {
    pub found: u32,
    pub kept: u32,
    pub restored: u32,
    pub recall: f64,
}

impl Default for IdentifierReport {
    fn default() -> Self {
        IdentifierReport { found: 0, kept: 0, restored: 0, recall: 1.0 }
    }
}

/// Upper bound of what one span is asked to keep, and of what is carried on.
const MAX_WANTED: usize = 300;
/// Of what is carried the summary tells most by itself: so many times more than could be put back around it.
const TRACKED: usize = 3;
/// The most of the words that a number stands in, in characters.
const LONGEST_ABOUT: usize = 120;
/// Newest corrections that rules are compared with.
const MAX_CORRECTIONS: usize = 16;

/// The distinct identifiers of a text in the order of their first appearance, at most [`MAX_WANTED`].
pub fn extract(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    token::each(text, &mut |identifier| {
        if found.len() < MAX_WANTED && seen.insert(identifier.clone()) {
            found.push(identifier);
        }
    });
    found
}

/// How often an identifier was used by people and models, how often it was only printed, where last, and in what words.
#[derive(Debug, Default)]
struct Uses {
    spoken: u32,
    printed: u32,
    last: usize,
    about: Option<String>,
}

/// Lists what a summary of this span should keep: the user's rules first, then the identifiers, those that were used
/// most and last in front. Words of people and of the model weigh more than what tools printed.
pub fn extract_span(messages: &[Message]) -> Vec<TrackedIdentifier> {
    let mut span = IdentifierSpan::default();
    messages.iter().for_each(|message| span.add(message));
    span.wanted()
}

/// [`extract_span`] for a span that is read piece by piece, with what the user said around it.
#[derive(Debug, Default)]
pub struct IdentifierSpan {
    messages: usize,
    classifier: UserTextClassifier,
    rules: Vec<SaidRule>,
    requests: Requests,
    calls: LastCalls,
    uses: HashMap<String, Uses>,
}

impl IdentifierSpan {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        let kind = self.classifier.classify(message);
        self.take(message, &kind);
    }

    /// As [`IdentifierSpan::add`]; what the user says in it is carried on.
    pub fn add_entry(&mut self, message: &Message, entry: Option<Uuid>) {
        let kind = self.classifier.classify(message);
        match &kind {
            UserText::Said(text) if !text.is_empty() => self.requests.note(text, entry, false),
            UserText::Other if message.role == Role::Assistant => self.requests.answered(&message.plain_text()),
            _ => {}
        }
        self.note_replies(message, entry);
        self.take(message, &kind);
    }

    fn note_replies(&mut self, message: &Message, entry: Option<Uuid>) {
        for (asked, said) in self.calls.replies(message) {
            self.requests.reply(asked, &said, entry);
        }
    }

    /// Takes in a message that is not of the span: of the user's words in it `stands` says whether they are still shown.
    pub fn hear(&mut self, message: &Message, entry: Option<Uuid>, stands: bool) {
        if let UserText::Said(text) = self.classifier.classify(message) {
            self.requests.note(&text, entry, stands);
            self.note_rules(&text, stands);
        }
        if !stands {
            self.note_replies(message, entry);
        }
    }

    fn note_rules(&mut self, text: &str, stands: bool) {
        let said = rules(text);
        // A correction that is no rule is shown as the message that it is, and still takes a rule's place.
        let correction = if said.is_empty() { rules::correction(text) } else { None };
        self.rules.extend(said.into_iter().map(|text| SaidRule { text, stands }));
        self.rules.extend(correction.map(|text| SaidRule { text: text.to_owned(), stands: true }));
        // Not each time: what is let go is moved over.
        if self.rules.len() > 4 * MAX_RULES {
            self.rules = newest(std::mem::take(&mut self.rules), 2 * MAX_RULES);
        }
    }

    fn take(&mut self, message: &Message, kind: &UserText) {
        if let UserText::Said(text) = kind {
            self.note_rules(text, false);
        }
        let at = self.messages;
        self.messages += 1;
        for block in &message.content {
            let (text, weight) = readable(block, kind);
            let uses = &mut self.uses;
            token::each(&text, &mut |identifier| {
                let is_only_spoken = match weight {
                    PRINTED => token::is_measure(&identifier) || token::is_setting(&identifier),
                    IN_CALL => token::is_setting(&identifier),
                    _ => false,
                };
                if is_only_spoken {
                    return;
                }
                let uses = uses.entry(identifier).or_default();
                uses.last = at;
                let sum = if weight == PRINTED { &mut uses.printed } else { &mut uses.spoken };
                *sum = sum.saturating_add(weight);
            });
            if weight == BY_MODEL && message.role == Role::Assistant {
                self.note_words(&text);
            }
        }
    }

    /// Notes the words that numbers, dates, tickets and settings stand in.
    fn note_words(&mut self, text: &str) {
        let dotted = |piece: &str| piece.split_whitespace().any(|word| word.matches('.').count() > 1);
        let names = |piece: &str| piece.contains(|c: char| c.is_ascii_digit()) || dotted(piece);
        let tells = |piece: &String| names(piece);
        for piece in clauses::spoken(text).filter(tells) {
            clauses::each(&piece, LONGEST_ABOUT, &mut |identifier, clause| {
                let uses = self.uses.get_mut(identifier).filter(|_| token::needs_words(identifier));
                if let (Some(uses), Some(about)) = (uses, clause.telling(identifier)) {
                    uses.about = Some(about);
                }
            });
        }
    }

    /// Lists what a summary should keep of the whole span, the requests aside.
    pub fn wanted(self) -> Vec<TrackedIdentifier> {
        let rules = self.rules.into_iter().filter(|rule| !rule.stands).map(|rule| rule.text);
        let rules = newest(rules.collect(), MAX_RULES).into_iter().map(TrackedIdentifier::rule);
        distinct(rules.chain(ranked(self.uses)))
    }
}

/// Returns the rules that no later one of them, and none of these corrections, took the place of, oldest first.
pub fn holding(rules: Vec<String>, corrections: Vec<String>) -> Vec<String> {
    let own: HashSet<String> = rules.iter().cloned().collect();
    let corrections = newest(corrections, MAX_CORRECTIONS);
    let said = rules.into_iter().chain(corrections).map(|text| SaidRule { text, stands: false }).collect();
    let standing = standing(&[], said).into_iter().filter(|one| one.is_rule() && own.contains(&one.text));
    standing.map(|one| one.text).collect()
}

/// The identifiers of a span, the weightiest first.
fn ranked(uses: HashMap<String, Uses>) -> Vec<TrackedIdentifier> {
    let weigh = |(text, uses): (String, Uses)| {
        let last = uses.last;
        (weighed(text, uses), last)
    };
    // A setting that is told nowhere is a name of code.
    let is_told = |(text, uses): &(String, Uses)| uses.about.is_some() || !token::is_setting(text);
    let mut ranked: Vec<(TrackedIdentifier, usize)> = uses.into_iter().filter(is_told).map(weigh).collect();
    ranked.sort_unstable_by_key(|(_, last)| Reverse(*last));
    let mut measured = Measured::default();
    ranked.retain(|(one, _)| measured.is_newest(one));
    ranked.sort_unstable_by(|(a, a_last), (b, b_last)| {
        (b.weight, b_last).cmp(&(a.weight, a_last)).then_with(|| a.text.cmp(&b.text))
    });
    ranked.into_iter().map(|(wanted, _)| wanted).collect()
}

/// What was measured, the newest first: of words that differ in their numbers alone, only those hold.
#[derive(Default)]
struct Measured(HashMap<String, String>);

impl Measured {
    fn is_newest(&mut self, one: &TrackedIdentifier) -> bool {
        let Some(about) = &one.about else { return true };
        let others = || extract(about).iter().any(|other| !is_measure(other));
        if !is_measure(&one.text) || others() {
            return true;
        }
        self.0.entry(clauses::shape(about)).or_insert_with(|| about.clone()) == about
    }
}

fn weighed(text: String, uses: Uses) -> TrackedIdentifier {
    let weight = uses.spoken.saturating_add(uses.printed.min(MOST_PRINTED)).min(MAX_WEIGHT);
    TrackedIdentifier { about: uses.about, ..TrackedIdentifier::identifier(text, weight) }
}

fn readable<'m>(block: &'m Block, kind: &UserText) -> (Cow<'m, str>, u32) {
    match block {
        Block::Text { text, .. } => match kind {
            UserText::Said(_) => (text.into(), BY_USER),
            UserText::Output(_) => (text.into(), PRINTED),
            UserText::Other | UserText::Continued(_) | UserText::Agent(_) => (text.into(), BY_MODEL),
        },
        Block::ToolCall(call) => (told(&call.arguments).into(), IN_CALL),
        Block::ToolResult(result) => (result.plain_text().into(), PRINTED),
        _ => ("".into(), PRINTED),
    }
}

/// The strings and numbers of arguments, without JSON's escapes.
fn told(arguments: &Value) -> String {
    let mut told = String::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => open.extend(fields.values().rev()),
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::String(text) => told.push_str(text),
            Value::Number(number) => told.push_str(&number.to_string()),
            Value::Bool(_) | Value::Null => {}
        }
        told.push('\n');
    }
    told
}

/// The list that goes on to the next compaction: the rules, those that a later one took the place of marked, the user's
/// messages, then what weighs most of the new and the old, in about `max_tokens` with the words.
pub fn carry(previous: &[TrackedIdentifier], span: IdentifierSpan, max_tokens: u32) -> Vec<TrackedIdentifier> {
    let IdentifierSpan { rules, requests, uses, .. } = span;
    let words = standing(previous, rules).into_iter().chain(requests.into_carried(previous));
    let words: Vec<TrackedIdentifier> = words.collect();
    let plain = merged(previous, ranked(uses));
    let room = restore::beside(&words, (max_tokens as usize).saturating_mul(4)).saturating_mul(TRACKED);
    let said = words.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n");
    let plain = restore::fitting(plain.iter().collect(), room, said.clone()).into_iter().take(MAX_WANTED).cloned();
    // What a message says is carried by that as well.
    let (told, untold): (Vec<_>, Vec<_>) = plain.partition(|one| stands_in(&said, &one.text));
    let told = told.into_iter().map(|one| TrackedIdentifier { about: None, ..one });
    words.into_iter().chain(distinct(untold.into_iter().chain(told))).collect()
}

/// Returns those of a carried list that a summary answers for: the user's words, and as many identifiers as could be put back
/// in `max_tokens` if the summary told none of them.
pub fn expected(carried: &[TrackedIdentifier], max_tokens: u32) -> Vec<TrackedIdentifier> {
    let is_plain = |one: &&TrackedIdentifier| one.kind == IdentifierKind::Identifier;
    let (plain, words): (Vec<_>, Vec<_>) = carried.iter().partition(is_plain);
    let words: Vec<TrackedIdentifier> = words.into_iter().cloned().collect();
    let room = restore::beside(&words, (max_tokens as usize).saturating_mul(4));
    words.iter().chain(restore::leading(plain, room)).cloned().collect()
}

/// Old identifiers, faded, and new ones. Those of one weight keep their order, the new before the old.
fn merged(previous: &[TrackedIdentifier], new: Vec<TrackedIdentifier>) -> Vec<TrackedIdentifier> {
    let plain = previous.iter().filter(|old| old.kind == IdentifierKind::Identifier);
    let faded = plain.map(|old| TrackedIdentifier { weight: faded(old), ..old.clone() });
    let mut merged: Vec<TrackedIdentifier> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for wanted in new.into_iter().chain(faded) {
        let place = *places.entry(wanted.text.clone()).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(known) => {
                known.weight = known.weight.saturating_add(wanted.weight).min(MAX_WEIGHT);
                known.about = known.about.take().or(wanted.about);
            }
            None => merged.push(wanted),
        }
    }
    let mut measured = Measured::default();
    merged.retain(|one| measured.is_newest(one));
    merged.sort_by_key(|wanted| std::cmp::Reverse(wanted.weight));
    merged
}

/// A quarter less; what is told in words of its own was said once and counts on as half of that.
fn faded(old: &TrackedIdentifier) -> u32 {
    let least = if old.about.is_some() { old.weight.min(BY_MODEL / 2) } else { 0 };
    (old.weight - old.weight.div_ceil(4)).max(least)
}

fn distinct(all: impl Iterator<Item = TrackedIdentifier>) -> Vec<TrackedIdentifier> {
    let mut seen = HashSet::new();
    all.filter(|wanted| seen.insert(wanted.text.clone())).take(MAX_WANTED).collect()
}

/// Returns what a summary lacks of what is wanted, and counts what it keeps. `restored` of the report is 0: the caller
/// sets it. Identifiers, rules that hold and the newest requests are counted; rules that no longer hold are always given, to
/// be marked as such.
pub fn check<'w>(summary: &str, wanted: &'w [TrackedIdentifier]) -> (Vec<&'w TrackedIdentifier>, IdentifierReport) {
    let told = flat(summary);
    let kept = |wanted: &TrackedIdentifier| match wanted.kind {
        IdentifierKind::Identifier => match &wanted.about {
            Some(about) => clauses::told_in(summary, &wanted.text, about),
            None => stands_in(summary, &wanted.text),
        },
        IdentifierKind::Rule => quoted_in(&told, &wanted.text),
        // A "yes" may stand anywhere.
        IdentifierKind::Request | IdentifierKind::Message => match &wanted.asked {
            Some(asked) => quoted_in(&told, asked) && quoted_in(&told, &format!("\"{}\"", wanted.text)),
            None if is_brief(&wanted.text) => quoted_in(&told, &format!("\"{}\"", wanted.text)),
            None => quoted_in(&told, &wanted.text),
        },
        IdentifierKind::Replaced | IdentifierKind::LeftOut | IdentifierKind::Question => false,
    };
    let missing: Vec<&TrackedIdentifier> = wanted.iter().filter(|wanted| !kept(wanted)).collect();
    let counted = |one: &&TrackedIdentifier| {
        matches!(one.kind, IdentifierKind::Identifier | IdentifierKind::Rule | IdentifierKind::Request)
    };
    // A message may be a rule.
    let texts = |list: &[&TrackedIdentifier]| {
        list.iter().copied().filter(counted).map(|one| one.text.as_str()).collect::<HashSet<_>>().len() as u32
    };
    let found = texts(&wanted.iter().collect::<Vec<_>>());
    let kept = found - texts(&missing);
    let recall = if found == 0 { 1.0 } else { f64::from(kept) / f64::from(found) };
    (missing, IdentifierReport { found, kept, restored: 0, recall })
}

#[cfg(test)]
mod tests;
