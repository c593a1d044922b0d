//! Snippets: the piece of a text that a search shows.

use std::ops::Range;

use super::words::Match;

/// Bytes of text that a snippet shows.
const WINDOW: usize = 480;
/// The least of them that stand around the matches that it is shown for.
const AROUND: usize = 160;
/// How far it may begin later, to begin with a word.
const NEAR: usize = 20;

const OPEN: &str = "<mark>";
const CLOSE: &str = "</mark>";

/// The window with the most terms in it, the earliest of equals, with as much before its matches as behind them. `matches`
/// name their term and are sorted by start.
pub fn show(text: &str, matches: &[(usize, Match)]) -> String {
    let (first, last) = best(matches).map_or((0, 0), |best| (best.start, best.end));
    let around = WINDOW.saturating_sub(last - first).max(AROUND);
    let at_end = text.len().saturating_sub(WINDOW);
    let start = word_start(text, first.saturating_sub(around / 2).min(at_end));
    // A phrase may be longer than the window: it is shown up to its end, or to twice the window.
    let end = text.floor_char_boundary((start + WINDOW).max(last.min(start + 2 * WINDOW)));
    let mut shown = String::with_capacity(WINDOW + 64);
    shown.push_str(if start > 0 { "…" } else { "" });
    let mut at = start;
    for marked in joined(text, matches, start..end) {
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

/// Matches that stand near one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cluster {
    start: usize,
    end: usize,
    terms: usize,
}

/// Terms that occur in the window with the most of them.
pub fn most_terms(matches: &[(usize, Match)]) -> usize {
    best(matches).map_or(0, |best| best.terms)
}

/// The window with the most terms; of equals the one with the more matches.
fn best(matches: &[(usize, Match)]) -> Option<Cluster> {
    let mut counts = std::collections::HashMap::new();
    let (mut high, mut found, mut next) = (0, None, 0);
    for (first, (term, one)) in matches.iter().enumerate() {
        let mut end = one.end;
        while let Some((entering, last)) = matches.get(next).filter(|(_, last)| last.end <= one.start + WINDOW - AROUND)
        {
            *counts.entry(*entering).or_insert(0usize) += if last.whole { 2 } else { 1 };
            next += 1;
        }
        if let Some((_, last)) = next.checked_sub(1).and_then(|last| matches.get(last)) {
            end = end.max(last.end);
        }
        let terms = counts.values().filter(|count| **count > 0).count();
        let score = 10 * terms + counts.values().map(|count| (*count).min(4)).sum::<usize>();
        if score > high || found.is_none() {
            (high, found) = (score, Some(Cluster { start: one.start, end, terms: terms.max(1) }));
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

/// Matches that begin inside the window, as far as it shows them; those that touch or are parted by white space alone as
/// one.
fn joined(text: &str, matches: &[(usize, Match)], window: Range<usize>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for (_, one) in matches.iter().filter(|(_, one)| window.contains(&one.start)) {
        let end = one.end.min(window.end);
        let between = joined.last().and_then(|last| text.get(last.end..one.start));
        match joined.last_mut() {
            Some(last) if one.start <= last.end || between.is_some_and(|gap| gap.trim().is_empty()) => {
                last.end = last.end.max(end);
            }
            _ => joined.push(one.start..end),
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
    let near = text.get(from..text.floor_char_boundary(from + NEAR)).unwrap_or_default();
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
