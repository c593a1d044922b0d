//! One pass over both transcripts.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::atoms::{Atom, Placed, Speaker, atoms, is_call, is_result, stored_atoms};
use super::own::is_synthetic;
use super::{Alignment, Said, Step};
use crate::domain::message::ToolResult;

/// How far ahead a weak atom is looked for.
const WEAK_REACH: usize = 64;

/// Aligns `posted` with `steps`; `None` among the posted stands for an item of our own, which says nothing new.
///
/// Both sides must agree where an item and a step end; the last such place is where the transcripts part.
pub fn align(steps: &[Step], posted: &[Option<Said>]) -> Alignment {
    let mut aligner = Aligner::new(steps);
    let mut best = Alignment { matched: 0, steps: aligner.boundary().unwrap_or(0), stored_blocks: 0 };
    let mut pending = false;
    for (n, said) in posted.iter().enumerate() {
        let item = said.as_ref().map(atoms).unwrap_or_default();
        match aligner.item(&item) {
            Fit::No { stored_blocks } if stored_blocks > 0 && best.matched == n => {
                return Alignment { matched: n, steps: steps.len(), stored_blocks };
            }
            Fit::No { .. } => return best,
            Fit::Yes { strong } => pending &= !strong,
            Fit::OnlyWeak => pending = true,
        }
        if let Some(said) = aligner.boundary().filter(|_| !pending) {
            best = Alignment { matched: n + 1, steps: said, stored_blocks: 0 };
        }
    }
    best
}

struct StoredAtom<'a> {
    step: usize,
    atom: Atom<'a>,
    /// Matched already, or such that a context leaves it out.
    passed: bool,
}

struct Aligner<'a> {
    stored: Vec<StoredAtom<'a>>,
    /// Where each step's atoms end.
    ends: Vec<usize>,
    /// The next atom to be said.
    next: usize,
    /// How many atoms there are still to be said.
    left: usize,
    /// Results that were said before their turn.
    ahead: BTreeSet<usize>,
    /// Results that wait to be said, by call id.
    results: HashMap<&'a str, VecDeque<usize>>,
    /// Posted call ids that are not the stored ones.
    ids: HashMap<String, &'a str>,
}

enum Fit {
    Yes {
        strong: bool,
    },
    OnlyWeak,
    /// So many leading blocks are stored results, where nothing that is stored remains to be said.
    No {
        stored_blocks: usize,
    },
}

