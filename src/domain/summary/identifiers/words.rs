//! The user's words within a room: which messages and rules are shown, and how much of each.
//!
//! The newest requests come first; then messages that say how things are to be, then others, the newer first. Long ones
//! are shortened before short ones are left out, and what is left out is said.

use std::cmp::Reverse;
use std::collections::HashSet;

use uuid::Uuid;

use super::occurrence::{flat, quoted_in};
use super::rules::is_strict;
use super::shorten::{SHORTEST, fitted};
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::domain::summary::text::{quarters, takes};

/// Most messages that are carried from summary to summary.
pub const MOST_CARRIED: usize = 400;
/// Room for them in a record, in quarter tokens.
const CARRIED: usize = 4 * 20_000;
/// The most that is shown of a message before the newest requests, in quarter tokens: what is longer is a paste.
const LONGEST: usize = 1_000;
/// Weights of a message: with what must or must not be; with another rule, a correction or a number; any other.
pub const STRICT: u32 = 3;
pub const WEIGHTY: u32 = 2;
pub const LIGHT: u32 = 1;
pub const RULES: &str = "## Standing rules";
/// Stands before a rule that a later one took the place of.
pub const REPLACED: &str = "No longer holds: ";
pub const MESSAGES: &str = "## User's messages, newest last";
/// What stands around a quoted line.
const QUOTED: usize = 6;
/// What stands around the question before a short reply.
const ASKED: usize = 24;
/// Line that stands for messages left out.
const GAP: usize = 72;

/// The messages as a record carries them, oldest first: within its bounds, those that have no room by their number.
pub fn bounded(said: Vec<TrackedIdentifier>) -> Vec<TrackedIdentifier> {
    let messages = said.iter().filter(|one| one.kind != IdentifierKind::LeftOut).count();
    if messages <= MOST_CARRIED && said.iter().map(size).sum::<usize>() <= CARRIED {
        return said;
    }
    let bounds = Bounds { messages: MOST_CARRIED, each: usize::MAX };
    let shares = Shares::of(&said.iter().collect::<Vec<_>>(), CARRIED, bounds).0;
    let mut carried: Vec<TrackedIdentifier> = Vec::new();
    for (one, share) in said.into_iter().zip(shares) {
        match (share.and_then(|share| text_within(&one, share)), carried.last_mut()) {
            (Some(text), _) => carried.push(TrackedIdentifier { text, ..one }),
            (None, Some(gap)) if gap.kind == IdentifierKind::LeftOut => gap.weight += count(&one),
            (None, _) => carried.push(TrackedIdentifier::left_out(count(&one), one.entry)),
        }
    }
    carried
}

/// The tokens that rules and messages take where all are shown whole, four characters each.
pub fn needed(wanted: &[TrackedIdentifier]) -> u32 {
    let said: Vec<&TrackedIdentifier> = wanted.iter().filter(|one| one.kind.is_said()).collect();
    let rules: Vec<&TrackedIdentifier> = wanted.iter().filter(|one| one.is_rule()).collect();
    let others = wanted.iter().filter(|one| matches!(one.kind, IdentifierKind::Replaced | IdentifierKind::Question));
    let others: usize = others.map(|one| quoted_cost(&one.text) + ASKED).sum();
    let shown = |one: &&TrackedIdentifier| match one.kind {
        IdentifierKind::Message => size(one).min(LONGEST),
        _ => size(one),
    };
    let said_size: usize = said.iter().map(shown).sum();
    let all = size_of(RULES, rules_cost(&homeless(&rules, &said))) + size_of(MESSAGES, said_size) + others;
    u32::try_from(all.div_ceil(4)).unwrap_or(u32::MAX)
}

/// Rules and messages that have room, in their order.
pub struct UsersWords<'w> {
    pub rules: Vec<&'w TrackedIdentifier>,
    /// Rules that no longer hold.
    pub gone: Vec<&'w TrackedIdentifier>,
    /// Lines of messages, and of those that are left out.
    pub messages: Vec<String>,
    /// Messages among them.
    pub shown: usize,
    /// In quarter tokens.
    pub spent: usize,
}

