//! What ties entries of a path together, told from shapes: no cut, anchor or choice may part them.
//!
//! - a call and its results, whichever was posted first;
//! - what names by its id what it rests on: a provider's own call and its result, a call and the program that made it, an
//!   approval and what was approved ([`Links`](crate::model::links::Links));
//! - an answer and the reasoning that it begins with;
//! - what a provider has begun and not ended, and the end of the path ([`open_from`]).

mod open;

use std::collections::HashMap;

pub use open::open_from;

use crate::model::entry::EntryMeta;
use crate::model::shape::{CallRef, ShapeKind, is_generated_id};

/// A stretch of entries that stays together: the indexes of the first and of the last one, which differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tie {
    pub first: usize,
    pub last: usize,
    pub kind: TieKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TieKind {
    /// A call and its result.
    Call,
    /// Something and what it rests on by its id.
    Link,
    /// Reasoning and the answer that it led to.
    Reasoning,
}

impl TieKind {
    /// What a cut between the two would do.
    pub fn parting(self) -> &'static str {
        match self {
            TieKind::Call => "would part a tool call from its result",
            TieKind::Link => "would part an item from the one that it names by its id",
            TieKind::Reasoning => "would part an answer from its reasoning",
        }
    }
}

/// An id under which entries are tied. Calls of the agent and what providers link have names of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TieKey<'e> {
    Call(&'e str),
    Link(&'e str),
}

impl TieKey<'_> {
    fn kind(self) -> TieKind {
        match self {
            TieKey::Call(_) => TieKind::Call,
            TieKey::Link(_) => TieKind::Link,
        }
    }
}

/// The ties between these entries, in no order. Linear in their number.
pub fn ties(entries: &[&EntryMeta]) -> Vec<Tie> {
    ties_from(entries, 0).within
}

/// The ties of a tail, and what of it is tied to something before it.
pub struct TailTies {
    pub within: Vec<Tie>,
    /// Indexes of the entries of the tail that are tied to one before it. Reasoning is not looked at: it stands right
    /// before.
    pub across: Vec<usize>,
}

/// The ties of the entries from `base` on. Those before are looked at as far as the tail asks for them.
pub fn ties_from(entries: &[&EntryMeta], base: usize) -> TailTies {
    let (before, tail) = entries.split_at(base.min(entries.len()));
    let mut tying = Tying::default();
    for (index, head) in tail.iter().enumerate() {
        tying.take(base + index, head);
    }
    let across = tying.across(before);
    let mut within = tying.finish();
    within.extend(reasoned(tail).map(|tie| Tie { first: base + tie.first, last: base + tie.last, ..tie }));
    TailTies { within, across }
}

/// The ids that an entry stands for.
fn opens(head: &EntryMeta) -> impl Iterator<Item = TieKey<'_>> {
    let calls = head.shape.calls.iter().map(|call| match call.kind {
        ShapeKind::Function => TieKey::Call(call.id.as_str()),
        ShapeKind::Server => TieKey::Link(call.id.as_str()),
    });
    calls.chain(head.shape.links.opens.iter().map(|id| TieKey::Link(id)))
}

/// The ids that an entry rests on.
fn needs(head: &EntryMeta) -> impl Iterator<Item = TieKey<'_>> {
    let results = head.shape.results.iter();
    let results = results.filter(|result| result.kind == ShapeKind::Function || !result.call_id.is_empty());
    let results = results.map(|result| match result.kind {
        ShapeKind::Function => TieKey::Call(result.call_id.as_str()),
        ShapeKind::Server => TieKey::Link(result.call_id.as_str()),
    });
    results.chain(head.shape.links.needs.iter().map(|id| TieKey::Link(id)))
}

#[derive(Default)]
struct Tying<'e> {
    ties: Vec<Tie>,
    opened: HashMap<TieKey<'e>, usize>,
    /// What rests on an id that nothing before it stands for.
    needed: HashMap<TieKey<'e>, Vec<usize>>,
    /// Calls that nothing behind them answers yet, the first of each id.
    waiting: HashMap<TieKey<'e>, usize>,
    /// The oldest provider's own call without an id that waits, and how many do.
    unnamed: Option<(usize, usize)>,
}

impl<'e> Tying<'e> {
    fn take(&mut self, index: usize, head: &'e EntryMeta) {
        // A provider's own call may be answered in its own entry, an agent's never is.
        for key in opens(head).filter(|key| key.kind() == TieKind::Link) {
            self.opened.insert(key, index);
        }
        for key in needs(head) {
            self.waiting.remove(&key);
            match self.opened.get(&key) {
                Some(first) => self.tie(*first, index, key.kind()),
                None => self.needed.entry(key).or_default().push(index),
            }
        }
        for key in opens(head).filter(|key| key.kind() == TieKind::Call) {
            if self.opened.insert(key, index).is_none() {
                self.waiting.insert(key, index);
            }
        }
        self.take_unnamed(index, head);
    }

    /// What is tied to the entries before: each of their ids is asked for once.
    fn across(&mut self, before: &[&'e EntryMeta]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut early: HashMap<TieKey<'e>, usize> = HashMap::new();
        for head in before.iter().rev() {
            if self.needed.is_empty() && self.waiting.is_empty() {
                break;
            }
            for key in opens(head) {
                found.extend(self.needed.remove(&key).unwrap_or_default());
                self.waiting.remove(&key);
                early.remove(&key);
            }
            for key in needs(head) {
                early.extend(self.waiting.get(&key).map(|call| (key, *call)));
            }
        }
        found.extend(early.into_values());
        found
    }

    /// A provider's own calls and results that have no ids belong together in their order.
    fn take_unnamed(&mut self, index: usize, head: &EntryMeta) {
        let is_unnamed = |call: &&CallRef| call.kind == ShapeKind::Server && is_generated_id(&call.id, head.seq);
        let calls = head.shape.calls.iter().filter(is_unnamed).count();
        let results = head.shape.results.iter();
        let results = results.filter(|one| one.kind == ShapeKind::Server && one.call_id.is_empty()).count();
        if let Some((first, open)) = self.unnamed.filter(|_| results > 0) {
            self.tie(first, index, TieKind::Link);
            self.unnamed = open.checked_sub(results).filter(|open| *open > 0).map(|open| (first, open));
        } else if let Some(open) = calls.checked_sub(results).filter(|open| *open > 0) {
            let (first, before) = self.unnamed.unwrap_or((index, 0));
            self.unnamed = Some((first, before + open));
        }
    }

    fn tie(&mut self, first: usize, last: usize, kind: TieKind) {
        if first < last {
            self.ties.push(Tie { first, last, kind });
        }
    }

    fn finish(mut self) -> Vec<Tie> {
        for (key, last) in std::mem::take(&mut self.waiting) {
            // Results that came before their call: all of them, for a view may begin behind the first.
            for first in self.needed.remove(&key).unwrap_or_default() {
                self.tie(first, last, key.kind());
            }
        }
        self.ties
    }
}

/// The neighbours of every answer that begins with reasoning.
fn reasoned<'e>(entries: &'e [&'e EntryMeta]) -> impl Iterator<Item = Tie> + 'e {
    let mut last = 0;
    let mut reasoned = false;
    entries.iter().enumerate().filter(|(_, head)| head.is_visible()).filter_map(move |(index, head)| {
        let answers = head.is_answer();
        let tie = (reasoned && answers).then_some(Tie { first: last, last: index, kind: TieKind::Reasoning });
        reasoned = answers && (reasoned || head.shape.leads);
        last = index;
        tie
    })
}

#[cfg(test)]
mod tests;
