//! Calls on a path that wait for their results.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::json::is_default;

/// Up to so many results without an id are looked up one by one: an index of 4,096 calls would cost more.
const LOOKED_UP: usize = 32;

/// The newest calls on a path that have no result yet, oldest first. At most [`OpenCalls::LIMIT`] are remembered:
/// a result that comes later than that counts as one without a call. Stored as the list of its calls.
#[derive(Debug, Clone, Default)]
pub struct OpenCalls {
    /// By the order in which they came.
    calls: BTreeMap<u64, OpenCall>,
    /// Places of the calls of each id, oldest first. All are of one entry: a call of a later one ends their wait.
    by_id: HashMap<String, VecDeque<u64>>,
    next: u64,
    /// How many of them are passed over and shown.
    passed_over: usize,
    /// Calls before this place were passed over or are waited for no more.
    passed: u64,
}

/// A call that waits for its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    pub id: String,
    pub name: String,
    /// The entry that made the call.
    pub seq: i64,
    /// The conversation has gone on without its result.
    #[serde(default, skip_serializing_if = "is_default")]
    is_passed_over: bool,
    /// No context shows it: a compaction covers it.
    #[serde(default, skip_serializing_if = "is_default")]
    is_covered: bool,
}

impl OpenCall {
    /// A call that waits since the entry `seq`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, seq: i64) -> OpenCall {
        OpenCall { id: id.into(), name: name.into(), seq, is_passed_over: false, is_covered: false }
    }

    /// A context shows that it has no result.
    fn is_told_unanswered(&self) -> bool {
        self.is_passed_over && !self.is_covered
    }
}

impl OpenCalls {
    pub const LIMIT: usize = 4_096;

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.values()
    }

    /// The name of the tool that a call of this id waits for.
    pub fn name_of(&self, id: &str) -> Option<&str> {
        let place = self.by_id.get(id)?.front()?;
        self.calls.get(place).map(|call| call.name.as_str())
    }

    /// The entry of the call that a result of this id answers.
    pub fn seq_of(&self, id: &str) -> Option<i64> {
        let place = self.by_id.get(id)?.front()?;
        self.calls.get(place).map(|call| call.seq)
    }

    /// Returns true if a result of this id answers a call that no context shows.
    pub fn is_covered(&self, id: &str) -> bool {
        let place = self.by_id.get(id).and_then(VecDeque::front);
        place.and_then(|place| self.calls.get(place)).is_some_and(|call| call.is_covered)
    }

    /// How many calls a context shows with a result that stands in for the one that did not come.
    pub fn passed_over(&self) -> usize {
        self.passed_over
    }

    /// The conversation goes on: what waits now is passed over, until its result comes after all.
    pub fn pass_over(&mut self) {
        for call in self.calls.range_mut(self.passed..).map(|(_, call)| call) {
            call.is_passed_over = true;
            self.passed_over += usize::from(call.is_told_unanswered());
        }
        self.passed = self.next;
    }

    /// Notes which calls a new view shows, by their entries.
    pub fn cover(&mut self, shows: impl Fn(i64) -> bool) {
        for call in self.calls.values_mut() {
            call.is_covered = !shows(call.seq);
        }
        self.passed_over = self.calls.values().filter(|call| call.is_told_unanswered()).count();
    }

    /// A call waits from now on. One that takes over an id ends the wait for the earlier entry's.
    pub fn open(&mut self, call: OpenCall) {
        let earlier = self.by_id.get(&call.id).and_then(|places| self.calls.get(places.front()?));
        if earlier.is_some_and(|earlier| earlier.seq != call.seq) {
            for place in self.by_id.remove(&call.id).into_iter().flatten() {
                self.remove(place);
            }
        }
        self.push(call);
    }

    fn push(&mut self, call: OpenCall) {
        self.by_id.entry(call.id.clone()).or_default().push_back(self.next);
        self.passed_over += usize::from(call.is_told_unanswered());
        self.calls.insert(self.next, call);
        self.next += 1;
    }

    fn remove(&mut self, place: u64) -> bool {
        let removed = self.calls.remove(&place);
        self.passed_over -= usize::from(removed.as_ref().is_some_and(OpenCall::is_told_unanswered));
        removed.is_some()
    }

    /// The oldest call of this id waits no longer; false where there is none.
    pub fn close(&mut self, id: &str) -> bool {
        let Some(places) = self.by_id.get_mut(id) else { return false };
        let place = places.pop_front();
        if places.is_empty() {
            self.by_id.remove(id);
        }
        place.is_some_and(|place| self.remove(place))
    }

    /// Forgets the oldest beyond the limit. To be called behind each entry, so that none of its own results is an orphan
    /// for it.
    pub fn forget_oldest(&mut self) {
        while self.calls.len() > OpenCalls::LIMIT {
            let Some(oldest) = self.calls.first_entry().map(|entry| entry.get().id.clone()) else { return };
            self.close(&oldest);
        }
    }
}

