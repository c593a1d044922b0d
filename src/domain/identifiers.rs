//! Identifiers: the exact strings that a summary must not lose, and the user's own rules.
//!
//! Text is cut into short tokens first and each is classified by itself, so the work is linear on any input.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::compaction::IdentifierReport;
use super::message::{Block, Message};
use super::summary::speech::{Listener, Speech};
use super::summary::text::one_line;

mod restore;
mod rules;
mod token;

pub use restore::{Restored, restore};
pub use rules::rules;

/// Upper bound of what one span is asked to keep, and of what is carried on.
const MAX_WANTED: usize = 300;
const MAX_RULES: usize = 60;

/// The weight of a rule: no other reaches it.
const RULE: u32 = u32::MAX;
const MAX_WEIGHT: u32 = 400;
/// What one use adds, by who wrote it.
const BY_USER: u32 = 64;
const BY_MODEL: u32 = 8;
const IN_CALL: u32 = 6;
const PRINTED: u32 = 1;
/// The most that output of tools adds, however often it repeats itself.
const MOST_PRINTED: u32 = 5;

/// Something that a summary should keep literally, and how much it was used: old uses count less with every
/// compaction, so that what is used least and longest ago goes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    pub text: String,
    pub weight: u32,
}

impl Wanted {
    pub fn rule(text: impl Into<String>) -> Wanted {
        Wanted { text: text.into(), weight: RULE }
    }

    /// Whether it is a rule of the user's.
    pub fn is_rule(&self) -> bool {
        self.weight == RULE
    }
}

impl<'de> Deserialize<'de> for Wanted {
    /// A bare string is one from a record without weights.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wanted, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.get("text").unwrap_or(&value).as_str().unwrap_or_default().to_owned();
        let weight = value.get("weight").and_then(Value::as_u64).and_then(|weight| u32::try_from(weight).ok());
        let weight = weight.unwrap_or(if rules::is_rule(&text) { RULE } else { PRINTED });
        Ok(Wanted { text, weight })
    }
}

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

/// How often an identifier was used by people and models, how often it was only printed, and where last.
#[derive(Debug, Default, Clone, Copy)]
struct Uses {
    spoken: u32,
    printed: u32,
    last: usize,
}

/// What a summary of this span should keep: the user's rules first, then the identifiers, those that were used most
/// and last in front. What people and the model wrote weighs more than what tools printed.
pub fn extract_span(messages: &[Message]) -> Vec<Wanted> {
    let mut span = Span::default();
    messages.iter().for_each(|message| span.add(message));
    span.wanted()
}

/// [`extract_span`] for a span that is read piece by piece.
#[derive(Debug, Default)]
pub struct Span {
    messages: usize,
    listener: Listener,
    rules: Vec<String>,
    uses: HashMap<String, Uses>,
}

impl Span {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        let speech = self.listener.hear(message);
        if let Speech::User(text) = &speech {
            self.rules.extend(rules(text));
        }
        let (at, uses) = (self.messages, &mut self.uses);
        self.messages += 1;
        for block in &message.content {
            let (text, weight) = readable(block, &speech);
            token::each(&text, &mut |identifier| {
                if weight == PRINTED && token::is_measure(&identifier) {
                    return;
                }
                let uses = uses.entry(identifier).or_default();
                uses.last = at;
                let sum = if weight == PRINTED { &mut uses.printed } else { &mut uses.spoken };
                *sum = sum.saturating_add(weight);
            });
        }
    }

    /// What a summary should keep of it all.
    pub fn wanted(self) -> Vec<Wanted> {
        let weigh = |(text, uses): (String, Uses)| (weighed(text, uses), uses.last);
        let mut ranked: Vec<(Wanted, usize)> = self.uses.into_iter().map(weigh).collect();
        ranked.sort_unstable_by(|(a, a_last), (b, b_last)| {
            (b.weight, b_last).cmp(&(a.weight, a_last)).then_with(|| a.text.cmp(&b.text))
        });
        let newest_rules = self.rules.len().saturating_sub(MAX_RULES);
        let rules = self.rules.into_iter().skip(newest_rules).map(Wanted::rule);
        distinct(rules.chain(ranked.into_iter().map(|(wanted, _)| wanted)))
    }
}

