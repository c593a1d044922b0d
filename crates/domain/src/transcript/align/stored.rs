//! The stored side of an alignment: its fragments, and which of them are still to be said.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

use crate::transcript::fragments::{Digest, Fragment, Placed, Speaker, stored_fragments};
use crate::transcript::{ExpectedEntry, ShownBesides};

pub struct StoredFragment<'a> {
    pub step: usize,
    pub fragment: Fragment<'a>,
    /// A number may stand before it.
    pub begins_task: bool,
    /// The name of who says it may stand before it.
    pub name: Option<String>,
    /// A chapter stands in its place.
    pub hidden: bool,
    /// It stands for the whole step, so only where nothing else of that has been said.
    instead: bool,
    /// Sizes that contexts gave a result.
    pub sizes: &'a [u32],
}

pub struct StoredSide<'a> {
    pub fragments: Vec<StoredFragment<'a>>,
    /// Where each step's fragments end.
    pub ends: Vec<usize>,
    /// The next fragment to be said.
    pub next: usize,
    /// Atoms that must be said, and were not; none is before `next`.
    pub open: BTreeSet<usize>,
    /// Results that were said before their turn.
    pub ahead: BTreeSet<usize>,
    /// Results that wait to be said, by call id.
    results: HashMap<&'a str, VecDeque<usize>>,
    weak: HashMap<Digest, VecDeque<usize>>,
    calls: HashSet<&'a str>,
}

impl StoredFragment<'_> {
    /// What stands behind the name of who says it.
    pub fn behind_name<'l>(&self, line: &'l str) -> Option<&'l str> {
        line.strip_prefix(self.name.as_deref()?)?.strip_prefix(": ")
    }
}