impl PartialEq for OpenCalls {
    fn eq(&self, other: &OpenCalls) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for OpenCalls {}

impl Serialize for OpenCalls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for OpenCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OpenCalls, D::Error> {
        let mut open = OpenCalls::default();
        for call in Vec::<OpenCall>::deserialize(deserializer)? {
            let is_passed_over = call.is_passed_over;
            open.push(call);
            if is_passed_over {
                open.passed = open.next;
            }
        }
        Ok(open)
    }
}

/// Open calls that results without an id are given to, within one entry.
pub struct UnclaimedCalls<'o> {
    calls: Vec<&'o OpenCall>,
    taken: Vec<bool>,
    index: Option<NameIndex<'o>>,
}

/// All calls, and those of each tool.
#[derive(Default)]
struct NameIndex<'o> {
    any: NamedCalls,
    by_name: HashMap<&'o str, NamedCalls>,
}

#[derive(Default)]
struct NamedCalls {
    /// Oldest first.
    places: Vec<usize>,
    /// The same by the entry that made them.
    by_entry: HashMap<i64, VecDeque<usize>>,
}

impl<'o> UnclaimedCalls<'o> {
    /// For about so many results. Calls that others name are theirs.
    pub fn of(open: &'o OpenCalls, results: usize, named: &HashSet<&str>) -> UnclaimedCalls<'o> {
        let calls: Vec<&OpenCall> = open.iter().collect();
        let index = (results > LOOKED_UP).then(|| {
            let mut index = NameIndex::default();
            for (place, call) in calls.iter().enumerate() {
                for named in [&mut index.any, index.by_name.entry(call.name.as_str()).or_default()] {
                    named.places.push(place);
                    named.by_entry.entry(call.seq).or_default().push_back(place);
                }
            }
            index
        });
        let taken = calls.iter().map(|call| named.contains(call.id.as_str())).collect();
        UnclaimedCalls { taken, calls, index }
    }

    /// Takes the call that a result without an id belongs to: of the newest entry with a fitting open call, the first one.
    pub fn take(&mut self, name: Option<&str>) -> Option<&'o OpenCall> {
        let place = if self.index.is_some() { self.indexed(name) } else { self.looked_up(name) }?;
        self.taken[place] = true;
        self.calls.get(place).copied()
    }

    fn looked_up(&self, name: Option<&str>) -> Option<usize> {
        let fits = |place: &usize| !self.taken[*place] && name.is_none_or(|name| self.calls[*place].name == name);
        let newest = (0..self.calls.len()).rev().find(fits)?;
        let seq = self.calls[newest].seq;
        (0..=newest).find(|place| self.calls[*place].seq == seq && fits(place))
    }

    fn indexed(&mut self, name: Option<&str>) -> Option<usize> {
        let index = self.index.as_mut()?;
        let named = match name {
            None => &mut index.any,
            Some(name) => index.by_name.get_mut(name)?,
        };
        // What was taken under another name is passed over once.
        while named.places.last().is_some_and(|place| self.taken[*place]) {
            named.places.pop();
        }
        let newest = self.calls.get(*named.places.last()?)?;
        let entry = named.by_entry.get_mut(&newest.seq)?;
        while entry.front().is_some_and(|place| self.taken[*place]) {
            entry.pop_front();
        }
        entry.front().copied()
    }
}

#[cfg(test)]
mod tests;
