//! Which result answers which call.

use std::collections::{HashMap, HashSet, VecDeque};

use super::step::ViewStep;
use crate::model::shape::ShapeKind;

/// Every `Function` call of the view with its result, and every result with its call.
pub struct Matching {
    pub calls: Vec<MatchedCall>,
    /// Outcome of each result, step by step, slot by slot.
    outcomes: Vec<MatchOutcome>,
    /// Per step: where its calls and outcomes begin. One more than there are steps.
    starts: Vec<(usize, usize)>,
}

pub struct MatchedCall {
    pub step: usize,
    /// Place among the calls of its message.
    pub slot: usize,
    pub answer: Option<ResultPlace>,
    /// A fresh id, where the view uses the call's id twice and may not.
    pub new_id: Option<String>,
}

/// A result: its step and its place among the results of that message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultPlace {
    pub step: usize,
    pub slot: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchOutcome {
    /// Answers the call at this index of [`Matching::calls`].
    Answers(usize),
    Duplicate,
    Orphan,
    /// Not ours to pair.
    Server,
}

impl Matching {
    /// Matches in one pass. A result answers the newest call of its id that still waits; a call that takes over an
    /// id in a later turn ends the wait of the earlier one. A call that nothing behind it answers is answered by a
    /// result that came before it, where no call of its id stands before that one. `unique_ids`: no two calls of the
    /// context may share one.
    pub fn of(steps: &[ViewStep<'_>], unique_ids: bool) -> Matching {
        let ids = steps.iter().flat_map(|step| &step.shape.calls).map(|call| call.id.as_str()).collect();
        let mut matcher = Matcher { unique_ids, ids, ..Matcher::default() };
        let mut starts = Vec::with_capacity(steps.len() + 1);
        for (index, step) in steps.iter().enumerate() {
            starts.push((matcher.calls.len(), matcher.outcomes.len()));
            if !step.is_assistant() {
                matcher.run += 1;
            }
            matcher.take_calls(index, step);
            matcher.take_results(index, step);
        }
        starts.push((matcher.calls.len(), matcher.outcomes.len()));
        matcher.take_early(steps);
        Matching { calls: matcher.calls, outcomes: matcher.outcomes, starts }
    }

    /// Indexes of the calls of these steps.
    pub fn calls_of(&self, steps: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        self.starts[steps.start].0..self.starts[steps.end].0
    }

    pub fn outcomes_of(&self, step: usize) -> &[MatchOutcome] {
        &self.outcomes[self.starts[step].1..self.starts[step + 1].1]
    }

    /// The fresh id that a result goes out with, where its call has one.
    pub fn new_id_of(&self, outcome: MatchOutcome) -> Option<&str> {
        match outcome {
            MatchOutcome::Answers(call) => self.calls[call].new_id.as_deref(),
            _ => None,
        }
    }

    /// Returns true if a call or a result of the step goes out with another id.
    pub fn renames(&self, step: usize) -> bool {
        let calls = &self.calls[self.calls_of(&(step..step + 1))];
        calls.iter().any(|call| call.new_id.is_some())
            || self.outcomes_of(step).iter().any(|outcome| self.new_id_of(*outcome).is_some())
    }
}

#[derive(Default)]
struct Matcher<'v> {
    unique_ids: bool,
    calls: Vec<MatchedCall>,
    outcomes: Vec<MatchOutcome>,
    /// Counts up with every step that is not the assistant's: calls of one run stand together.
    run: usize,
    waiting: HashMap<&'v str, WaitingCalls>,
    /// Every id that the view uses.
    ids: HashSet<&'v str>,
    /// Every id made here.
    made: HashSet<String>,
    /// Results that came before any call of their id, oldest first: place, and index among the outcomes.
    early: HashMap<&'v str, VecDeque<(ResultPlace, usize)>>,
}

/// The calls of one id that wait, all of one run, oldest first.
#[derive(Default)]
struct WaitingCalls {
    run: usize,
    calls: VecDeque<usize>,
    /// How many fresh ids were tried for this one.
    renamed: usize,
}

impl<'v> Matcher<'v> {
    fn take_calls(&mut self, step_index: usize, step: &ViewStep<'v>) {
        for (slot, call) in step.shape.calls.iter().enumerate() {
            if call.kind != ShapeKind::Function {
                continue;
            }
            let index = self.calls.len();
            let known = self.waiting.contains_key(call.id.as_str());
            let waiting = self.waiting.entry(&call.id).or_default();
            let same_run = known && waiting.run == self.run;
            if !same_run {
                waiting.calls.clear();
                waiting.run = self.run;
            }
            waiting.calls.push_back(index);
            let taken = known && (self.unique_ids || same_run);
            let new_id = taken.then(|| {
                loop {
                    waiting.renamed += 1;
                    let candidate = format!("{}_{}", call.id, waiting.renamed + 1);
                    if !self.ids.contains(candidate.as_str()) && self.made.insert(candidate.clone()) {
                        break candidate;
                    }
                }
            });
            self.calls.push(MatchedCall { step: step_index, slot, answer: None, new_id });
        }
    }

    fn take_results(&mut self, step: usize, shape_of: &ViewStep<'v>) {
        for (slot, result) in shape_of.shape.results.iter().enumerate() {
            let outcome = match self.waiting.get_mut(result.call_id.as_str()) {
                _ if result.kind != ShapeKind::Function => MatchOutcome::Server,
                None => {
                    let early = self.early.entry(&result.call_id).or_default();
                    early.push_back((ResultPlace { step, slot }, self.outcomes.len()));
                    MatchOutcome::Orphan
                }
                Some(waiting) => waiting.calls.pop_front().map_or(MatchOutcome::Duplicate, MatchOutcome::Answers),
            };
            if let MatchOutcome::Answers(call) = outcome {
                self.calls[call].answer = Some(ResultPlace { step, slot });
            }
            self.outcomes.push(outcome);
        }
    }

    /// Gives each call the result that was posted before it, in their order, unless one behind it answers it.
    fn take_early(&mut self, steps: &[ViewStep<'v>]) {
        if self.early.is_empty() {
            return;
        }
        for (index, call) in self.calls.iter_mut().enumerate() {
            let id =
                steps.get(call.step).and_then(|step| step.shape.calls.get(call.slot)).map(|known| known.id.as_str());
            let Some((place, outcome)) = id.and_then(|id| self.early.get_mut(id)?.pop_front()) else { continue };
            if call.answer.is_some() {
                continue;
            }
            call.answer = Some(place);
            if let Some(outcome) = self.outcomes.get_mut(outcome) {
                *outcome = MatchOutcome::Answers(index);
            }
        }
    }
}
