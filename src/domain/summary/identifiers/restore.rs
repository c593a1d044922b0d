//! Giving back what a summary left out.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::occurrence::stands_in;
use super::requests;
use super::rules::is_strict;
use crate::domain::model::identifier::{IdentifierKind, TrackedIdentifier};
use crate::domain::summary::text::quarters;

const RULES: &str = "## Standing rules";
const REQUESTS: &str = "## User's requests, newest last";
const HEADING: &str = "## Identifiers";
/// Weightiest identifiers that are ranked by what they take.
const MOST_RANKED: usize = 2_000;
/// Room that makes no difference between two identifiers.
const SHORT: u64 = 120;
/// Stands before a rule that a later one took the place of.
const REPLACED: &str = "No longer holds: ";

/// Stands in place of the heading of the user's own rules, where a summary has it.
const DISCLAIMED: &str = "## Rules, as the summary tells them";

/// The body, in which nothing stands under the heading of the user's own words: what a model wrote, no user said.
pub fn disclaimed(body: &str) -> Cow<'_, str> {
    if body.contains(RULES) { Cow::Owned(body.replace(RULES, DISCLAIMED)) } else { Cow::Borrowed(body) }
}

/// A block that gives back what a summary left out, and how much of it fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub block: String,
    pub count: u32,
}

/// What is missing, a section for each sort: the user's standing rules, the newest requests, and identifiers, as many
/// from the front as `max_tokens` (four characters each) hold. `None`: nothing is missing or nothing fits.
///
/// The user's words may take half as much again; what they take of the room itself, half of it at most, the identifiers
/// have less. What stands inside another identifier is not written twice.
pub fn restore(missing: &[&TrackedIdentifier], max_tokens: u32) -> Option<Restored> {
    let room = max_tokens as usize * 4;
    let of = |kind: IdentifierKind| missing.iter().copied().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let words = UsersWords::fitting(of(IdentifierKind::Rule), of(IdentifierKind::Request), room + room / 2);
    let plain = fitting(of(IdentifierKind::Identifier), rest(room, words.spent));
    let gone = first_within(of(IdentifierKind::Replaced), (room / 8).saturating_sub(REPLACED.len()));
    let rules = words.rules.iter().map(|rule| format!("- \"{}\"", rule.text));
    let gone = gone.iter().map(|rule| format!("- {REPLACED}\"{}\"", rule.text));
    let requests = words.requests.iter().map(|text| format!("- \"{text}\""));
    let sections = [section(RULES, rules.chain(gone)), section(REQUESTS, requests), section(HEADING, rows(&plain))];
    let block = sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let count = words.rules.len() + words.requests.len() + plain.len();
    (!block.is_empty()).then(|| Restored { block, count: u32::try_from(count).unwrap_or(u32::MAX) })
}

fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.into_iter().collect();
    (!lines.is_empty()).then(|| format!("{heading}\n{}", lines.join("\n")))
}

/// Rules and requests that have room, in their order.
struct UsersWords<'w> {
    rules: Vec<&'w TrackedIdentifier>,
    requests: Vec<String>,
    /// In quarter tokens.
    spent: usize,
}

impl<'w> UsersWords<'w> {
    /// Each sort may have half of the room, and what the other leaves.
    fn fitting(rules: Vec<&'w TrackedIdentifier>, requests: Vec<&'w TrackedIdentifier>, room: usize) -> UsersWords<'w> {
        let (for_rules, for_requests) = (size(RULES, &rules), size(REQUESTS, &requests));
        let share = |own: usize, other: usize| own.min(room.saturating_sub(other.min(room / 2)));
        let (for_rules, for_requests) = (share(for_rules, for_requests), share(for_requests, for_rules));
        let rules = most_wanted(rules, for_rules.saturating_sub(RULES.len()));
        let requests = newest_requests(&requests, for_requests.saturating_sub(REQUESTS.len()));
        let texts = rules.iter().map(|rule| rule.text.as_str()).chain(requests.iter().map(String::as_str));
        let spent = texts.map(words_cost).sum();
        UsersWords { rules, requests, spent }
    }
}

fn size(heading: &str, words: &[&TrackedIdentifier]) -> usize {
    let words: usize = words.iter().map(|one| words_cost(&one.text)).sum();
    if words == 0 { 0 } else { heading.len() + words }
}

