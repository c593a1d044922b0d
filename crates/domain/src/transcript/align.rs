//! One pass over both transcripts.

mod stored;

use std::collections::{HashMap, HashSet};

use super::calls::is_call;
use super::fragments::{Digest, Fragment, Placed, Speaker, fragments, is_result, nothing_said};
use super::own::{is_synthetic, is_wordless};
use super::{Alignment, ExpectedEntry, Said, ShownBesides};
use crate::chapter::numbered;
use crate::model::message::{Message, Role, ToolResult};
use stored::{StoredFragment, StoredSide};

/// Aligns `posted` with `steps`; `None` among the posted stands for an item of our own, which says nothing new.
///
/// Both sides must agree where an item and a step end; the last such place is where the transcripts part.
pub fn align(steps: &[ExpectedEntry], posted: &[Option<Said>], shown: &ShownBesides) -> Alignment {
    let nothing = ShownBesides::default();
    let answered_twice = answered_twice(posted);
    let stored = StoredSide::new(steps, &nothing);
    let mut aligner = Aligner { stored, shown, ids: HashMap::new(), number: None, answered_twice };
    let said = aligner.stored.boundary().unwrap_or(0);
    let mut best = Alignment { matched: 0, steps: said, stored_blocks: 0, number: None };
    let mut pending = false;
    for (n, said) in posted.iter().enumerate() {
        let item = said.as_ref().map(|said| fragments(said, shown)).unwrap_or_default();
        match aligner.item(&item) {
            Fit::No { stored_blocks } if stored_blocks > 0 && best.matched == n => {
                return Alignment { steps: steps.len(), stored_blocks, ..best };
            }
            Fit::No { .. } => return best,
            Fit::Yes { strong } => pending &= !strong,
            Fit::OnlyWeak => pending = true,
        }
        if let Some(said) = aligner.stored.boundary().filter(|_| !pending) {
            best = Alignment { matched: n + 1, steps: said, stored_blocks: 0, number: aligner.number };
        }
    }
    best
}

struct Aligner<'a> {
    stored: StoredSide<'a>,
    shown: &'a ShownBesides,
    /// Posted call ids that are not the stored ones.
    ids: HashMap<String, &'a str>,
    /// The last number that was passed over.
    number: Option<usize>,
    answered_twice: HashSet<&'a str>,
}