fn weighed(text: String, uses: Uses) -> Wanted {
    Wanted { text, weight: uses.spoken.saturating_add(uses.printed.min(MOST_PRINTED)).min(MAX_WEIGHT) }
}

fn readable<'m>(block: &'m Block, speech: &Speech) -> (Cow<'m, str>, u32) {
    match block {
        Block::Text { text, .. } => match speech {
            Speech::User(_) => (text.into(), BY_USER),
            Speech::Output(_) => (text.into(), PRINTED),
            Speech::Other | Speech::Continued(_) => (text.into(), BY_MODEL),
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

/// The list that goes on to the next compaction, in about `max_tokens`: all rules, then what weighs most of the new
/// and the old.
pub fn carry(previous: &[Wanted], new: Vec<Wanted>, max_tokens: u32) -> Vec<Wanted> {
    let (mut rules, mut plain) = (Vec::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    let faded = previous.iter().map(|old| Wanted { weight: faded(old), ..old.clone() });
    for (age, list) in [(0, new), (1, faded.collect::<Vec<_>>())] {
        for wanted in list {
            if wanted.is_rule() {
                rules.push((age, wanted));
                continue;
            }
            let place = *places.entry(wanted.text.clone()).or_insert(plain.len());
            match plain.get_mut(place) {
                Some(Wanted { weight, .. }) => *weight = weight.saturating_add(wanted.weight).min(MAX_WEIGHT),
                None => plain.push(wanted),
            }
        }
    }
    // Old rules stand before new ones; identifiers of one weight keep their order, the new before the old.
    rules.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    plain.sort_by_key(|wanted| std::cmp::Reverse(wanted.weight));
    let rules = distinct(rules.into_iter().map(|(_, rule)| rule));
    let surplus = rules.len().saturating_sub(2 * MAX_RULES);
    let rules: Vec<&Wanted> = rules.iter().skip(surplus).collect();
    let room = restore::beside(&rules, (max_tokens as usize).saturating_mul(4));
    let plain = restore::fitting(plain.iter().collect(), room);
    distinct(rules.into_iter().chain(plain).cloned())
}

fn faded(old: &Wanted) -> u32 {
    if old.is_rule() { RULE } else { old.weight - old.weight.div_ceil(4).min(old.weight) }
}

fn distinct(all: impl Iterator<Item = Wanted>) -> Vec<Wanted> {
    let mut seen = HashSet::new();
    all.filter(|wanted| seen.insert(wanted.text.clone())).take(MAX_WANTED).collect()
}

/// What a summary keeps of what is wanted. `restored` of the report is 0: that is the caller's to say.
pub fn check<'w>(summary: &str, wanted: &'w [Wanted]) -> (Vec<&'w Wanted>, IdentifierReport) {
    let flat = one_line(summary).to_lowercase();
    let kept = |wanted: &&Wanted| {
        if wanted.is_rule() {
            flat.contains(wanted.text.to_lowercase().trim_end_matches(['.', '!', '…']))
        } else {
            stands_in(summary, &wanted.text)
        }
    };
    let missing: Vec<&Wanted> = wanted.iter().filter(|wanted| !kept(wanted)).collect();
    let found = wanted.len() as u32;
    let kept = found - missing.len() as u32;
    let recall = if found == 0 { 1.0 } else { f64::from(kept) / f64::from(found) };
    (missing, IdentifierReport { found, kept, restored: 0, recall })
}

/// Whether the identifier stands in the text by itself, not as part of a longer word or number.
fn stands_in(text: &str, identifier: &str) -> bool {
    text.match_indices(identifier).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + identifier.len()..].chars().next();
        let inside = |c: Option<char>, edge: Option<char>| {
            c.is_some_and(char::is_alphanumeric) && edge.is_some_and(char::is_alphanumeric)
        };
        !inside(before, identifier.chars().next()) && !inside(after, identifier.chars().next_back())
    })
}

#[cfg(test)]
mod tests;