/// The rules that have room, what forbids or demands before what is preferred, the newer first; in their order.
fn most_wanted(rules: Vec<&TrackedIdentifier>, room: usize) -> Vec<&TrackedIdentifier> {
    let mut ranked: Vec<(bool, usize, &TrackedIdentifier)> =
        rules.into_iter().enumerate().map(|(at, rule)| (is_strict(&rule.text), at, rule)).collect();
    ranked.sort_by_key(|(strict, at, _)| std::cmp::Reverse((*strict, *at)));
    let mut left = room;
    ranked.retain(|(_, _, rule)| {
        let cost = words_cost(&rule.text);
        let fits = cost <= left;
        left -= if fits { cost } else { 0 };
        fits
    });
    ranked.sort_by_key(|(_, at, _)| *at);
    ranked.into_iter().map(|(_, _, rule)| rule).collect()
}

/// The requests that have room, newest first, one that is too long without its middle; in their order.
fn newest_requests(requests: &[&TrackedIdentifier], room: usize) -> Vec<String> {
    let mut left = room;
    let mut shown = Vec::new();
    for (at, request) in requests.iter().enumerate().rev() {
        // What older ones don't need, a newer one may have.
        let older: usize = requests.iter().take(at).map(|one| words_cost(&one.text)).sum();
        let own = left.saturating_sub(older.min(left / (at + 1) * at));
        if let Some(text) = requests::fitted(request, own.saturating_sub(words_cost(""))) {
            left = left.saturating_sub(words_cost(&text));
            shown.push(text);
        }
    }
    shown.reverse();
    shown
}

fn first_within(wanted: Vec<&TrackedIdentifier>, mut room: usize) -> Vec<&TrackedIdentifier> {
    let fits = |one: &&TrackedIdentifier| {
        let cost = words_cost(&one.text) + REPLACED.len();
        let fits = cost <= room;
        room -= if fits { cost } else { 0 };
        fits
    };
    wanted.into_iter().filter(fits).collect()
}

/// The room that a quoted line takes, in quarter tokens.
fn words_cost(text: &str) -> usize {
    quarters(text) + 6
}

/// Returns the room that an entry takes, in quarter tokens.
fn cost(text: &str) -> usize {
    // Identifiers are no words: a token holds less of them than of prose.
    quarters(text) * 5 / 4 + 4
}

/// The room that the user's words leave to the rest: half of it at least.
pub(super) fn beside(words: &[TrackedIdentifier], room: usize) -> usize {
    rest(room, words.iter().map(|one| words_cost(&one.text)).sum())
}

fn rest(room: usize, spent: usize) -> usize {
    room.saturating_sub(HEADING.len() + spent.min(room / 2))
}

/// Those of the weightiest that weigh most for their room, in the order in which they are given. What stands inside another
/// needs no room of its own.
pub(super) fn fitting(wanted: Vec<&TrackedIdentifier>, mut room: usize) -> Vec<&TrackedIdentifier> {
    let mut ranked: Vec<(usize, &TrackedIdentifier)> = wanted.into_iter().take(MOST_RANKED).enumerate().collect();
    ranked.sort_by_key(|(at, one)| (Reverse(density(&one.text, one.weight)), *at));
    let mut written = String::new();
    ranked.retain(|(_, one)| {
        if stands_in(&written, &one.text) {
            return true;
        }
        let cost = cost(&one.text);
        let fits = cost <= room;
        if fits {
            room -= cost;
            written.push_str(&one.text);
            written.push('\n');
        }
        fits
    });
    ranked.sort_by_key(|(at, _)| *at);
    ranked.into_iter().map(|(_, one)| one).collect()
}

/// Weight of an identifier for the room that it takes: of two that are used as much, the shorter one comes first.
pub fn density(text: &str, weight: u32) -> u64 {
    u64::from(weight) * 1_000 / (cost(text) as u64 + SHORT)
}

/// One line for each sort, paths sorted so that neighbours are together.
fn rows(wanted: &[&TrackedIdentifier]) -> Vec<String> {
    let mut longest_first: Vec<&str> = wanted.iter().map(|one| one.text.as_str()).collect();
    longest_first.sort_by_key(|text| std::cmp::Reverse(text.len()));
    let mut written = String::new();
    for text in longest_first {
        if !stands_in(&written, text) {
            written.push_str(text);
            written.push('\n');
        }
    }
    let mut shown: Vec<&str> = written.lines().collect();
    shown.sort_unstable();
    let (paths, others): (Vec<&str>, Vec<&str>) = shown.into_iter().partition(|text| text.contains(['/', '\\']));
    [others, paths].into_iter().filter(|row| !row.is_empty()).map(|row| row.join(", ")).collect()
}
