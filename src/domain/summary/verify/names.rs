//! Names in a text: of files and functions, of places and people, and long numbers.

use std::collections::HashSet;

use super::language::capitalises_nouns;
use super::words::tells_in_text;
use crate::domain::record::words;

/// The most names of a text.
const MOST: usize = 5_000;
/// With a capital letter on more than one word in so many, a text is all titles.
const CAPITALS: usize = 3;
/// A number of so many digits is an id, an amount, a year.
const LONG: usize = 4;

/// The names of a text, each as what must stand in a span: its word, or the pairs of neighbours among its words. Of a
/// path the last part counts.
pub(super) fn of(text: &str) -> Vec<Vec<u64>> {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    let tokens = text.split(|c: char| c.is_whitespace() || "\"'`<>()[]{},;|*=“”「」。、，：→".contains(c));
    for token in tokens {
        let token = token.trim_matches(|c: char| !c.is_alphanumeric());
        if names.len() < MOST && is_marked(token) && seen.insert(token) {
            names.push(parts(token));
        }
    }
    if !capitalises_nouns(text) {
        names.extend(capitals(text).into_iter().filter(|name| seen.insert(name)).map(parts));
    }
    names.retain(|parts| !parts.is_empty());
    names
}

fn parts(name: &str) -> Vec<u64> {
    let last = name.rsplit(['/', '\\']).find(|part| part.len() > 2).unwrap_or(name);
    let (mut parts, mut is_plain) = (Vec::new(), true);
    words::each(without_line(last), &mut |word| {
        parts.push(word.hash());
        is_plain &= !tells_in_text(word.text);
    });
    match parts.as_slice() {
        // `next_steps` is a heading.
        _ if is_plain => Vec::new(),
        [_] | [] => parts,
        several => several.windows(2).map(|two| pair(two[0], two[1])).collect(),
    }
}

/// Two words side by side.
pub(super) fn pair(first: u64, second: u64) -> u64 {
    first.rotate_left(17) ^ second
}

/// `a.rs:12:5` without the place in the file.
fn without_line(name: &str) -> &str {
    match name.split_once(':') {
        Some((file, place)) if file.len() > 2 && place.starts_with(|c: char| c.is_ascii_digit()) => file,
        _ => name,
    }
}

/// Returns true if a token is no plain word: `src/a.rs`, `get_user`, `parseLine`, `E0308`, `127.0.0.1`, `4821`.
fn is_marked(token: &str) -> bool {
    if token.len() < 4 || token.len() > 200 || !token.is_ascii() {
        return false;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    if !token.bytes().any(|b| b.is_ascii_alphabetic()) {
        // A range of lines is none.
        return digits >= LONG && !token.contains(['-', '–', '/', ':']);
    }
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    let humps = token.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    // `and/or` and `e.g` are no names.
    let marked = inner.contains('_') || inner.contains("::") || inner.matches('/').count() > 1;
    let dotted = token.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.len() > 2 && (2..=5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    let is_measure = token.starts_with(|c: char| c.is_ascii_digit()) && token.len() < 7;
    marked || humps || dotted || digits > 1 && !is_measure
}

/// Words with a capital letter inside of sentences; none where a text has them everywhere.
fn capitals(text: &str) -> Vec<&str> {
    let (mut found, mut words) = (Vec::new(), 0);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.ends_with([':', '*'])) {
        let mut begins = true;
        for token in line.split_whitespace() {
            let word = token.trim_matches(|c: char| !c.is_alphanumeric());
            let word = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            if word.is_empty() || !word.starts_with(char::is_alphabetic) {
                continue;
            }
            words += 1;
            if !begins && is_capital(word) {
                found.push(word);
            }
            begins = token.ends_with(['.', '!', '?', ':', '…']) || token.ends_with("**");
        }
    }
    if found.len() * CAPITALS > words { Vec::new() } else { found }
}

fn is_capital(word: &str) -> bool {
    let mut letters = word.chars();
    let capital = letters.next().is_some_and(char::is_uppercase);
    capital && word.chars().nth(2).is_some() && letters.all(char::is_lowercase) && tells_in_text(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        of(text).len()
    }

    #[test]
    fn tells_names_from_words() {
        assert_eq!(count("The file src/a/b.rs:12 has parse_line, parseLine and E0308 at 127.0.0.1, order 48219."), 6);
        assert_eq!(count("And/or words with - marks, e.g. these: 12 of 30, 80%, 250ms, lines 336-340."), 0);
        assert_eq!(count("The flight goes from Houston to Denver. Then Mia flies home."), 3);
        assert_eq!(count("## Key Technical Concepts\n**Current Work**\n- Next Steps:"), 0);
        assert_eq!(count("Der Dienst läuft auf dem Rechner mit der Datenbank und der Regel."), 0, "nouns");
    }
}
