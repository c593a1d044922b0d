//! Snippets: the piece of a text that a search shows.

use std::ops::Range;

use super::words::Match;

/// Bytes of text that a snippet shows, and how many of them stand before the first match.
const WINDOW: usize = 280;
const LEAD: usize = 60;

const OPEN: &str = "<mark>";
const CLOSE: &str = "</mark>";

/// The window with the most terms in it, the earliest of equals. `matches` name their term and are sorted by start.
pub fn show(text: &str, matches: &[(usize, Match)]) -> String {
    let first = best(matches).unwrap_or(0);
    let start = matches.get(first).map_or(0, |(_, one)| word_start(text, one.start.saturating_sub(LEAD)));
    // A phrase may be longer than the window: it is shown up to its end, or to twice the window.
    let wanted = matches.get(first).map_or(0, |(_, one)| one.end);
    let end = text.floor_char_boundary((start + WINDOW).max(wanted.min(start + 2 * WINDOW)));
    let mut shown = String::with_capacity(WINDOW + 64);
    shown.push_str(if start > 0 { "…" } else { "" });
    let mut at = start;
    for marked in joined(text, matches.get(first..).unwrap_or_default(), end) {
        push(&mut shown, text.get(at..marked.start));
        shown.push_str(OPEN);
        push(&mut shown, text.get(marked.clone()));
        shown.push_str(CLOSE);
        at = marked.end;
    }
    push(&mut shown, text.get(at..end));
    let mut shown = shown.trim().to_owned();
    shown.push_str(if end < text.len() { "…" } else { "" });
    shown
}

/// The first match of the best window.
fn best(matches: &[(usize, Match)]) -> Option<usize> {
    let mut counts = std::collections::HashMap::new();
    let (mut high, mut found, mut next) = (0, None, 0);
    for (first, (term, one)) in matches.iter().enumerate() {
        while let Some((entering, last)) = matches.get(next).filter(|(_, last)| last.end <= one.start + WINDOW - LEAD) {
            *counts.entry(*entering).or_insert(0usize) += if last.whole { 2 } else { 1 };
            next += 1;
        }
        let score: usize = counts.values().map(|count| 10 * usize::from(*count > 0) + (*count).min(4)).sum();
        if score > high {
            (high, found) = (score, Some(first));
        }
        if next > first {
            let leaving = if one.whole { 2 } else { 1 };
            counts.entry(*term).and_modify(|count| *count = count.saturating_sub(leaving));
        } else {
            next = first + 1;
        }
    }
    found
}

/// Matches up to `end`, those that touch or are parted by white space alone as one.
fn joined(text: &str, matches: &[(usize, Match)], end: usize) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for (_, one) in matches.iter().filter(|(_, one)| one.end <= end) {
        let between = joined.last().and_then(|last| text.get(last.end..one.start));
        match joined.last_mut() {
            Some(last) if one.start <= last.end || between.is_some_and(|gap| gap.trim().is_empty()) => {
                last.end = last.end.max(one.end);
            }
            _ => joined.push(one.start..one.end),
        }
    }
    joined
}

/// The next place at or after `from` where a word starts, if one is near; else a place between two characters.
fn word_start(text: &str, from: usize) -> usize {
    let from = text.ceil_char_boundary(from);
    if from == 0 {
        return 0;
    }
    let near = text.get(from..text.floor_char_boundary(from + LEAD / 3)).unwrap_or_default();
    near.find(char::is_whitespace).map_or(from, |space| from + space)
}

/// Adds text on one line: white space and control characters become one space.
fn push(shown: &mut String, text: Option<&str>) {
    for letter in text.unwrap_or_default().chars() {
        if !(letter.is_whitespace() || letter.is_control()) {
            shown.push(letter);
        } else if !shown.ends_with([' ', '…']) {
            shown.push(' ');
        }
    }
}
