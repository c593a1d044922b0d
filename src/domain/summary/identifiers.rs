//! Identifiers: the exact strings that a summary must not lose, and the user's own rules.
//!
//! Text is cut into short tokens first and each is classified by itself, so the work is linear on any input.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::message::{Block, Message};
use crate::domain::summary::text::one_line;
use crate::domain::summary::user_text::{UserText, UserTextClassifier};

mod occurrence;
mod restore;
mod rules;
mod token;
mod weight;

use weight::{BY_MODEL, BY_USER, IN_CALL, MAX_WEIGHT, MOST_PRINTED, PRINTED, RULE};

pub use occurrence::stands_in;
pub use restore::restore;
pub use rules::rules;

/// Identifiers that the summary should keep, of the summarised span and of earlier ones: how many there are, how many
/// the summary's body kept by itself, how many code put back around it. `recall` (0-1) is measured before restoring.
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
const MAX_RULES: usize = 60;

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

/// Lists what a summary of this span should keep: the user's rules first, then the identifiers, those that were used
/// most and last in front. Words of people and of the model weigh more than what tools printed.
pub fn extract_span(messages: &[Message]) -> Vec<TrackedIdentifier> {
    let mut span = IdentifierSpan::default();
    messages.iter().for_each(|message| span.add(message));
    span.wanted()
}

/// [`extract_span`] for a span that is read piece by piece.
#[derive(Debug, Default)]
pub struct IdentifierSpan {
    messages: usize,
    classifier: UserTextClassifier,
    rules: Vec<String>,
    uses: HashMap<String, Uses>,
}

impl IdentifierSpan {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        let kind = self.classifier.classify(message);
        if let UserText::Said(text) = &kind {
            self.rules.extend(rules(text));
        }
        let (at, uses) = (self.messages, &mut self.uses);
        self.messages += 1;
        for block in &message.content {
            let (text, weight) = readable(block, &kind);
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

    /// Lists what a summary should keep of the whole span.
    pub fn wanted(self) -> Vec<TrackedIdentifier> {
        let weigh = |(text, uses): (String, Uses)| (weighed(text, uses), uses.last);
        let mut ranked: Vec<(TrackedIdentifier, usize)> = self.uses.into_iter().map(weigh).collect();
        ranked.sort_unstable_by(|(a, a_last), (b, b_last)| {
            (b.weight, b_last).cmp(&(a.weight, a_last)).then_with(|| a.text.cmp(&b.text))
        });
        let newest_rules = self.rules.len().saturating_sub(MAX_RULES);
        let rules = self.rules.into_iter().skip(newest_rules).map(TrackedIdentifier::rule);
        distinct(rules.chain(ranked.into_iter().map(|(wanted, _)| wanted)))
    }
}

fn weighed(text: String, uses: Uses) -> TrackedIdentifier {
    TrackedIdentifier { text, weight: uses.spoken.saturating_add(uses.printed.min(MOST_PRINTED)).min(MAX_WEIGHT) }
}

fn readable<'m>(block: &'m Block, kind: &UserText) -> (Cow<'m, str>, u32) {
    match block {
        Block::Text { text, .. } => match kind {
            UserText::Said(_) => (text.into(), BY_USER),
            UserText::Output(_) => (text.into(), PRINTED),
            UserText::Other | UserText::Continued(_) => (text.into(), BY_MODEL),
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
pub fn carry(previous: &[TrackedIdentifier], new: Vec<TrackedIdentifier>, max_tokens: u32) -> Vec<TrackedIdentifier> {
    let (mut rules, mut plain) = (Vec::new(), Vec::new());
    let mut places: HashMap<String, usize> = HashMap::new();
    let faded = previous.iter().map(|old| TrackedIdentifier { weight: faded(old), ..old.clone() });
    for (age, list) in [(0, new), (1, faded.collect::<Vec<_>>())] {
        for wanted in list {
            if wanted.is_rule() {
                rules.push((age, wanted));
                continue;
            }
            let place = *places.entry(wanted.text.clone()).or_insert(plain.len());
            match plain.get_mut(place) {
                Some(TrackedIdentifier { weight, .. }) => {
                    *weight = weight.saturating_add(wanted.weight).min(MAX_WEIGHT)
                }
                None => plain.push(wanted),
            }
        }
    }
    // Old rules stand before new ones; identifiers of one weight keep their order, the new before the old.
    rules.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    plain.sort_by_key(|wanted| std::cmp::Reverse(wanted.weight));
    let rules = distinct(rules.into_iter().map(|(_, rule)| rule));
    let surplus = rules.len().saturating_sub(2 * MAX_RULES);
    let rules: Vec<&TrackedIdentifier> = rules.iter().skip(surplus).collect();
    let room = restore::beside(&rules, (max_tokens as usize).saturating_mul(4));
    let plain = restore::fitting(plain.iter().collect(), room);
    distinct(rules.into_iter().chain(plain).cloned())
}

fn faded(old: &TrackedIdentifier) -> u32 {
    if old.is_rule() { RULE } else { old.weight - old.weight.div_ceil(4).min(old.weight) }
}

fn distinct(all: impl Iterator<Item = TrackedIdentifier>) -> Vec<TrackedIdentifier> {
    let mut seen = HashSet::new();
    all.filter(|wanted| seen.insert(wanted.text.clone())).take(MAX_WANTED).collect()
}

/// Returns what a summary lacks of what is wanted, and counts what it keeps. `restored` of the report is 0: the caller
/// sets it.
pub fn check<'w>(summary: &str, wanted: &'w [TrackedIdentifier]) -> (Vec<&'w TrackedIdentifier>, IdentifierReport) {
    let flat = one_line(summary).to_lowercase();
    let kept = |wanted: &&TrackedIdentifier| {
        if wanted.is_rule() {
            flat.contains(wanted.text.to_lowercase().trim_end_matches(['.', '!', '…']))
        } else {
            stands_in(summary, &wanted.text)
        }
    };
    let missing: Vec<&TrackedIdentifier> = wanted.iter().filter(|wanted| !kept(wanted)).collect();
    let found = wanted.len() as u32;
    let kept = found - missing.len() as u32;
    let recall = if found == 0 { 1.0 } else { f64::from(kept) / f64::from(found) };
    (missing, IdentifierReport { found, kept, restored: 0, recall })
}

#[cfg(test)]
mod tests;
