//! Clauses that say something of an identifier: what a number measures, of what an id is.

use std::collections::HashSet;

use super::occurrence::stands_in;
use super::token::{self, is_measure};
use crate::domain::summary::text::{is_item, item_text, one_line, plain, sentences, words};

/// The longest sentence that stands in one piece, in characters.
pub const LONGEST: usize = 200;
/// Items of a list up to this length belong together, and as many of them.
const SHORT_ITEM: usize = 80;
const MOST_ITEMS: usize = 12;

/// A clause among those that it stands with.
#[derive(Clone, Copy)]
pub struct Clause<'p> {
    clauses: &'p [&'p str],
    place: usize,
    longest: usize,
}

impl<'p> Clause<'p> {
    pub fn text(&self) -> &'p str {
        self.clauses.get(self.place).copied().unwrap_or_default()
    }

    /// The clause with as many of its neighbours as there is room for, where that says something of the identifier.
    pub fn telling(&self, identifier: &str) -> Option<String> {
        around(self.clauses, self.place, self.longest).filter(|clause| tells(clause, identifier))
    }
}

/// Calls `found` for each identifier of a sentence, a row or a line, with the clause that it stands in: all of it up to
/// `longest` characters.
pub fn each(piece: &str, longest: usize, found: &mut dyn FnMut(&str, Clause<'_>)) {
    let piece = piece.trim();
    let is_short = piece.chars().take(longest + 1).count() <= longest;
    let clauses = if is_short { vec![piece] } else { clauses(piece) };
    for (place, clause) in clauses.iter().enumerate().filter(|(_, clause)| clause.len() <= 4 * longest) {
        token::each(clause, &mut |identifier| found(&identifier, Clause { clauses: &clauses, place, longest }));
    }
}

/// The sentences and the rows of tables of what somebody said, but for questions and what opens a list.
pub fn spoken(text: &str) -> impl Iterator<Item = String> + '_ {
    // A line that opens a list may be in bold.
    let said = blocks(text).into_iter().map(|one| plain(&one).replace(":; ", ": ")).chain(rows(text));
    said.filter(|one| !one.ends_with(['?', '？', ':', '：']))
}

/// What sentences share that say the same of other numbers and ids: the words between them.
pub fn shape(sentence: &str) -> String {
    let word = |word: &str| if word.contains(|c: char| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() };
    sentence.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns true if a line of the text has the identifier and half of the words that it stood in.
pub fn told_in(text: &str, identifier: &str, about: &str) -> bool {
    let own: HashSet<String> = words(identifier).collect();
    let about: HashSet<String> = words(about).filter(|word| !own.contains(word)).collect();
    text.lines().filter(|line| stands_in(line, identifier)).any(|line| {
        let told: HashSet<String> = words(line).collect();
        about.intersection(&told).count() * 2 >= about.len()
    })
}

/// The sentences of a text. Short items of one list stand together, behind the line that opens it: what one of them says
/// is of what the others name.
fn blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in text.lines().map(str::trim) {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        let short = !line.is_empty() && line.chars().take(SHORT_ITEM + 1).count() <= SHORT_ITEM;
        let opens = short && line.ends_with([':', '：']);
        if !(short && is_item(line)) || opens || block.len() >= MOST_ITEMS {
            found.extend((!block.is_empty()).then(|| std::mem::take(&mut block).join("; ")));
        }
        match (opens, short && is_item(line)) {
            (false, false) => found.extend(sentences(line)),
            _ => block.push(one_line(item_text(line))),
        }
    }
    found.extend((!block.is_empty()).then(|| block.join("; ")));
    found.iter().map(|one| one.replace(":; ", ": ")).collect()
}

/// The rows of tables, cell by cell.
fn rows(text: &str) -> impl Iterator<Item = String> + '_ {
    let rows =
        text.lines().map(str::trim).filter(|line| line.starts_with('|') && line.chars().any(char::is_alphanumeric));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        plain(&cells.join(", "))
    })
}

/// The clause at this place with as many of its neighbours as there is room for, those before it first.
fn around(clauses: &[&str], place: usize, longest: usize) -> Option<String> {
    let size = |at: usize| clauses.get(at).map(|clause| clause.chars().count());
    let (mut from, mut to) = (place, place + 1);
    let mut room = longest.checked_sub(size(place)?)?;
    loop {
        let before = from.checked_sub(1).and_then(size).filter(|size| *size <= room);
        let after = size(to).filter(|size| *size <= room);
        match (before, after) {
            (Some(size), _) => (from, room) = (from - 1, room - size),
            (None, Some(size)) => (to, room) = (to + 1, room - size),
            (None, None) => break,
        }
    }
    while from < place && !opens(clauses, from) {
        from += 1;
    }
    let text = clauses.get(from..to).unwrap_or_default().concat();
    let text = text.trim().trim_end_matches([',', ';', '，', '；', '—', '–', ' ']);
    // What was to follow stands in the next clause.
    let text = text.strip_suffix(':').and_then(|open| Some(open.rsplit_once("; ")?.0)).unwrap_or(text);
    let joined = ["and ", "but ", "so "].iter().find_map(|word| text.strip_prefix(word));
    Some(joined.filter(|_| from > 0).unwrap_or(text).to_owned())
}