impl<'a> Aligner<'a> {
    fn new(steps: &'a [Step]) -> Aligner<'a> {
        let mut stored: Vec<StoredAtom<'a>> = Vec::new();
        let mut ends = Vec::with_capacity(steps.len());
        let mut open: HashMap<&str, usize> = HashMap::new();
        let mut results: HashMap<&str, VecDeque<usize>> = HashMap::new();
        let mut leading = true;
        for (step, said) in steps.iter().enumerate() {
            for Placed { atom, optional, .. } in stored_atoms(&said.said) {
                let mut passed = optional;
                match &atom {
                    Atom::Call(call) => *open.entry(&call.id).or_default() += 1,
                    Atom::Result(result) => {
                        results.entry(&result.tool_call_id).or_default().push_back(stored.len());
                        let waiting = open.get_mut(result.tool_call_id.as_str()).filter(|count| **count > 0);
                        match waiting {
                            Some(count) => *count -= 1,
                            None => passed = true,
                        }
                    }
                    // Some formats have the first system messages beside the others.
                    Atom::Line(Speaker::System, _) => passed |= leading,
                    Atom::Weak(_) | Atom::Line(..) => {}
                }
                leading &= matches!(atom, Atom::Line(Speaker::System, _) | Atom::Weak(_));
                stored.push(StoredAtom { step, atom, passed });
            }
            ends.push(stored.len());
        }
        let left = stored.iter().filter(|stored| !stored.passed).count();
        Aligner { stored, ends, next: 0, left, ahead: BTreeSet::new(), results, ids: HashMap::new() }
    }

    fn item(&mut self, item: &[Placed<'_>]) -> Fit {
        let (mut strong, mut weak) = (false, false);
        let mut stored_results = 0;
        for placed in item {
            let fits = match &placed.atom {
                Atom::Weak(key) => {
                    weak |= !self.weak(key);
                    continue;
                }
                Atom::Result(result) if is_synthetic(result) => true,
                Atom::Result(result) => self.result(result),
                spoken => self.spoken(spoken),
            };
            if !fits {
                let whole = stored_results > 0 && stored_results == placed.block && self.is_exhausted();
                return Fit::No { stored_blocks: if whole { stored_results } else { 0 } };
            }
            stored_results += usize::from(matches!(placed.atom, Atom::Result(_)));
            strong = true;
        }
        if weak && !strong { Fit::OnlyWeak } else { Fit::Yes { strong } }
    }

    fn weak(&mut self, wanted: &str) -> bool {
        let reach = self.stored.len().min(self.next.saturating_add(WEAK_REACH));
        for at in self.next..reach {
            match &self.stored[at] {
                StoredAtom { atom: Atom::Weak(key), .. } if key == wanted => {
                    self.advance(at + 1);
                    return true;
                }
                StoredAtom { passed: true, .. } => {}
                _ => return false,
            }
        }
        false
    }

    fn spoken(&mut self, posted: &Atom<'_>) -> bool {
        let mut at = self.next;
        while let Some(stored) = self.stored.get(at) {
            let found = match (posted, &stored.atom) {
                (Atom::Line(speaker, line), Atom::Line(known, text)) => speaker == known && line == text,
                (Atom::Call(call), Atom::Call(known)) => {
                    let found = is_call(call, known);
                    if found && call.id != known.id {
                        self.ids.insert(call.id.clone(), &known.id);
                    }
                    found
                }
                _ => false,
            };
            let says_system = matches!(posted, Atom::Line(Speaker::System, _));
            if found {
                self.advance(at + 1);
                return true;
            }
            if !stored.passed || (says_system && matches!(stored.atom, Atom::Line(..))) {
                return false;
            }
            at += 1;
        }
        false
    }

    /// Results are looked for by their call: a context has them right behind it, wherever they came.
    fn result(&mut self, posted: &ToolResult) -> bool {
        let id = posted.tool_call_id.as_str();
        if id.is_empty() {
            return self.unnamed_result(posted);
        }
        let id = self.ids.get(id).copied().unwrap_or(id);
        let next = self.next;
        let Some(waiting) = self.results.get_mut(id) else { return false };
        while waiting.front().is_some_and(|at| *at < next) {
            waiting.pop_front();
        }
        let Some(at) = waiting.front().copied() else { return false };
        let Atom::Result(known) = self.stored[at].atom else { return false };
        if !is_result(posted, known) {
            return false;
        }
        waiting.pop_front();
        if self.stored[next..at].iter().all(|stored| stored.passed) {
            self.advance(at + 1);
        } else {
            self.left -= usize::from(!self.stored[at].passed);
            self.stored[at].passed = true;
            self.ahead.insert(at);
        }
        true
    }

    /// A result without an id answers in its turn.
    fn unnamed_result(&mut self, posted: &ToolResult) -> bool {
        let mut rest = self.stored[self.next..].iter().enumerate();
        let found = rest.find_map(|(offset, stored)| match &stored.atom {
            Atom::Result(known) => Some((offset, is_result(posted, known))),
            _ if stored.passed => None,
            _ => Some((offset, false)),
        });
        match found {
            Some((offset, true)) => {
                self.advance(self.next + offset + 1);
                true
            }
            _ => false,
        }
    }

    /// Everything before `to` has been said or is left out.
    fn advance(&mut self, to: usize) {
        self.left -= usize::from(to > 0 && !self.stored[to - 1].passed);
        self.next = to;
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
    }

    fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Where the step of the last matched atom ends, if nothing of it is left to say.
    fn end_of_step(&self) -> Option<usize> {
        let Some(last) = self.next.checked_sub(1) else { return Some(0) };
        let step = self.stored[last].step;
        self.stored[self.next..self.ends[step]].iter().all(|stored| stored.passed).then_some(step + 1)
    }

    /// How many steps have been said, where both sides are between two messages.
    fn boundary(&self) -> Option<usize> {
        match self.is_exhausted() {
            true => Some(self.ends.len()),
            false => self.end_of_step().filter(|_| self.ahead.is_empty()),
        }
    }
}