impl<'w> UsersWords<'w> {
    /// Each sort may have half of the room, and what the other leaves. A rule that a message shows is said by that; a
    /// message that is a rule, and nothing else, stands among the rules.
    pub fn fitting(missing: &[&'w TrackedIdentifier], room: usize) -> UsersWords<'w> {
        let of = |kind: IdentifierKind| missing.iter().copied().filter(move |one| one.kind == kind).collect::<Vec<_>>();
        let (rules, gone) = (of(IdentifierKind::Rule), of(IdentifierKind::Replaced));
        let said: Vec<&TrackedIdentifier> = missing.iter().copied().filter(|one| one.kind.is_said()).collect();
        let for_rules = size_of(RULES, rules_cost(&homeless(&rules, &said)));
        let texts = texts(&said, room.saturating_sub(for_rules.min(room / 2) + MESSAGES.len()));
        let ruled: HashSet<&str> = rules.iter().chain(&gone).map(|rule| rule.text.as_str()).collect();
        let is_rule = |one: &TrackedIdentifier| one.asked.is_none() && ruled.contains(one.text.as_str());
        let stands: HashSet<&str> = said
            .iter()
            .zip(&texts)
            .filter(|(one, text)| text.is_some() && is_rule(one))
            .map(|(one, _)| one.text.as_str())
            .collect();
        let moved: usize = stands.iter().map(|text| quoted_cost(text)).sum();
        let others = said.iter().zip(texts).filter(|(one, text)| text.is_none() || !is_rule(one));
        let (messages, shown) = lines(others, room.saturating_sub(moved));
        let mut spent = moved + size_of(MESSAGES, messages.iter().map(|line| quarters(line) + 1).sum());
        let told = flat(&messages.join("\n"));
        let untold = |rule: &&&TrackedIdentifier| !stands.contains(rule.text.as_str()) && !quoted_in(&told, &rule.text);
        let wanted =
            most_wanted(rules.iter().filter(untold).copied().collect(), room.saturating_sub(spent + RULES.len()));
        spent += size_of(RULES, rules_cost(&wanted));
        let wanted: HashSet<&str> =
            wanted.into_iter().map(|rule| rule.text.as_str()).chain(stands.iter().copied()).collect();
        let mut for_gone = (room / 8).saturating_sub(REPLACED.len());
        let fits = |rule: &&TrackedIdentifier| {
            stands.contains(rule.text.as_str()) || takes(&mut for_gone, quoted_cost(&rule.text) + REPLACED.len())
        };
        let gone = gone.into_iter().filter(fits).collect();
        let rules = rules.into_iter().filter(|rule| wanted.contains(rule.text.as_str())).collect();
        UsersWords { rules, gone, messages, shown, spent }
    }
}

/// The rules that no message says which is short enough to be shown whole wherever it is shown.
fn homeless<'w>(rules: &[&'w TrackedIdentifier], said: &[&TrackedIdentifier]) -> Vec<&'w TrackedIdentifier> {
    let short: Vec<&str> = said.iter().filter(|one| size(one) <= SHORTEST).map(|one| one.text.as_str()).collect();
    let told = flat(&short.join("\n"));
    rules.iter().copied().filter(|rule| !quoted_in(&told, &rule.text)).collect()
}

fn rules_cost(rules: &[&TrackedIdentifier]) -> usize {
    rules.iter().map(|rule| quoted_cost(&rule.text)).sum()
}

fn size_of(heading: &str, lines: usize) -> usize {
    if lines == 0 { 0 } else { heading.len() + lines }
}

/// The rules that have room, what forbids or demands before what is preferred, the newer first; in their order.
fn most_wanted(rules: Vec<&TrackedIdentifier>, room: usize) -> Vec<&TrackedIdentifier> {
    let mut ranked: Vec<(bool, usize, &TrackedIdentifier)> =
        rules.into_iter().enumerate().map(|(at, rule)| (is_strict(&rule.text), at, rule)).collect();
    ranked.sort_by_key(|(strict, at, _)| Reverse((*strict, *at)));
    let mut left = room;
    ranked.retain(|(_, _, rule)| takes(&mut left, quoted_cost(&rule.text)));
    ranked.sort_by_key(|(_, at, _)| *at);
    ranked.into_iter().map(|(_, _, rule)| rule).collect()
}

/// The texts of the messages in this room; `None`: it is left out.
fn texts(said: &[&TrackedIdentifier], room: usize) -> Vec<Option<String>> {
    let shares = Shares::of(said, room, Bounds { messages: usize::MAX, each: LONGEST }).0;
    said.iter().zip(shares).map(|(one, share)| text_within(one, share?)).collect()
}

/// The messages as lines, what is left out between them stated, and how many are shown.
fn lines<'w>(
    told: impl Iterator<Item = (&'w &'w TrackedIdentifier, Option<String>)>,
    room: usize,
) -> (Vec<String>, usize) {
    let told: Vec<(&TrackedIdentifier, Option<String>)> =
        told.map(|(one, text)| (*one, text.map(|text| line(one, &text)))).collect();
    let shown: Vec<&String> = told.iter().filter_map(|(_, line)| line.as_ref()).collect();
    let (spent, shown) = (shown.iter().map(|line| quarters(line) + 1).sum::<usize>(), shown.len());
    let (mut lines, mut gap) = (Gaps { lines: Vec::new(), left: room.saturating_sub(spent + MESSAGES.len()) }, None);
    for (one, line) in told {
        match line {
            Some(line) => {
                lines.state(gap.take());
                lines.lines.push(line);
            }
            None => gap = Some(gap.map_or((count(one), one.entry), |(sum, from)| (sum + count(one), from))),
        }
    }
    lines.state(gap);
    (lines.lines, shown)
}

/// Lines of messages, and room for the statements of what is left out between them.
struct Gaps {
    lines: Vec<String>,
    left: usize,
}