/// Returns true if a text may begin with the clause at this place: what stands behind `Price:` may not.
fn opens(clauses: &[&str], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| clauses.get(before));
    before.is_none_or(|before| !before.trim_end().ends_with([':', ')']))
}

/// A text cut behind each mark that ends a clause.
pub fn clauses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let spaced = text.get(end..).is_some_and(|rest| rest.starts_with(' '));
        if matches!(c, '，' | '；' | '。') || matches!(c, ',' | ';' | '.' | '—' | '–' | ':' | ')') && spaced {
            found.push(text.get(start..end).unwrap_or_default());
            start = end;
        }
    }
    found.push(text.get(start..).unwrap_or_default());
    found
}

/// A clause says more than the identifier.
fn tells(clause: &str, identifier: &str) -> bool {
    let others = clause.replace(identifier, " ");
    let letters = others.chars().filter(|c| c.is_alphabetic()).count();
    // "numpy 1.25.0" tells what a list does.
    let bare = identifier.starts_with(|c: char| c.is_ascii_digit()) && !is_measure(identifier);
    let needed = if bare { 3 } else { 1 };
    letters > 3 && words(&others).take(needed).count() == needed && is_prose(clause)
}

/// Code and dumps of data have identifiers too, but tell nothing of them.
fn is_prose(clause: &str) -> bool {
    const CODE: [&str; 12] = [":: ", "': ", "\": ", "();", "=>", "->", "==", "+=", "//", "/*", "│", "→"];
    const MIDWAY: [&str; 8] = ["which ", "that ", "and ", "or ", "but ", "so ", "because ", "than "];
    let count = clause.chars().count();
    let plain = clause.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).count();
    let opens = clause.starts_with(|c: char| c.is_alphanumeric() || "`\"'($€".contains(c));
    let midway = MIDWAY.iter().any(|word| clause.starts_with(word));
    let logged = clause.split_whitespace().filter(|word| word.contains('=')).take(3).count() == 3;
    // `a = b` is code, `41 MB + 2 MB = 43 MB` a sum.
    let sum = |(at, sign): (usize, &str)| {
        clause[at + sign.len()..].starts_with(|c: char| c.is_ascii_digit() || "~$€".contains(c))
    };
    let assigned = !clause.match_indices(" = ").all(sum);
    let called = clause.contains('=') && clause.contains('(') && clause.ends_with([')', ';', ',']);
    opens
        && !midway
        && !called
        && !assigned
        && !logged
        && plain * 4 >= count * 3
        && !clause.ends_with(['{', ';', '('])
        && !CODE.iter().any(|mark| clause.contains(mark) && !clause.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, identifier: &str, longest: usize) -> Option<String> {
        let mut told = None;
        for piece in spoken(text) {
            each(&piece, longest, &mut |found, clause| {
                if found == identifier {
                    told = clause.telling(identifier);
                }
            });
        }
        told
    }

    #[test]
    fn a_clause_begins_where_something_begins() {
        let flights = format!(
            "{} Flight 2: LGA to PHL; Price: $102",
            "Flight 1: JFK to LGA, a long way round; Price: $105;".repeat(4)
        );
        assert_eq!(told(&flights, "$102", 44).as_deref(), Some("Flight 2: LGA to PHL; Price: $102"));
        let sum = "Right now: 502MB loose + 331MB packed = ~833MB in all.";
        assert_eq!(told(sum, "833MB", 120).as_deref(), Some("Right now: 502MB loose + 331MB packed = ~833MB in all."));
        assert_eq!(told("let size = limit; // 331MB", "331MB", 120), None);
        assert_eq!(told("Is it 331MB?", "331MB", 120), None);
        let list = "1. **Check the size:**\n- Run `du` in the folder\n- It says 331MB\n- Search: `app.cache.maxSize`";
        assert_eq!(told(list, "331MB", 60).as_deref(), Some("Check the size: Run `du` in the folder; It says 331MB"));
        let joined =
            "The first remedy goes in #172 (it wires up the actions of a turn), and ENT-250 is the lasting one.";
        assert_eq!(told(joined, "ENT-250", 80).as_deref(), Some("ENT-250 is the lasting one."));
        assert_eq!(told(joined, "ENT-250", 120).as_deref(), Some(joined));
    }

    #[test]
    fn a_line_that_says_it_otherwise_tells_it_too() {
        let about = "502MB loose objects + 331MB in 29 pack files";
        assert!(told_in("## State\n- 331MB packed in 29 files, 502MB loose", "331MB", about));
        assert!(!told_in("Also named: 331MB, 502MB", "331MB", about));
    }
}
