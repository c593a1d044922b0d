//! The user's rules through compactions: which stand, and which a later one took the place of.

use std::collections::HashSet;

use super::rules::{RuleWords, replaces};
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};

/// Most rules of one span, and twice as many carried on.
pub const MAX_RULES: usize = 60;
/// Rules that no longer hold, and are still said to.
const MAX_REPLACED: usize = 8;

/// A rule as it was said on the path.
#[derive(Debug)]
pub struct SaidRule {
    pub text: String,
    /// Its message is in the new context.
    pub stands: bool,
}

/// A rule on its way, oldest first.
struct Carried {
    rule: TrackedIdentifier,
    words: RuleWords,
    stands: bool,
}

/// The rules that a summary has to carry, oldest first, then those that no longer hold.
pub fn standing(previous: &[TrackedIdentifier], said: Vec<SaidRule>) -> Vec<TrackedIdentifier> {
    let old = previous.iter().filter(|one| matches!(one.kind, IdentifierKind::Rule | IdentifierKind::Replaced));
    let old = old.map(|one| (one.clone(), false));
    let new = newest(said, 2 * MAX_RULES).into_iter().map(|rule| (TrackedIdentifier::rule(rule.text), rule.stands));
    let mut carried = last_of_each(old.chain(new));
    mark_replaced(&mut carried);
    let (gone, rules): (Vec<Carried>, Vec<Carried>) =
        carried.into_iter().filter(|one| !one.stands).partition(|one| one.rule.kind == IdentifierKind::Replaced);
    let texts = |list: Vec<Carried>| list.into_iter().map(|one| one.rule).collect::<Vec<_>>();
    newest(texts(rules), 2 * MAX_RULES).into_iter().chain(newest(texts(gone), MAX_REPLACED)).collect()
}

/// The newest of a list, in order.
pub fn newest<T>(mut list: Vec<T>, most: usize) -> Vec<T> {
    list.drain(..list.len().saturating_sub(most));
    list
}

/// Each rule where it was said last.
fn last_of_each(rules: impl Iterator<Item = (TrackedIdentifier, bool)>) -> Vec<Carried> {
    let rules: Vec<(TrackedIdentifier, bool)> = rules.collect();
    let mut seen = HashSet::new();
    let mut last: Vec<Carried> = rules
        .into_iter()
        .rev()
        .filter(|(rule, _)| seen.insert(rule.text.to_lowercase()))
        .map(|(rule, stands)| Carried { words: RuleWords::of(&rule.text), rule, stands })
        .collect();
    last.reverse();
    last
}

fn mark_replaced(rules: &mut [Carried]) {
    for at in 0..rules.len() {
        let (this, later) = rules.split_at_mut(at + 1);
        let Some(this) = this.last_mut() else { continue };
        if later.iter().any(|newer| newer.rule.is_rule() && replaces(&newer.words, &this.words)) {
            this.rule = TrackedIdentifier::replaced(this.rule.text.clone());
        }
    }
}