/// Calls for which more than one result is posted: the real one follows one that was made up.
fn answered_twice(posted: &[Option<Said>]) -> HashSet<&str> {
    let messages = posted.iter().flatten().filter_map(|said| match said {
        Said::Message(message) => Some(message),
        Said::Nothing(_) => None,
    });
    let ids = messages.flat_map(Message::tool_results).map(|result| result.tool_call_id.as_str());
    let mut once = HashSet::new();
    ids.filter(|id| !once.insert(*id)).collect()
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
    fn item(&mut self, item: &[Placed<'_>]) -> Fit {
        let (mut strong, mut weak) = (false, false);
        // A number that stands alone belongs to what comes behind it.
        let mut alone = None;
        let mut stored_results = 0;
        for placed in item {
            let fits = match &placed.fragment {
                Fragment::Weak(key) => {
                    weak |= !self.weak(key);
                    self.number = alone.take().or(self.number);
                    continue;
                }
                Fragment::Chapter(quoted) => {
                    self.number = quoted.number.or(self.number);
                    quoted.chapters.iter().any(|chapter| self.stored.hide(self.shown.hides(*chapter)))
                }
                Fragment::Result(result) if self.is_superseded(result) => self.made_up(result),
                Fragment::Result(result) => self.result(result) || self.made_up(result),
                Fragment::Line(Speaker::User, line) if alone.is_none() && self.is_number(line) && !self.says(line) => {
                    alone = numbered(line).map(|(number, _)| number);
                    continue;
                }
                spoken => self.spoken(spoken),
            };
            if !fits {
                let whole = stored_results > 0 && stored_results == placed.block && self.stored.open.is_empty();
                return Fit::No { stored_blocks: if whole { stored_results } else { 0 } };
            }
            self.number = alone.take().or(self.number);
            stored_results += usize::from(matches!(placed.fragment, Fragment::Result(_)));
            strong = true;
        }
        if alone.is_some() {
            if !self.weak(&nothing_said(Role::User)) {
                return Fit::No { stored_blocks: 0 };
            }
            self.number = alone;
        }
        if weak && !strong { Fit::OnlyWeak } else { Fit::Yes { strong } }
    }

    fn weak(&mut self, wanted: &Digest) -> bool {
        let found = self.stored.weak(wanted);
        if let Some(at) = found {
            self.stored.advance(at + 1);
        }
        found.is_some()
    }

    fn is_number(&self, line: &str) -> bool {
        self.shown.numbered && numbered(line).is_some_and(|(_, rest)| rest.is_empty())
    }

    /// Returns true if a user's line is the next thing that must be said.
    fn says(&self, line: &str) -> bool {
        let open = self.stored.first_open().map(|at| &self.stored.fragments[at].fragment);
        matches!(open, Some(Fragment::Line(Speaker::User, text)) if text == line)
    }

    fn spoken(&mut self, posted: &Fragment<'_>) -> bool {
        let mut at = self.stored.next;
        while let Some(stored) = self.stored.fragments.get(at) {
            let found = match (posted, &stored.fragment) {
                _ if stored.hidden => false,
                (Fragment::Line(speaker, line), Fragment::Line(known, text)) => {
                    let line = stored.behind_name(line).filter(|_| line != text).unwrap_or(line);
                    let behind = self.behind_number(line, stored, text);
                    self.number = behind.or(self.number);
                    speaker == known && (line == text || behind.is_some())
                }
                (Fragment::Call(call), Fragment::Call(known)) => {
                    let found = is_call(call, known);
                    if found && call.id != known.id {
                        self.ids.insert(call.id.clone(), &known.id);
                    }
                    found
                }
                _ => false,
            };
            if found {
                self.stored.advance(at + 1);
                return true;
            }
            let says_system = matches!(posted, Fragment::Line(Speaker::System, _));
            let skips_line = says_system && !stored.hidden && matches!(stored.fragment, Fragment::Line(..));
            if self.stored.open.contains(&at) || skips_line {
                return false;
            }
            at += 1;
        }
        false
    }

    /// The number, where the posted line is the stored first line of a task with one in front.
    fn behind_number(&self, line: &str, stored: &StoredFragment<'_>, text: &str) -> Option<usize> {
        if !self.shown.numbered || !stored.begins_task || line == text {
            return None;
        }
        numbered(line).filter(|(_, rest)| *rest == text).map(|(number, _)| number)
    }

    /// Results are looked for by their call: a context has them right behind it, wherever they came.
    fn result(&mut self, posted: &ToolResult) -> bool {
        let id = posted.tool_call_id.as_str();
        if id.is_empty() {
            return self.unnamed_result(posted);
        }
        let id = self.ids.get(id).copied().unwrap_or(id);
        let Some(at) = self.stored.result(id) else { return false };
        let StoredFragment { fragment: Fragment::Result(known), sizes, .. } = &self.stored.fragments[at] else {
            return false;
        };
        if !is_result(posted, known, sizes) {
            return false;
        }
        self.stored.take_result(id, at);
        true
    }

    /// Returns true if the result is the one that contexts show for a stored call that has none.
    fn made_up(&self, posted: &ToolResult) -> bool {
        let id = posted.tool_call_id.as_str();
        let id = self.ids.get(id).copied().unwrap_or(id);
        is_synthetic(posted) && (id.is_empty() || self.stored.holds_call(id))
    }

    fn is_superseded(&self, posted: &ToolResult) -> bool {
        is_wordless(posted) && self.answered_twice.contains(posted.tool_call_id.as_str())
    }

    /// A result without an id answers in its turn.
    fn unnamed_result(&mut self, posted: &ToolResult) -> bool {
        let mut rest = self.stored.fragments[self.stored.next..].iter().zip(self.stored.next..);
        let found = rest.find_map(|(stored, at)| match &stored.fragment {
            _ if stored.hidden => None,
            Fragment::Result(known) => Some((at, is_result(posted, known, stored.sizes))),
            _ if !self.stored.open.contains(&at) => None,
            _ => Some((at, false)),
        });
        match found {
            Some((at, true)) => {
                self.stored.advance(at + 1);
                true
            }
            _ => false,
        }
    }
}
