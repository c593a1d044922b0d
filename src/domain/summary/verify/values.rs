//! Values that were changed on the way: a port, a version, an amount, an id that differs from the conversation's in its
//! digits alone.
//!
//! Counts, shares and dates are left alone: a summary may well have worked them out.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::voice::Voice;
use crate::domain::summary::identifiers::{self, stands_in};

/// The most values that are kept of a span.
const MOST: usize = 5_000;
/// With more values of one shape than this, none of them stands for another.
const MOST_ALIKE: usize = 2;
/// The most values of an answer that are looked for in the span.
const MOST_SUSPECTS: usize = 20;
/// The most of a text that is read for values.
const MOST_READ: usize = 1 << 20;

/// A number behind the word that names it: `port 8080`, `timeout of 30`.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "port|version|timeout|limit|budget|threshold|retries|workers|replicas|pid|pr|issue|ticket|order|item|invoice|account|deadline";
    Regex::new(&format!(
        r"(?i)\b({names})s?(?:\s+(?:of|is|was|to|at|number|no\.?|id|on)|\s*[:=#])?\s*[#`'*]{{0,3}}(\d[\d.,]*\d)"
    ))
    .ok()
});

/// A long number stands for itself.
static LONG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b\d{7,}\b").ok());

/// A value that a text has and a span perhaps has not, and the span's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Suspect {
    /// As it would stand in the span, if only as a number.
    pub says: String,
    pub shown: String,
    pub spoken: String,
}

/// Values that people, models and calls of a span used, by their shape.
#[derive(Debug, Clone, Default)]
pub(super) struct SpokenValues {
    by_shape: HashMap<String, Vec<Value>>,
    count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    bare: String,
    shown: String,
}

impl SpokenValues {
    pub(super) fn add(&mut self, voice: Voice, text: &str) {
        if voice == Voice::Tool {
            return;
        }
        for (shape, value) in values(text) {
            let alike = self.by_shape.entry(shape).or_default();
            if self.count < MOST && alike.len() <= MOST_ALIKE && !alike.contains(&value) {
                self.count += 1;
                alike.push(value);
            }
        }
    }
}

/// The values of a text that may be changed ones of the span's. Whether they stand in the span after all is not known
/// here.
pub(super) fn suspects(text: &str, spoken: &SpokenValues) -> Vec<Suspect> {
    let mut suspects = Vec::new();
    for (shape, value) in values(text) {
        if suspects.len() == MOST_SUSPECTS {
            break;
        }
        let Some(alike) = spoken.by_shape.get(&shape).filter(|alike| alike.len() <= MOST_ALIKE) else { continue };
        let is_kept = alike.iter().any(|one| one.bare == value.bare || stands_in(text, &one.bare));
        let is_meant = |one: &&Value| !is_amount(&value.bare) || is_slip(&value.bare, &one.bare);
        if let Some(first) = alike.iter().find(is_meant).filter(|_| !is_kept) {
            suspects.push(Suspect { says: number(&value.bare), shown: value.shown, spoken: first.shown.clone() });
        }
    }
    suspects
}

/// Each value of a text with its shape.
fn values(text: &str) -> Vec<(String, Value)> {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= MOST_READ).unwrap_or(text.len());
    let text = &text[..end];
    let whole = identifiers::extract(text).into_iter().filter(|token| is_fixed(token)).map(|token| {
        let value = Value { bare: token.clone(), shown: format!("`{token}`") };
        (shape(&token), value)
    });
    let named = NAMED.iter().flat_map(|named| named.captures_iter(text)).filter_map(|found| {
        let (name, number) = (found.get(1)?.as_str().to_lowercase(), found.get(2)?.as_str());
        let value = Value { bare: number.to_owned(), shown: format!("{name} {number}") };
        Some((name, value))
    });
    let long = LONG.iter().flat_map(|long| long.find_iter(text)).map(|found| found.as_str());
    let long = long.filter(|number| is_fixed(number)).map(|number| {
        let value = Value { bare: number.to_owned(), shown: format!("`{number}`") };
        (shape(number), value)
    });
    whole.chain(named).chain(long).collect()
}

