//! Units: the smallest runs of messages that may stay or go by themselves.

use std::collections::BTreeSet;
use std::ops::Range;

use super::choice::ShownMessage;
use crate::context::ties::{open_from, ties};
use crate::model::entry::EntryMeta;
use crate::model::shape::ShapeKind;

/// A run of messages that no boundary may part: what is tied together and what stands between, or the items that make up
/// one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Places in the list of items.
    pub items: Range<usize>,
    pub tokens: u64,
    /// It stays whatever is chosen.
    pub fixed: bool,
}

/// A view cut into units, oldest first.
#[derive(Debug, Clone)]
pub struct Units {
    pub all: Vec<Unit>,
    /// The tokens of each item.
    pub sizes: Vec<u64>,
    /// By item: whether it counts as one of the newest messages.
    counted: Vec<bool>,
}

impl Units {
    /// `required` holds places on the path; the unit of each of them is fixed, as is the newest unit.
    pub fn of(path: &[EntryMeta], items: &[ShownMessage], required: &BTreeSet<usize>, most_open: u64) -> Units {
        let shown: Vec<&EntryMeta> = items.iter().filter_map(|item| path.get(item.index)).collect();
        let starts = starts(&shown, most_open);
        let ends = starts.iter().copied().skip(1).chain([shown.len()]);
        let unit = |(start, end): (usize, usize)| {
            let members = items.get(start..end).unwrap_or_default();
            Unit {
                items: start..end,
                tokens: members.iter().map(|item| item.tokens).sum(),
                fixed: end == shown.len() || members.iter().any(|item| required.contains(&item.index)),
            }
        };
        Units {
            all: starts.iter().copied().zip(ends).map(unit).collect(),
            sizes: items.iter().map(|item| item.tokens).collect(),
            counted: shown.iter().map(|head| !head.is_instruction()).collect(),
        }
    }

    /// Where the unit begins in which the newest `messages` begin; past the end for none.
    pub fn tail_start(&self, messages: u32) -> usize {
        let newest = self.counted.iter().enumerate().rev().filter(|(_, counted)| **counted);
        let wanted = usize::try_from(messages).unwrap_or(usize::MAX);
        newest.take(wanted).map(|(at, _)| self.unit_start(at)).last().unwrap_or(self.sizes.len())
    }

    /// Where the unit of an item begins.
    fn unit_start(&self, item: usize) -> usize {
        let after = self.all.partition_point(|unit| unit.items.start <= item);
        self.all.get(after.saturating_sub(1)).map_or(0, |unit| unit.items.start)
    }

    /// Counts the tokens of the fixed units.
    pub fn fixed_tokens(&self) -> u64 {
        self.all.iter().filter(|unit| unit.fixed).map(|unit| unit.tokens).sum()
    }

    /// A choice of units as one of items.
    pub fn by_item(&self, stays: &[bool]) -> Vec<bool> {
        self.all.iter().zip(stays).flat_map(|(unit, stays)| unit.items.clone().map(move |_| *stays)).collect()
    }
}

/// The places where units begin, ascending.
fn starts(shown: &[&EntryMeta], most_open: u64) -> Vec<usize> {
    let mut joined = vec![0_i64; shown.len() + 1];
    let mut join = |from: usize, to: usize| {
        // No boundary at from+1..=to.
        for (place, step) in [(from + 1, 1), (to + 1, -1)] {
            if let Some(count) = joined.get_mut(place) {
                *count += step;
            }
        }
    };
    for tie in ties(shown) {
        join(tie.first, tie.last);
    }
    for (at, two) in shown.windows(2).enumerate() {
        // The items of one answer: reasoning is worth nothing without what it led to.
        if let [first, second] = two
            && (first.is_answer() && second.is_answer() || second.shape.in_chapter)
        {
            join(at, at + 1);
        }
    }
    for open in open_call(shown).into_iter().chain(open_from(shown, most_open)) {
        join(open, shown.len() - 1);
    }
    let mut depth = 0;
    let edges = joined.iter().take(shown.len()).enumerate();
    edges
        .filter_map(|(place, step)| {
            depth += step;
            (depth == 0).then_some(place)
        })
        .collect()
}

/// The newest answer, where one of its calls still waits for a result: what follows may be steering, and the result is to
/// find its call.
fn open_call(shown: &[&EntryMeta]) -> Option<usize> {
    let newest = shown.iter().rposition(|head| head.is_answer())?;
    let calls = shown.get(newest)?.shape.calls.iter().filter(|call| call.kind == ShapeKind::Function);
    let answered: BTreeSet<&str> = shown
        .get(newest..)?
        .iter()
        .flat_map(|head| &head.shape.results)
        .map(|result| result.call_id.as_str())
        .collect();
    calls.into_iter().any(|call| !answered.contains(call.id.as_str())).then_some(newest)
}