impl Gaps {
    fn state(&mut self, gap: Option<(u32, Option<Uuid>)>) {
        let Some((count, from)) = gap.filter(|_| self.left >= GAP) else { return };
        self.left -= GAP;
        let place =
            from.map(|entry| if count == 1 { format!(": entry {entry}") } else { format!(", from entry {entry} on") });
        self.lines.push(format!("- ({count} left out{})", place.unwrap_or_default()));
    }
}

fn line(one: &TrackedIdentifier, text: &str) -> String {
    match &one.asked {
        Some(asked) => format!("- (the agent asked: \"{asked}\") \"{text}\""),
        None => format!("- \"{text}\""),
    }
}

/// Messages that an item stands for.
fn count(one: &TrackedIdentifier) -> u32 {
    if one.kind == IdentifierKind::LeftOut { one.weight } else { 1 }
}

/// The room that a quoted line takes, in quarter tokens.
pub fn quoted_cost(text: &str) -> usize {
    quarters(text) + QUOTED
}

/// The room that a message takes whole.
fn size(one: &TrackedIdentifier) -> usize {
    match one.kind {
        IdentifierKind::LeftOut => GAP,
        _ => quoted_cost(&one.text) + asked_cost(one),
    }
}

fn asked_cost(one: &TrackedIdentifier) -> usize {
    one.asked.as_ref().map_or(0, |asked| quarters(asked) + ASKED)
}

/// The least room in which a message says anything.
fn least(one: &TrackedIdentifier) -> usize {
    size(one).min(SHORTEST + QUOTED + asked_cost(one))
}

fn text_within(one: &TrackedIdentifier, share: usize) -> Option<String> {
    fitted(one, share.checked_sub(QUOTED + asked_cost(one))?)
}

/// Bounds of the messages before the newest requests: their number, and the room of each.
struct Bounds {
    messages: usize,
    each: usize,
}

/// The room of each message, in quarter tokens; `None`: it is left out.
struct Shares(Vec<Option<usize>>);

impl Shares {
    fn of(said: &[&TrackedIdentifier], room: usize, bounds: Bounds) -> Shares {
        let mut shares = Shares(vec![None; said.len()]);
        let left = room - shares.newest(said, room - for_gaps(said, room));
        let newest = shares.0.iter().flatten().count();
        let mut chosen = chosen(said, left, bounds.messages.saturating_sub(newest));
        let mut shown: Vec<bool> = shares.0.iter().map(Option::is_some).collect();
        chosen.iter().for_each(|at| shown[*at] = true);
        let mut taken: usize = chosen.iter().map(|at| least(said[*at])).sum();
        while let Some(last) = chosen.last().copied().filter(|_| taken + gaps(&shown) * GAP > left) {
            chosen.pop();
            shown[last] = false;
            taken -= least(said[last]);
        }
        let level = level(chosen.iter().map(|at| size(said[*at])).collect(), left - (gaps(&shown) * GAP).min(left));
        chosen.into_iter().for_each(|at| shares.0[at] = Some(size(said[at]).min(level).min(bounds.each)));
        shares
    }

    /// Gives the newest requests their room, and returns how much that is. What older ones don't need, a newer one may have.
    fn newest(&mut self, said: &[&TrackedIdentifier], room: usize) -> usize {
        let newest: Vec<usize> = (0..said.len()).filter(|at| said[*at].kind == IdentifierKind::Request).collect();
        let mut left = room;
        for (nth, at) in newest.iter().enumerate().rev() {
            let older: usize = newest.iter().take(nth).map(|at| size(said[*at])).sum();
            let own = left.saturating_sub(older.min(left / (nth + 1) * nth)).min(size(said[*at]));
            if own >= least(said[*at]) {
                self.0[*at] = Some(own);
                left -= own;
            }
        }
        room - left
    }
}

/// The places of the other messages of which at least the shortest has room, those first that weigh most.
fn chosen(said: &[&TrackedIdentifier], room: usize, most: usize) -> Vec<usize> {
    let mut ranked: Vec<usize> = (0..said.len()).filter(|at| said[*at].kind == IdentifierKind::Message).collect();
    ranked.sort_by_key(|at| Reverse((said[*at].weight, *at)));
    let mut left = room;
    ranked.into_iter().filter(|at| takes(&mut left, least(said[*at]))).take(most).collect()
}

/// What the newest requests leave of the room, so that it can be said that other messages are left out.
fn for_gaps(said: &[&TrackedIdentifier], room: usize) -> usize {
    let newest: Vec<bool> = said.iter().map(|one| one.kind == IdentifierKind::Request).collect();
    (gaps(&newest) * GAP).min(room / 4)
}

/// Runs of messages that are not shown.
fn gaps(shown: &[bool]) -> usize {
    let begins = |pair: &&[bool]| pair[0] && !pair[1];
    usize::from(shown.first() == Some(&false)) + shown.windows(2).filter(begins).count()
}

/// The size to which the largest are cut, so that all fit the room.
fn level(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let (mut left, count) = (room, sizes.len());
    for (at, size) in sizes.into_iter().enumerate() {
        let share = left / (count - at);
        if size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests;
