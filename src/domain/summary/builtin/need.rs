//! How likely an item is to be needed: by what it is, how new it is, and which identifiers it tells of.

use std::collections::HashMap;

use super::super::{identifiers, ledger, outcome};
use super::facts::{Facts, FileWork, SAID, explains, gives_reason, is_correction, is_settled};
use crate::domain::summary::identifiers::clauses::shape;

/// A line of a summary and how likely it is to be needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub need: u32,
}

/// The most that identifiers add.
const MOST_NAMED: u32 = 150;
/// What each newer line takes from one that says the same of other numbers, and how many of them do.
const ALIKE: u32 = 100;
const MOST_ALIKE: u32 = 3;
/// What a measured number adds, and a run that measured several.
const MEASURED: u32 = 150;
const MEASURED_RUN: u32 = 260;

/// The facts as lines, list by list.
pub struct Ranked {
    pub goal: Vec<Line>,
    pub rules: Vec<Line>,
    pub done: Vec<Line>,
    pub files: Vec<Line>,
    pub in_progress: Vec<Line>,
    pub blocked: Vec<Line>,
    pub decisions: Vec<Line>,
    pub questions: Vec<Line>,
    pub next: Vec<Line>,
    pub context: Vec<Line>,
    pub results: Vec<Line>,
}

impl Ranked {
    pub fn of(facts: &Facts) -> Ranked {
        let named = |text: &str| named(text, &facts.weights);
        let files: Vec<String> = facts.files.iter().map(FileWork::told).collect();
        let last = facts.goal.len().saturating_sub(1);
        let mut goal = rank(&facts.goal, 420, 200, |text| named(text) + if is_correction(text) { 150 } else { 0 });
        for (at, line) in goal.iter_mut().enumerate() {
            line.need = if at == 0 {
                2000
            } else if at == last {
                950
            } else {
                line.need
            };
        }
        let decisions = rank(&facts.decisions, 430, 160, |text| named(text) + telling(text));
        let context = rank(&facts.context, 330, 120, |text| {
            named(text) + if text.starts_with(SAID) { 170 } else { telling(text) }
        });
        Ranked {
            goal,
            rules: rank(&facts.rules, 900, 40, |_| 0),
            done: deeds(&facts.done, named),
            files: rank(&files, 400, 250, |_| 0),
            in_progress: rank(&facts.in_progress, 800, 20, |_| 0),
            blocked: rank(&facts.blocked, 700, 80, |_| 0),
            decisions: alike_later(decisions),
            questions: rank(&facts.questions, 850, 20, |_| 0),
            next: rank(&facts.next, 780, 20, |_| 0),
            context: alike_later(context),
            results: rank(&facts.results, 150, 250, named),
        }
    }
}

/// The lines with less need for those that say the same as newer ones but for the numbers.
fn alike_later(mut lines: Vec<Line>) -> Vec<Line> {
    let mut times: HashMap<String, u32> = HashMap::new();
    for line in lines.iter_mut().rev() {
        let seen = times.entry(shape(&line.text)).or_default();
        line.need = line.need.saturating_sub(*seen * ALIKE);
        *seen = (*seen + 1).min(MOST_ALIKE);
    }
    lines
}

/// Worth of what a statement settles or explains.
fn telling(text: &str) -> u32 {
    match () {
        () if is_settled(text) => 140,
        () if gives_reason(text) => 100,
        () if explains(text) => 60,
        () => 0,
    }
}

/// Lines from `base` for the oldest to `base + newer` for the newest, and `more` by what they say.
fn rank(list: &[String], base: u32, newer: u32, more: impl Fn(&str) -> u32) -> Vec<Line> {
    let count = list.len().max(1);
    let age = |at: usize| u32::try_from((at + 1) * newer as usize / count).unwrap_or(newer);
    list.iter().enumerate().map(|(at, text)| Line { text: text.clone(), need: base + age(at) + more(text) }).collect()
}

/// What was done: statements and calls, each newest first among their own.
fn deeds(done: &[String], named: impl Fn(&str) -> u32 + Copy) -> Vec<Line> {
    let is_call = |text: &String| text.contains(" → ");
    let of = |call: bool| done.iter().filter(|text| is_call(text) == call).cloned().collect::<Vec<_>>();
    // A path that every call names makes none of them worth more.
    let mut calls = rank(&of(true), 200, 150, |text| deed(text) + measured(text)).into_iter();
    let mut said = rank(&of(false), 200, 250, |text| named(text) + deed(text)).into_iter();
    done.iter().filter_map(|text| if is_call(text) { calls.next() } else { said.next() }).collect()
}

/// Worth of what a call measured; how long it took says little.
fn measured(text: &str) -> u32 {
    match text.split_once(" → ").map_or(0, |(_, says)| outcome::measures(says)) {
        0 | 1 => 0,
        _ => MEASURED_RUN,
    }
}

/// Worth of the identifiers that an item tells of, the most used ones most.
fn named(text: &str, weights: &HashMap<String, u32>) -> u32 {
    let weigh = |one: &String| weights.get(one).copied().unwrap_or_default();
    let found = identifiers::extract(text);
    let sum: u32 = found.iter().map(weigh).fold(0, u32::saturating_add);
    (sum / 2).min(MOST_NAMED) + if found.iter().any(|one| is_measured(one)) { MEASURED } else { 0 }
}

/// Returns true for an amount or a number with its unit: what was measured can't be looked up.
fn is_measured(identifier: &str) -> bool {
    let number = identifier.trim_start_matches(['$', '€', '£', '¥']);
    let unit = number.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | ' '));
    let word = unit == "%" || !unit.is_empty() && unit.len() < 9 && unit.chars().all(char::is_alphabetic);
    number.starts_with(|c: char| c.is_ascii_digit()) && (word || number.len() < identifier.len())
}

/// Worth of something done: a statement tells more than a call, a lasting effect more than a build.
fn deed(text: &str) -> u32 {
    let Some((call, _)) = text.split_once(" → ") else { return 220 };
    let (tool, target) = call.split_once(": ").unwrap_or((call, ""));
    match () {
        () if ledger::is_lasting(tool, target) => 360,
        () if ledger::is_shell(tool) => 20,
        () => 150,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_and_what_is_named_comes_first() {
        let done = ["bash: ls build → a", "bash: git push → main", "bash: cargo test → ok", "Fixed the parser."];
        let weights = HashMap::from([("src/a.rs".to_owned(), 90)]);
        let context =
            ["see src/a.rs for it".to_owned(), "The user said: by bus".to_owned(), "nothing of note".to_owned()];
        let facts =
            Facts { done: done.map(str::to_owned).to_vec(), weights, context: context.to_vec(), ..Facts::default() };
        let ranked = Ranked::of(&facts);
        let order = |lines: &[Line]| {
            let mut places: Vec<usize> = (0..lines.len()).collect();
            places.sort_by_key(|at| std::cmp::Reverse(lines[*at].need));
            places
        };
        assert_eq!(order(&ranked.done), [3, 1, 2, 0]);
        assert_eq!(order(&ranked.context), [1, 2, 0]);
    }
}
