//! Searching the text of entries: what a query asks for, where a text says it, how well, and what to show of it.
//!
//! A text ranks by its terms: whole words before beginnings, often before once, near one another before far apart, and
//! where not every term occurs, rare ones before common ones.
//!
//! A term is looked for literally, whatever its case, where a word or a part of one begins: `timeout` is found in
//! `connect_timeout`, `connectTimeout` and `timeouts`, not in `offtimeout`. That suits paths, identifiers and error
//! codes, and scripts that put no spaces between words, without a dictionary of any language.

mod rarity;
mod snippet;
mod text;
mod words;

pub use rarity::TermRarity;
pub use text::text_of;
use words::{Match, Term, fold};

pub const MAX_QUERY_CHARS: usize = 1_000;
pub const MAX_TERMS: usize = 32;

/// More matches of one term in one text say nothing more.
const MATCHES_COUNTED: usize = 64;
/// Weight of a match of the beginning of a word, against one of a whole word.
const BEGINNING: f32 = 0.4;
/// A text of this many bytes needs one match to score as high as others do; longer ones need more.
const USUAL_BYTES: f32 = 1_000.0;
/// What the terms' standing near one another weighs, against how often they occur.
const NEARNESS: f32 = 0.4;

/// Query as it was read: the words and `"quoted phrases"` to look for.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuery {
    terms: Vec<Term>,
}

/// A query that can't be answered; shown to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("must name at least one word to look for")]
    Empty,
    #[error("must not be longer than {MAX_QUERY_CHARS} characters")]
    TooLong,
    #[error("must not have more than {MAX_TERMS} words and phrases")]
    TooManyTerms,
}

/// How well a text answers a query: for each term from 0 to 1, 0 where it does not occur, above half where it is a whole
/// word of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    terms: Box<[f32]>,
}

impl Score {
    /// Returns true if every term occurs.
    pub fn has_all(&self) -> bool {
        self.terms.iter().all(|term| *term > 0.0)
    }
}

impl ParsedQuery {
    /// Reads a query: terms are parted by white space, what stands between `"` is one term. Nothing else is special.
    ///
    /// # Errors
    /// A query without a letter, digit or sign, or with more than the limits allow.
    pub fn parse(query: &str) -> Result<ParsedQuery, QueryError> {
        if query.chars().count() > MAX_QUERY_CHARS {
            return Err(QueryError::TooLong);
        }
        let mut terms: Vec<Term> = Vec::new();
        for (place, part) in query.split('"').enumerate() {
            let quoted = place % 2 == 1;
            let found = if quoted { vec![Term::of(part)] } else { part.split_whitespace().map(Term::of).collect() };
            for term in found.into_iter().flatten() {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        match terms.len() {
            0 => Err(QueryError::Empty),
            1..=MAX_TERMS => Ok(ParsedQuery { terms }),
            _ => Err(QueryError::TooManyTerms),
        }
    }

    pub fn is_single(&self) -> bool {
        self.terms.len() == 1
    }

    /// For each term a text that stands in the raw JSON, ASCII letters lowered, of every item that has the term, unless
    /// the item has `\u` escapes; `None` for a term of which nothing is that certain.
    pub fn probes(&self) -> Vec<Option<String>> {
        self.terms.iter().map(Term::probe).collect()
    }

    /// `None`: not one term occurs.
    pub fn score(&self, text: &str) -> Option<Score> {
        let folded = fold(text);
        let matches = self.matches(text, &folded);
        if matches.is_empty() {
            return None;
        }
        let enough = 0.6 + 0.4 * (text.len() as f32 / USUAL_BYTES).min(10.0);
        let mut found = vec![(0.0, false); self.terms.len()];
        for (term, one) in &matches {
            if let Some((weight, whole)) = found.get_mut(*term) {
                *weight += if one.whole { 1.0 } else { BEGINNING };
                *whole |= one.whole;
            }
        }
        let near = NEARNESS * snippet::most_terms(&matches) as f32 / self.terms.len() as f32;
        let of = |(weight, whole): (f32, bool)| {
            let often = (1.0 - NEARNESS) * weight / (weight + enough);
            if weight > 0.0 { 0.5 * f32::from(u8::from(whole)) + 0.5 * (often + near) } else { 0.0 }
        };
        Some(Score { terms: found.into_iter().map(of).collect() })
    }

    /// The part of the text that shows most of the query, on one line, matches between `<mark>` and `</mark>`.
    pub fn snippet(&self, text: &str) -> String {
        snippet::show(text, &self.matches(text, &fold(text)))
    }

    /// Matches with the place of their term, in the order of the text.
    fn matches(&self, text: &str, folded: &str) -> Vec<(usize, Match)> {
        let mut matches: Vec<(usize, Match)> = Vec::new();
        for (place, term) in self.terms.iter().enumerate() {
            matches.extend(term.matches(text, folded).take(MATCHES_COUNTED).map(|one| (place, one)));
        }
        matches.sort_by_key(|(_, one)| (one.start, std::cmp::Reverse(one.end)));
        matches
    }
}

#[cfg(test)]
mod tests;
