//! Identifiers: the exact strings that a summary must not lose, and the user's own rules.
//!
//! Text is cut into short tokens first and each is classified by itself, so the work is linear on any input.

use std::collections::{HashMap, HashSet};

use super::compaction::IdentifierReport;
use super::message::{Block, Message, Role};
use super::summary::framing;
use super::summary::text::{clip, one_line, quarters, sentences, words};

mod token;

/// Upper bound of what one span is asked to keep, and of what is carried on.
const MAX_WANTED: usize = 200;
const MAX_RULES: usize = 30;
const MAX_RULE_CHARS: usize = 300;
/// Longer user messages are pasted documents: their rules are the document's.
const MAX_RULE_MESSAGE: usize = 8000;

const RULE_WORDS: [&str; 12] = [
    "never",
    "always",
    "must",
    "mustn't",
    "don't",
    "only",
    "forbidden",
    "required",
    "avoid",
    "cannot",
    "ensure",
    "shall",
];
const REPORTED: [&str; 6] = ["i", "we", "they", "it", "he", "she"];
const RULE_PHRASES: [&str; 12] = [
    "do not",
    "make sure",
    "at most",
    "at least",
    "no more than",
    "必ず",
    "禁止",
    "しないで",
    "不要",
    "必须",
    "绝不",
    "一定要",
];

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

/// The rules in a user's text: sentences that say never, always, must, do not and the like, in their own words.
pub fn rules(text: &str) -> Vec<String> {
    if text.len() > MAX_RULE_MESSAGE {
        return Vec::new();
    }
    sentences(text).into_iter().filter(|sentence| is_rule(sentence)).map(|rule| clip(&rule, MAX_RULE_CHARS)).collect()
}

fn is_rule(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let phrase = RULE_PHRASES.iter().any(|phrase| lower.contains(phrase));
    let mut before = String::new();
    let worded = words(sentence).any(|word| {
        // "I don't remember" says how things are, not how they are to be.
        let states = REPORTED.contains(&before.as_str()) && matches!(word.as_str(), "don't" | "cannot" | "only");
        let rule = RULE_WORDS.contains(&word.as_str()) && !states;
        before = word;
        rule
    });
    (phrase || worded) && !sentence.ends_with('?') && (sentence.contains(' ') || !sentence.is_ascii())
}

/// What a summary of this span should keep: the user's rules first, then the identifiers, those that were used most
/// and last in front. What people and the model wrote weighs more than what tools printed.
pub fn extract_span(messages: &[Message]) -> Vec<String> {
    let mut span = Span::default();
    messages.iter().for_each(|message| span.add(message));
    span.wanted()
}

/// [`extract_span`] for a span that is read piece by piece.
#[derive(Debug, Default)]
pub struct Span {
    messages: usize,
    rules: Vec<String>,
    /// By weight, then by the last message that has it.
    ranks: HashMap<String, (u32, usize)>,
}

impl Span {
    /// Takes in the next message of the span.
    pub fn add(&mut self, message: &Message) {
        if message.role == Role::User {
            let text = message.plain_text();
            if !framing::is_framed(&text) {
                self.rules.extend(rules(&text));
            }
        }
        let (at, ranks) = (self.messages, &mut self.ranks);
        self.messages += 1;
        for block in &message.content {
            let (text, weight) = readable(block, message.role);
            let printed = matches!(block, Block::ToolResult(_));
            token::each(&text, &mut |identifier| {
                if printed && token::is_measure(&identifier) {
                    return;
                }
                let rank = ranks.entry(identifier).or_default();
                *rank = (rank.0.saturating_add(weight), at);
            });
        }
    }

    /// What a summary should keep of it all.
    pub fn wanted(self) -> Vec<String> {
        let mut ranked: Vec<(String, (u32, usize))> = self.ranks.into_iter().collect();
        ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let identifiers = ranked.into_iter().map(|(identifier, _)| identifier);
        let newest_rules = self.rules.len().saturating_sub(MAX_RULES);
        distinct(self.rules.into_iter().skip(newest_rules).chain(identifiers))
    }
}

fn readable(block: &Block, role: Role) -> (std::borrow::Cow<'_, str>, u32) {
    match block {
        Block::Text { text, .. } => (text.into(), if role == Role::User { 8 } else { 4 }),
        Block::ToolCall(call) => (call.arguments.to_string().into(), 3),
        Block::ToolResult(result) => (result.plain_text().into(), if result.is_error { 2 } else { 1 }),
        _ => ("".into(), 0),
    }
}

/// The list that goes on to the next compaction: rules old and new, then what is new, then the rest of the old.
pub fn carry(previous: &[String], new: Vec<String>) -> Vec<String> {
    let rule = |text: &&String| is_rule(text);
    let mut rules: Vec<String> = previous.iter().filter(rule).chain(new.iter().filter(rule)).cloned().collect();
    rules = distinct(rules.into_iter());
    let surplus = rules.len().saturating_sub(2 * MAX_RULES);
    let old = previous.iter().filter(|text| !is_rule(text)).cloned();
    let new = new.into_iter().filter(|text| !is_rule(text));
    distinct(rules.into_iter().skip(surplus).chain(new).chain(old))
}

fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    all.filter(|text| seen.insert(text.clone())).take(MAX_WANTED).collect()
}

/// What a summary keeps of what is wanted. `restored` of the report is 0 until [`restore`] has run.
pub fn check(summary: &str, wanted: &[String]) -> (Vec<String>, IdentifierReport) {
    let flat = one_line(summary).to_lowercase();
    let missing: Vec<String> = wanted
        .iter()
        .filter(|identifier| {
            let kept = if is_rule(identifier) {
                flat.contains(identifier.to_lowercase().trim_end_matches(['.', '!', '…']))
            } else {
                stands_in(summary, identifier)
            };
            !kept
        })
        .cloned()
        .collect();
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

/// A block that gives back what a summary left out, and how much of it fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub block: String,
    pub count: u32,
}

/// The missing identifiers under the heading `Identifiers`, as many from the front as `max_tokens` (four
/// characters each) hold. `None`: nothing is missing or nothing fits.
pub fn restore(missing: &[String], max_tokens: u32) -> Option<Restored> {
    const HEADING: &str = "## Identifiers";
    let mut left = (max_tokens as usize * 4).checked_sub(HEADING.len())?;
    let mut rules = String::new();
    let mut plain: Vec<&str> = Vec::new();
    let mut count = 0;
    for identifier in missing {
        let cost = quarters(identifier) + 4;
        if cost > left {
            continue;
        }
        left -= cost;
        count += 1;
        if is_rule(identifier) {
            rules.push_str(&format!("\n- \"{identifier}\""));
        } else {
            plain.push(identifier);
        }
    }
    let plain = if plain.is_empty() { String::new() } else { format!("\n{}", plain.join(", ")) };
    (count > 0).then(|| Restored { block: format!("{HEADING}{rules}{plain}"), count })
}

#[cfg(test)]
mod tests;