impl<'a> StoredSide<'a> {
    pub fn new(steps: &'a [ExpectedEntry], nothing: &'a ShownBesides) -> StoredSide<'a> {
        let mut stored = StoredSide {
            fragments: Vec::new(),
            ends: Vec::with_capacity(steps.len()),
            next: 0,
            open: BTreeSet::new(),
            ahead: BTreeSet::new(),
            results: HashMap::new(),
            weak: HashMap::new(),
            calls: HashSet::new(),
        };
        let mut waiting: HashMap<&str, usize> = HashMap::new();
        let mut leading = true;
        for (step, said) in steps.iter().enumerate() {
            let mut begins_task = said.is_task;
            let mut name = said.speaker();
            let mut begun = false;
            for Placed { block, fragment, optional } in stored_fragments(&said.said, nothing) {
                let at = stored.fragments.len();
                let mut passed = optional;
                let mut sizes: &[u32] = &[];
                match &fragment {
                    Fragment::Call(call) => {
                        stored.calls.insert(&call.id);
                        *waiting.entry(&call.id).or_default() += 1;
                    }
                    Fragment::Result(result) => {
                        sizes = said.sizes_of(&result.tool_call_id);
                        stored.results.entry(&result.tool_call_id).or_default().push_back(at);
                        match waiting.get_mut(result.tool_call_id.as_str()).filter(|count| **count > 0) {
                            Some(count) => *count -= 1,
                            None => passed = true,
                        }
                    }
                    Fragment::Weak(key) => stored.weak.entry(*key).or_default().push_back(at),
                    // Some formats have the first system messages beside the others.
                    Fragment::Line(Speaker::System, _) => passed |= leading,
                    Fragment::Line(..) | Fragment::Chapter(_) => {}
                }
                leading &= matches!(fragment, Fragment::Line(Speaker::System, _) | Fragment::Weak(_));
                if !passed {
                    stored.open.insert(at);
                }
                let first = begins_task && !optional && matches!(fragment, Fragment::Line(..));
                begins_task &= !first;
                let instead = begun && said.is_behind(block);
                begun = true;
                let is_line = !optional && matches!(fragment, Fragment::Line(Speaker::User, _));
                stored.fragments.push(StoredFragment {
                    step,
                    name: if is_line { name.take() } else { None },
                    fragment,
                    begins_task: first,
                    hidden: false,
                    instead,
                    sizes,
                });
            }
            stored.ends.push(stored.fragments.len());
        }
        stored
    }

    /// The first fragment that must be said.
    pub fn first_open(&self) -> Option<usize> {
        self.open.first().copied()
    }

    /// Returns true if no fragment from the next one up to this one (exclusive) has to be said.
    pub fn reaches(&self, at: usize) -> bool {
        self.first_open().is_none_or(|open| open >= at)
    }

    /// Returns true if the stored side has a call of this id.
    pub fn holds_call(&self, id: &str) -> bool {
        self.calls.contains(id)
    }

    /// The place of what formats may leave out, if it can be its turn.
    pub fn weak(&mut self, key: &Digest) -> Option<usize> {
        let (fragments, ends, next) = (&self.fragments, &self.ends, self.next);
        let start = |step: usize| step.checked_sub(1).map_or(0, |before| ends[before]);
        let is_past = |at: usize| {
            at < next || fragments[at].hidden || (fragments[at].instead && start(fragments[at].step) < next)
        };
        let waiting = self.weak.get_mut(key)?;
        while waiting.front().is_some_and(|at| is_past(*at)) {
            waiting.pop_front();
        }
        let at = waiting.front().copied()?;
        self.reaches(at).then_some(at)
    }

    /// The place of the next result of a call.
    pub fn result(&mut self, id: &str) -> Option<usize> {
        let (fragments, next) = (&self.fragments, self.next);
        let waiting = self.results.get_mut(id)?;
        while waiting.front().is_some_and(|at| *at < next || fragments[*at].hidden) {
            waiting.pop_front();
        }
        waiting.front().copied()
    }

    /// The result was said: in its turn or ahead of it.
    pub fn take_result(&mut self, id: &str, at: usize) {
        if let Some(waiting) = self.results.get_mut(id) {
            waiting.pop_front();
        }
        if self.reaches(at) {
            self.advance(at + 1);
        } else {
            self.open.remove(&at);
            self.ahead.insert(at);
        }
    }

    /// Everything before `to` has been said or is left out.
    pub fn advance(&mut self, to: usize) {
        while self.first_open().is_some_and(|open| open < to) {
            self.open.pop_first();
        }
        self.next = to;
        while self.ahead.remove(&self.next) || self.fragments.get(self.next).is_some_and(|fragment| fragment.hidden) {
            self.next += 1;
        }
    }

    /// Puts a chapter in the place of these steps, if it is their turn.
    pub fn hide(&mut self, steps: &[Range<usize>]) -> bool {
        let Some(first) = steps.first().filter(|first| !first.is_empty()) else { return false };
        let start = self.start(first.start);
        if start < self.next || !self.reaches(start) || self.fragments.get(start).is_none_or(|fragment| fragment.hidden)
        {
            return false;
        }
        for range in steps {
            for at in self.start(range.start)..self.start(range.end) {
                self.fragments[at].hidden = true;
                self.open.remove(&at);
                self.ahead.remove(&at);
            }
        }
        self.advance(self.start(first.end));
        true
    }

    fn start(&self, step: usize) -> usize {
        step.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(match step {
            0 => 0,
            _ => self.fragments.len(),
        })
    }

    /// Where the step of the last matched fragment ends, if nothing of it is left to say.
    fn end_of_step(&self) -> Option<usize> {
        let Some(last) = self.next.checked_sub(1) else { return Some(0) };
        let step = self.fragments[last].step;
        self.reaches(self.ends[step]).then_some(step + 1)
    }

    /// How many steps have been said, where both sides are between two messages.
    pub fn boundary(&self) -> Option<usize> {
        match self.open.is_empty() {
            true => Some(self.ends.len()),
            false => self.end_of_step().filter(|_| self.ahead.is_empty()),
        }
    }
}
