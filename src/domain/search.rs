//! Searching the text of entries: what a query asks for, where a text says it, how well, and what to show of it.
//!
//! A term is looked for literally, whatever its case, where a word or a part of one begins: `timeout` is found in
//! `connect_timeout`, `connectTimeout` and `timeouts`, not in `offtimeout`. That suits paths, identifiers and error
//! codes, and scripts that put no spaces between words, without a dictionary of any language.

mod snippet;
mod text;
mod words;

pub use text::text_of;
use words::{Match, Term, fold};

pub const MAX_QUERY_CHARS: usize = 1_000;
pub const MAX_TERMS: usize = 32;

/// More matches of one term in one text say nothing more.
const MATCHES_COUNTED: usize = 64;
/// Weight of a match of the beginning of a word, against one of a whole word.
const BEGINNING: f64 = 0.4;
/// A text of this many bytes needs one match to score as high as others do; longer ones need more.
const USUAL_BYTES: f64 = 1_000.0;

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

/// How well a text answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// From 1 to 1,000,000 for a text with every term: above half where all are whole words of it.
    pub rank: u32,
    /// True: every term occurs.
    pub all: bool,
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
        let enough = 0.6 + 0.4 * (text.len() as f64 / USUAL_BYTES).min(10.0);
        let (mut sum, mut found) = (0.0, 0);
        for term in &self.terms {
            let (mut weight, mut whole) = (0.0, false);
            for one in term.matches(text, &folded).take(MATCHES_COUNTED) {
                weight += if one.whole { 1.0 } else { BEGINNING };
                whole |= one.whole;
            }
            found += usize::from(weight > 0.0);
            sum += 0.5 * f64::from(u8::from(whole)) + 0.5 * weight / (weight + enough);
        }
        let rank = (sum / self.terms.len() as f64 * 1e6).round() as u32;
        (found > 0).then_some(Score { rank: rank.max(1), all: found == self.terms.len() })
    }

    /// The part of the text that shows most of the query, on one line, matches between `<mark>` and `</mark>`.
    pub fn snippet(&self, text: &str) -> String {
        let folded = fold(text);
        let mut matches: Vec<(usize, Match)> = Vec::new();
        for (place, term) in self.terms.iter().enumerate() {
            matches.extend(term.matches(text, &folded).take(MATCHES_COUNTED).map(|one| (place, one)));
        }
        matches.sort_by_key(|(_, one)| (one.start, std::cmp::Reverse(one.end)));
        snippet::show(text, &matches)
    }
}

#[cfg(test)]
mod tests;
