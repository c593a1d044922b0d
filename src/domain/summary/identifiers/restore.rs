//! Giving back what a summary left out.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;

use super::occurrence::stands_in;
use super::words::{MESSAGES, REPLACED, RULES, UsersWords, needed, quoted_cost};
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::domain::summary::text::{quarters, takes};

const HEADING: &str = "## Identifiers";
const TOLD: &str = "## Numbers, dates, tickets, settings, in the agent's words";
/// Weightiest identifiers that are ranked by what they take.
const MOST_RANKED: usize = 2_000;
/// So many times the weight of what is told in words.
const TOLD_ONCE: u64 = 3;
/// Room that makes no difference between two identifiers.
const SHORT: u64 = 120;

/// Stand in place of the headings of the user's own words, where a summary has them.
const DISCLAIMED: [(&str, &str); 2] =
    [(RULES, "## Rules, as the summary tells them"), (MESSAGES, "## Messages, as the summary tells them")];

/// The body, in which nothing stands under the headings of the user's own words: what a model wrote, no user said.
pub fn disclaimed(body: &str) -> Cow<'_, str> {
    let mut disclaimed = Cow::Borrowed(body);
    for (own, other) in DISCLAIMED {
        if disclaimed.contains(own) {
            disclaimed = Cow::Owned(disclaimed.replace(own, other));
        }
    }
    disclaimed
}

/// A block that gives back what a summary left out, and how much of it fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub block: String,
    pub count: u32,
}

/// What is missing, a section for each sort: the user's standing rules, the messages, and identifiers, as many from the
/// front as `max_tokens` (four characters each) hold. `None`: nothing is missing or nothing fits.
///
/// The user's words have `for_words` tokens; what they take of the identifiers' room, half of it at most, the identifiers
/// have less. What the user's words or another identifier say is not written twice.
pub fn restore(missing: &[&TrackedIdentifier], max_tokens: u32, for_words: u32) -> Option<Restored> {
    let (room, for_words) = (max_tokens as usize * 4, for_words as usize * 4);
    let of = |kind: IdentifierKind| missing.iter().copied().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let UsersWords { rules, gone, messages, shown, spent } = UsersWords::fitting(missing, for_words);
    let told = messages.join("\n");
    let untold = of(IdentifierKind::Identifier).into_iter().filter(|one| !stands_in(&told, &one.text)).collect();
    let plain = fitting(untold, rest(room, spent), String::new());
    let mut left = for_words.saturating_sub(spent);
    let mut asked = of(IdentifierKind::Question);
    asked.retain(|one| takes(&mut left, quoted_cost(&one.text) + REPLACED.len()));
    let count = rules.len() + shown + plain.len();
    let rules = rules.iter().map(|rule| format!("- \"{}\"", rule.text));
    let gone = gone.iter().map(|rule| format!("- {REPLACED}\"{}\"", rule.text));
    let asked = asked.iter().map(|one| format!("- (then the agent asked: \"{}\")", one.text));
    let messages = messages.into_iter().chain(asked);
    let (quotes, rows) = (quotes(&plain), rows(&plain));
    let sections =
        [section(RULES, rules.chain(gone)), section(MESSAGES, messages), section(TOLD, quotes), section(HEADING, rows)];
    let block = sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    (!block.is_empty()).then(|| Restored { block, count: u32::try_from(count).unwrap_or(u32::MAX) })
}

fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.into_iter().collect();
    (!lines.is_empty()).then(|| format!("{heading}\n{}", lines.join("\n")))
}

/// Returns the room that an entry takes, in quarter tokens.
fn cost(text: &str) -> usize {
    // Identifiers are no words: a token holds less of them than of prose.
    quarters(text) * 5 / 4 + 4
}

/// The room that the user's words leave to the rest: half of it at least.
pub(super) fn beside(words: &[TrackedIdentifier], room: usize) -> usize {
    rest(room, needed(words) as usize * 4)
}

fn rest(room: usize, spent: usize) -> usize {
    room.saturating_sub(HEADING.len() + TOLD.len() + spent.min(room / 2))
}

/// Those of the weightiest that weigh most for their room, in the order in which they are given. What stands inside another
/// or in what is `written` beside them needs no room of its own.
pub(super) fn fitting(
    wanted: Vec<&TrackedIdentifier>,
    mut room: usize,
    mut written: String,
) -> Vec<&TrackedIdentifier> {
    let mut ranked = ranked(wanted);
    ranked.retain(|(_, one)| {
        if stands_in(&written, &one.text) && (one.about.is_none() || written.contains(one.shown())) {
            return true;
        }
        let fits = takes(&mut room, cost(one.shown()));
        if fits {
            written.push_str(one.shown());
            written.push('\n');
        }
        fits
    });
    in_order(ranked)
}

/// As [`fitting`], up to the first that does not fit, each by itself: these have room whichever of them are told elsewhere.
pub(super) fn leading(wanted: Vec<&TrackedIdentifier>, mut room: usize) -> Vec<&TrackedIdentifier> {
    let ranked = ranked(wanted).into_iter();
    in_order(ranked.take_while(|(_, one)| takes(&mut room, cost(one.shown()))).collect())
}

/// The weightiest by what they are worth, with their places.
fn ranked(wanted: Vec<&TrackedIdentifier>) -> Vec<(usize, &TrackedIdentifier)> {
    let mut ranked: Vec<(usize, &TrackedIdentifier)> = wanted.into_iter().take(MOST_RANKED).enumerate().collect();
    ranked.sort_by_key(|(at, one)| (Reverse(worth(one)), *at));
    ranked
}

fn in_order(mut ranked: Vec<(usize, &TrackedIdentifier)>) -> Vec<&TrackedIdentifier> {
    ranked.sort_by_key(|(at, _)| *at);
    ranked.into_iter().map(|(_, one)| one).collect()
}

/// What is told in words of its own is seldom repeated, and needed none the less.
fn worth(one: &TrackedIdentifier) -> u64 {
    density(one.shown(), one.weight) * if one.about.is_some() { TOLD_ONCE } else { 1 }
}

/// Weight of an identifier for the room that it takes: of two that are used as much, the shorter one comes first.
pub fn density(text: &str, weight: u32) -> u64 {
    u64::from(weight) * 1_000 / (cost(text) as u64 + SHORT)
}

/// The words of those that have some, each once: one clause is often home to several.
fn quotes(wanted: &[&TrackedIdentifier]) -> Vec<String> {
    let mut seen = HashSet::new();
    let quoted = wanted.iter().filter_map(|one| one.about.as_deref()).filter(|about| seen.insert(*about));
    quoted.map(|about| format!("- {about}")).collect()
}

/// One line for each sort, paths sorted so that neighbours are together.
fn rows(wanted: &[&TrackedIdentifier]) -> Vec<String> {
    let mut longest_first: Vec<&str> =
        wanted.iter().filter(|one| one.about.is_none()).map(|one| one.text.as_str()).collect();
    longest_first.sort_by_key(|text| Reverse(text.len()));
    let mut written = quotes(wanted).join("\n");
    let quoted = written.len();
    for text in longest_first {
        if !stands_in(&written, text) {
            written.push('\n');
            written.push_str(text);
        }
    }
    let mut shown: Vec<&str> =
        written.get(quoted..).unwrap_or_default().lines().filter(|one| !one.is_empty()).collect();
    shown.sort_unstable();
    let (paths, others): (Vec<&str>, Vec<&str>) = shown.into_iter().partition(|text| text.contains(['/', '\\']));
    [others, paths].into_iter().filter(|row| !row.is_empty()).map(|row| row.join(", ")).collect()
}
