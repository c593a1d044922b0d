//! The built-in summariser: fills the template from the transcript, by rules alone.
//!
//! The same task gives the same text. An earlier summary is read back into its sections and merged with what is
//! new, so that any number of updates keeps the task, the rules and the decisions, and forgets detail first.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

use super::super::settings::Template;
use super::text::{clip, quarters, within};
use super::verify::orders;
use super::{SummaryTask, identifiers};
use crate::domain::model::identifier::TrackedIdentifier;

pub(in crate::domain::summary) mod facts;
mod labels;
mod merge;
mod need;
mod render;

use facts::Facts;
use labels::Label;
use need::Ranked;
use render::{SummaryRoom, render};

/// Part of the output that passages about the focus topic may take: one in three.
const FOCUS_SHARE: u32 = 3;
/// Part of the room that a list of identifiers may take: one in eight.
const NAMED_SHARE: usize = 8;
/// Part of the room that is kept free for it: one in twelve.
const NAMED_AT_LEAST: usize = 12;
const MOST_NAMED: usize = 400;
/// Least weight of one that is listed: what was only printed once or twice is none.
const LIGHT: u32 = 3;
/// Most words of a summary in prose, the focus block aside.
const PROSE_WORDS: usize = 1000;

/// A summary of the task's span of at most `max_output_tokens`, four characters each. Never empty for a span or a
/// previous summary that says something and a bound of some tokens.
pub fn summarise(task: &SummaryTask) -> String {
    let text = written(task);
    match orders::without_quoted(&text, &[]) {
        Cow::Borrowed(_) => text,
        // Rare enough to read the span once more.
        Cow::Owned(_) => orders::without_quoted(&text, &orders::said(&task.messages)).into_owned(),
    }
}

fn written(task: &SummaryTask) -> String {
    let begins = task.previous.as_deref().is_none_or(|previous| previous.trim().is_empty());
    let facts = merge::with_previous(Facts::of(&task.messages, begins), task.previous.as_deref());
    let budget = (task.max_output_tokens as usize).saturating_mul(4);
    let focus = super::focus::block(task, task.max_output_tokens / FOCUS_SHARE);
    let focus = focus.map(|block| format!("\n\n{block}")).unwrap_or_default();
    let room = SummaryRoom {
        quarters: budget.saturating_sub(quarters(&focus)),
        words: if task.template == Template::Prose { PROSE_WORDS } else { usize::MAX },
    };
    let named = by_density(&facts);
    let listed: usize = named.iter().map(|one| quarters(one) + 2).sum();
    let kept_free = listed.min(room.quarters / NAMED_AT_LEAST);
    let beside = SummaryRoom { quarters: room.quarters - kept_free, ..room };
    let mut text = render(task, &Ranked::of(&facts), beside);
    text.push_str(&also_named(&named, &text, room));
    if !text.is_empty() && quarters(&text) <= room.quarters {
        return format!("{}{focus}", text.trim_start());
    }
    // A heading alone is too much: the goal says most in least.
    let said = facts.goal.first().or(facts.done.first()).or(facts.context.first()).cloned().unwrap_or_default();
    within(&clip(&said, budget / 4), budget).trim_end().to_owned()
}

/// The identifiers, those that weigh most for their room first.
fn by_density(facts: &Facts) -> Vec<String> {
    let mut named: Vec<String> = facts.named.iter().take(MOST_NAMED).cloned().collect();
    let weight = |one: &String| facts.weights.get(one).copied().unwrap_or(LIGHT);
    named.retain(|one| weight(one) >= LIGHT);
    named.sort_by_cached_key(|one| Reverse(identifiers::density(one, weight(one))));
    named
}

/// A line with the weightiest identifiers that the text does not name, in a part of what it leaves free.
fn also_named(named: &[String], text: &str, room: SummaryRoom) -> String {
    let free = room.quarters.saturating_sub(quarters(text)).min(room.quarters / NAMED_SHARE);
    let words = room.words.saturating_sub(text.split_whitespace().count() + 2);
    let opening = format!("\n\n{}", Label::Named.as_str());
    let Some(mut free) = free.checked_sub(opening.len()) else { return String::new() };
    let wanted: Vec<TrackedIdentifier> =
        named.iter().map(|one| TrackedIdentifier::identifier(one.as_str(), 1)).collect();
    let (missing, _) = identifiers::check(text, &wanted);
    let mut seen = HashSet::new();
    let fits = |one: &&str| {
        let size = quarters(one) + 2;
        let fits = size <= free && seen.insert(one.to_string());
        free -= if fits { size } else { 0 };
        fits
    };
    let listed: Vec<&str> = missing.into_iter().map(|one| one.text.as_str()).filter(fits).take(words).collect();
    if listed.is_empty() { String::new() } else { format!("{opening}{}", listed.join(", ")) }
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod long_tests;
#[cfg(test)]
mod tests;
