//! Secrets that their own form gives away: a beginning that no other text has, and what follows it.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::found::{Found, compiled};
use super::guard::{is_random, is_token};

/// The table of forms.
pub(super) const TABLE: &str = include_str!("tokens.tsv");

struct TokenRule {
    kind: &'static str,
    rest: Regex,
    /// The rest must look made by chance.
    is_weak: bool,
}

struct TokenRules {
    begins: Option<Regex>,
    rules: Vec<TokenRule>,
    /// By beginning, the rules to try there, those of the longest beginning first: with the length of their own.
    tried: HashMap<&'static str, Vec<(usize, usize)>>,
}

static RULES: LazyLock<TokenRules> = LazyLock::new(|| read(TABLE));

fn read(table: &'static str) -> TokenRules {
    let mut rules = Vec::new();
    let mut begins: Vec<(&'static str, usize)> = Vec::new();
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let mut cells = row.split('\t');
        let (Some(kind), Some(beginnings), Some(rest)) = (cells.next(), cells.next(), cells.next()) else { continue };
        let Some(rest) = compiled(&format!("^(?:{rest})")) else { continue };
        begins.extend(beginnings.split(' ').map(|beginning| (beginning, rules.len())));
        rules.push(TokenRule { kind, rest, is_weak: cells.next().is_some() });
    }
    begins.sort_by_key(|(beginning, _)| std::cmp::Reverse(beginning.len()));
    let literals: Vec<String> = begins.iter().map(|(beginning, _)| regex::escape(beginning)).collect();
    let fitting = |whole: &str| -> Vec<(usize, usize)> {
        let fit = begins.iter().filter(|(beginning, _)| whole.starts_with(beginning));
        fit.map(|(beginning, rule)| (beginning.len(), *rule)).collect()
    };
    let tried = begins.iter().map(|(beginning, _)| (*beginning, fitting(beginning))).collect();
    TokenRules { begins: compiled(&literals.join("|")), rules, tried }
}

/// Finds the tokens.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    let TokenRules { begins: Some(begins), .. } = &*RULES else { return };
    let mut from = 0;
    while let Some(beginning) = begins.find_at(text, from) {
        from = match begins_word(text, beginning.start()).then(|| token_at(text, beginning.start(), beginning.as_str()))
        {
            Some(Some(token)) => {
                let end = token.end;
                found.push(token);
                end
            }
            // The next beginning may lie within this one; all begin with a character of one byte.
            _ => beginning.start() + 1,
        };
    }
}

fn token_at(text: &str, start: usize, beginning: &str) -> Option<Found> {
    let tried = RULES.tried.get(beginning)?;
    tried.iter().find_map(|(length, rule)| {
        let rule = RULES.rules.get(*rule)?;
        let rest = text.get(start + length..)?;
        let body = rule.rest.find(rest)?;
        let goes_on = rest.get(body.end()..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_alphanumeric()));
        let is_one = if rule.is_weak { is_random(body.as_str()) } else { is_token(body.as_str()) };
        let end = start + length + body.end();
        (is_one && !goes_on).then_some(Found { start, end, kind: rule.kind })
    })
}

/// Returns true if a word may begin here: behind no letter, unless that is the end of an escape.
fn begins_word(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(at.saturating_sub(8)..at).unwrap_or_default();
    let Some(last) = before.last() else { return true };
    !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-')) || ends_escape(before)
}

/// `\n`, `\u003d`, `%3D`, or the end of a colour's code.
fn ends_escape(before: &[u8]) -> bool {
    let back = |count: usize| before.len().checked_sub(count).and_then(|at| before.get(at).copied());
    let colour = || {
        let digits = before.iter().rev().skip(1).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        back(1) == Some(b'm') && back(digits + 2) == Some(b'[')
    };
    back(2) == Some(b'\\') && matches!(back(1), Some(b'n' | b'r' | b't'))
        || back(6) == Some(b'\\') && back(5) == Some(b'u')
        || back(3) == Some(b'%')
        || colour()
}

/// How many forms the table has, and how many were understood.
#[cfg(test)]
pub(super) fn read_rows() -> (usize, usize) {
    (TABLE.lines().filter(|row| !row.starts_with('#')).count(), RULES.rules.len())
}
