//! Results that no call asks for, and those that came before their calls.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Deserializer, Serialize};

use super::entry::EntryMeta;
use super::json::is_default;
use super::open_calls::{OpenCall, OpenCalls};
use super::shape::{Shape, ShapeKind};

/// The newest results on a path that no open call asked for when they came. A call of such an id which comes later waits
/// for nothing, unless a result behind it answers it after all. What answers no call is in no context, and so its tokens
/// are kept here. At most [`EarlyResults::LIMIT`] are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EarlyResults {
    results: Vec<EarlyResult>,
    /// Tokens of older ones that answer no call, and the entry of the oldest.
    #[serde(skip_serializing_if = "is_default")]
    older: (i64, i64),
}

/// A result that came when no call waited for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyResult {
    pub id: String,
    /// Its entry.
    pub seq: i64,
    /// That it adds to a context which shows it.
    #[serde(default, skip_serializing_if = "is_default")]
    tokens: i64,
    /// Of these, what the view leaves out by showing it shorter.
    #[serde(default, skip_serializing_if = "is_default")]
    freed: i64,
    /// The entry of the call that it answers.
    #[serde(default, skip_serializing_if = "is_default")]
    call: Option<i64>,
    /// It answers none, whatever comes: its call has another result.
    #[serde(default, skip_serializing_if = "is_default")]
    is_spare: bool,
}

/// The entry of a result that an older version stored: of that it kept the id alone.
const UNKNOWN: i64 = -1;

impl EarlyResult {
    /// Tokens of the view that no context has.
    fn unsent(&self) -> i64 {
        if self.call.is_none() || self.is_spare { (self.tokens - self.freed).max(0) } else { 0 }
    }

    fn waits(&self) -> bool {
        self.call.is_none() && !self.is_spare && !self.id.is_empty()
    }
}

impl EarlyResults {
    pub const LIMIT: usize = 512;

    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.older.0 == 0
    }

    /// Tokens of those that answer no call.
    pub fn unsent(&self) -> i64 {
        self.older.0 + self.results.iter().map(EarlyResult::unsent).sum::<i64>()
    }

    /// How many calls have their result before them.
    pub fn answered(&self) -> usize {
        self.results.iter().filter(|one| one.call.is_some() && !one.is_spare).count()
    }

    /// Takes in an entry. `before` are the calls that were open; `orphans`, the places of its results that answer none.
    pub fn apply(&mut self, head: &EntryMeta, before: &[Option<i64>], orphans: &[usize]) {
        if !self.results.is_empty() {
            self.give_to_calls(head);
            self.give_way(&head.shape, before, orphans);
        }
        if !orphans.is_empty() {
            self.take(head, orphans);
        }
    }

    /// The entries of the calls that an entry's results answer, if the question matters.
    pub fn asked(&self, shape: &Shape, open: &OpenCalls) -> Vec<Option<i64>> {
        if self.results.iter().all(|one| one.call.is_none()) {
            return Vec::new();
        }
        shape.results.iter().map(|result| open.seq_of(&result.call_id)).collect()
    }

    /// Each call takes the oldest that waits for one of its id.
    fn give_to_calls(&mut self, head: &EntryMeta) {
        let mut wanted: HashMap<&str, usize> = HashMap::new();
        for call in head.shape.calls.iter().filter(|call| call.kind == ShapeKind::Function) {
            *wanted.entry(&call.id).or_default() += 1;
        }
        if wanted.is_empty() {
            return;
        }
        for one in self.results.iter_mut().filter(|one| one.waits()) {
            if let Some(count) = wanted.get_mut(one.id.as_str()).filter(|count| **count > 0) {
                *count -= 1;
                one.call = Some(head.seq);
            }
        }
    }

    /// A call that is answered behind itself does not need the one before it.
    fn give_way(&mut self, shape: &Shape, before: &[Option<i64>], orphans: &[usize]) {
        let orphans: HashSet<usize> = orphans.iter().copied().collect();
        let mut answered: HashMap<(&str, i64), usize> = HashMap::new();
        for (place, call) in before.iter().enumerate().filter(|(place, _)| !orphans.contains(place)) {
            if let (Some(result), Some(call)) = (shape.results.get(place), call) {
                *answered.entry((&result.call_id, *call)).or_default() += 1;
            }
        }
        if answered.is_empty() {
            return;
        }
        for one in self.results.iter_mut().filter(|one| !one.is_spare) {
            let Some(call) = one.call else { continue };
            if let Some(count) = answered.get_mut(&(one.id.as_str(), call)).filter(|count| **count > 0) {
                *count -= 1;
                one.is_spare = true;
            }
        }
    }

    fn take(&mut self, head: &EntryMeta, orphans: &[usize]) {
        let results = &head.shape.results;
        let of_results: i64 = results.iter().map(|result| i64::from(result.tokens)).sum();
        let is_alone = orphans.len() == results.len() && !head.shape.mixed && head.shape.calls.is_empty();
        // A message of which nothing is left goes with them.
        let mut frame = if is_alone { i64::from(head.tokens) - of_results } else { 0 };
        let called: HashSet<&str> = self.results.iter().filter(|one| !one.waits()).map(|one| one.id.as_str()).collect();
        let new = orphans.iter().filter_map(|place| results.get(*place)).map(|result| EarlyResult {
            tokens: i64::from(result.tokens) + std::mem::take(&mut frame),
            id: result.call_id.clone(),
            seq: head.seq,
            freed: 0,
            call: None,
            is_spare: called.contains(result.call_id.as_str()),
        });
        let new: Vec<EarlyResult> = new.collect();
        self.results.extend(new);
        let beyond = self.results.len().saturating_sub(EarlyResults::LIMIT);
        for one in self.results.drain(..beyond).filter(|one| one.unsent() > 0) {
            let from = if self.older.0 > 0 { self.older.1 } else { one.seq };
            self.older = (self.older.0 + one.unsent(), from);
        }
    }

    /// Keeps those that a new view shows. `freed`: what a result is shown shorter by.
    pub fn keep(&mut self, shows: impl Fn(i64) -> bool, freed: impl Fn(&EarlyResult) -> i64) {
        // Of the older ones no more is known: where not all may be shown, it is safer to count them.
        if !shows(self.older.1) {
            self.older = (0, 0);
        }
        self.results.retain(|one| shows(one.seq));
        for one in &mut self.results {
            one.call = one.call.filter(|call| shows(*call));
            one.freed = freed(one);
        }
    }

    /// Returns true if an open call has its result already.
    pub fn answer(&self, call: &OpenCall) -> bool {
        let is_its = |one: &EarlyResult| one.call == Some(call.seq) || one.seq == UNKNOWN;
        self.results.iter().any(|one| is_its(one) && !one.is_spare && one.id == call.id)
    }
}

impl<'de> Deserialize<'de> for EarlyResults {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EarlyResults, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Now {
                results: Vec<EarlyResult>,
                #[serde(default)]
                older: (i64, i64),
            },
            Ids(Vec<String>),
        }
        let older_version = |id| EarlyResult { id, seq: UNKNOWN, tokens: 0, freed: 0, call: None, is_spare: false };
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Now { results, older } => EarlyResults { results, older },
            Stored::Ids(ids) => EarlyResults { results: ids.into_iter().map(older_version).collect(), older: (0, 0) },
        })
    }
}

#[cfg(test)]
mod tests;