/// The number of an amount; tools print it without its unit. Anything else as it is.
fn number(value: &str) -> String {
    let bare = value.trim_matches(|c: char| !c.is_ascii_digit());
    if is_amount(value) { bare.replace(',', "") } else { value.to_owned() }
}

/// Returns true for a sum of money or a number with its unit. It may have been worked out.
fn is_amount(value: &str) -> bool {
    let bare = value.trim_start_matches(['$', '€', '£', '¥']);
    let unit = bare.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let is_marked = bare.len() < value.len() || !unit.is_empty();
    is_marked && bare.starts_with(|c: char| c.is_ascii_digit()) && unit.chars().all(|c| c.is_alphabetic() || c == ' ')
}

/// Returns true if one number looks like the other written down wrongly: its digits in another order, or one of many
/// another.
fn is_slip(one: &str, other: &str) -> bool {
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
    let (one, other) = (digits(one), digits(other));
    let differ = one.iter().zip(&other).filter(|(a, b)| a != b).count();
    let sorted = |mut digits: Vec<u8>| {
        digits.sort_unstable();
        digits
    };
    differ == 1 && one.len() > 3 || sorted(one) == sorted(other)
}

/// The text with every digit alike.
fn shape(token: &str) -> String {
    token.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// Returns true if an identifier is not likely to be worked out: no share, no date, no time, no count.
fn is_fixed(token: &str) -> bool {
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let is_date =
        digits >= 6 && token.starts_with("20") && token.bytes().all(|b| b.is_ascii_digit() || b"-:.TZ+".contains(&b));
    let counts =
        ["lines", "rows", "requests", "tokens", "percent", "files", "minutes", "hours", "days", "weeks", "day", "hour"];
    let is_count = token.split_once(' ').is_some_and(|(_, unit)| counts.contains(&unit));
    // `38m` is a minute's, a metre's or a colour's.
    let count = token.strip_suffix(['m', 'h', 'd', 'g', 'B']);
    let is_short_unit =
        count.is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',')));
    digits > 0 && !is_date && !is_count && !is_short_unit && !token.ends_with('%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspected(said: &str, answer: &str) -> Vec<String> {
        let mut spoken = SpokenValues::default();
        spoken.add(Voice::User, said);
        suspects(answer, &spoken).into_iter().map(|suspect| format!("{}/{}", suspect.shown, suspect.spoken)).collect()
    }

    #[test]
    fn sees_changed_digits() {
        let changed = [
            ("The server stays on port 8080.", "Port 8090 stays.", "port 8090/port 8080"),
            ("Use v1.4.2 of it.", "Uses v1.4.3.", "`v1.4.3`/`v1.4.2`"),
            ("It may cost $64.50.", "Refund of $46.50.", "`$46.50`/`$64.50`"),
            ("Ticket ABC-118 is open.", "See ABC-181.", "`ABC-181`/`ABC-118`"),
            ("Commit 4f2a9c1d broke it.", "4f2a8c1d broke it", "`4f2a8c1d`/`4f2a9c1d`"),
            ("A timeout of 30 is enough.", "timeout: 50", "timeout 50/timeout 30"),
            ("Call 6086499569.", "Called 6086499568.", "`6086499568`/`6086499569`"),
        ];
        for (said, answer, wanted) in changed {
            assert!(suspected(said, answer).contains(&wanted.to_owned()), "{answer}: {:?}", suspected(said, answer));
        }
    }

    #[test]
    fn leaves_what_was_worked_out_or_named_besides() {
        let fine = [
            ("It was 2024-05-20.", "Until 2024-05-21."),
            ("12 files, 80% done", "13 files, 85% done"),
            ("Port 8080, not 8081.", "Ports 8080 and 8090 are used."),
            ("$64.50, $88.20 and $12.30", "$99.99 in all"),
            ("It may cost $100.", "$171 in all"),
            ("Step 3 of 9", "Step 4 of 9"),
        ];
        for (said, answer) in fine {
            assert_eq!(suspected(said, answer), [""; 0], "{answer}");
        }
    }
}
