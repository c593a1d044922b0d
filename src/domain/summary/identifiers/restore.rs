//! Giving back what a summary left out.

use super::occurrence::stands_in;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::summary::text::quarters;

const HEADING: &str = "## Identifiers";

/// A block that gives back what a summary left out, and how much of it fitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub block: String,
    pub count: u32,
}

/// The missing identifiers under the heading `Identifiers`, as many from the front as `max_tokens` (four
/// characters each) hold. `None`: nothing is missing or nothing fits.
///
/// The user's rules come first, and may go beyond the bound by as much again. What stands inside another
/// identifier is not written twice.
pub fn restore(missing: &[&TrackedIdentifier], max_tokens: u32) -> Option<Restored> {
    let room = max_tokens as usize * 4;
    let (rules, plain): (Vec<&TrackedIdentifier>, Vec<&TrackedIdentifier>) =
        missing.iter().partition(|one| one.is_rule());
    let rules = fitting(rules, (2 * room).checked_sub(HEADING.len())?);
    let plain = fitting(plain, beside(&rules, room));
    let count = rules.len() + plain.len();
    let mut block = HEADING.to_owned();
    for rule in &rules {
        block.push_str(&format!("\n- \"{}\"", rule.text));
    }
    for row in rows(&plain) {
        block.push('\n');
        block.push_str(&row);
    }
    (count > 0).then(|| Restored { block, count: u32::try_from(count).unwrap_or(u32::MAX) })
}

/// Returns the room that an entry takes, in quarter tokens.
fn cost(text: &str) -> usize {
    // Identifiers are no words: a token holds less of them than of prose.
    quarters(text) * 5 / 4 + 4
}

/// The room that the rules leave to the rest: half of it at least.
pub(super) fn beside<'w>(rules: impl IntoIterator<Item = &'w &'w TrackedIdentifier>, room: usize) -> usize {
    let spent: usize = rules.into_iter().map(|rule| cost(&rule.text)).sum();
    room.saturating_sub(HEADING.len() + spent.min(room / 2))
}

/// Those from the front that have room. What stands inside another needs none of its own.
pub(super) fn fitting(wanted: Vec<&TrackedIdentifier>, mut room: usize) -> Vec<&TrackedIdentifier> {
    let mut written = String::new();
    let fits = |one: &&TrackedIdentifier| {
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
    };
    wanted.into_iter().filter(fits).collect()
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
