//! Conversations that begin alike, and so share an identity by content: where each of them stood last, and where it is
//! kept.
//!
//! Of two that both go on, the one that departs gets a session of its own. A departure that replaces what was said last may
//! be an edit: it stays a branch, until somebody goes on with what was replaced.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::proxy::identity::Identity;
use crate::proxy::known::Key;
use crate::proxy::speech::{End, Place, Speech};

/// Conversations under one identity that are told apart.
const MOST: usize = 32;
const IDENTITIES: u64 = 10_000;
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);

/// The conversations of one identity, the one that spoke last at the end.
#[derive(Debug, Default)]
pub struct Branches(Vec<Branch>);

#[derive(Debug, Clone)]
struct Branch {
    end: End,
    /// The place of its end, and the one before that.
    place: Place,
    before: Option<Place>,
    /// Where it is kept.
    name: String,
    /// Something else was said in place of its end.
    is_replaced: bool,
    /// It has begun in place of what another one had said last, and is kept with that.
    has_departed: bool,
    /// That other one has gone on: what is said next here is kept by itself.
    is_to_part: bool,
}

impl Branch {
    /// A conversation that has got so far, before it is known where it is kept.
    fn at(speech: &Speech) -> Option<Branch> {
        let mut places = speech.places().iter().copied();
        Some(Branch {
            end: speech.end()?,
            place: places.next()?,
            before: places.next(),
            name: String::new(),
            is_replaced: false,
            has_departed: false,
            is_to_part: false,
        })
    }

    fn named(self, name: String) -> Branch {
        Branch { name, ..self }
    }
}

impl Branches {
    /// Where the conversation is kept that this goes on from, if it needs no other place.
    pub fn goes_on_in(&self, speech: &Speech) -> Option<String> {
        let branch = self.0.get(self.going_on(speech)?)?;
        (!branch.is_replaced && !branch.is_to_part).then(|| branch.name.clone())
    }

    /// Returns true if a conversation is known that this is more of, or an edit.
    pub fn seems_known(&self, speech: &Speech) -> bool {
        self.knows(speech) || self.edited(speech, None).is_some()
    }

    /// Returns true if it is known of which conversation this is more.
    pub fn knows(&self, speech: &Speech) -> bool {
        self.going_on(speech).is_some()
    }

    /// Returns true if it is known what conversation is kept under that name.
    pub fn holds(&self, name: &str) -> bool {
        self.0.iter().any(|branch| branch.name == name)
    }

    /// Where a conversation is kept that says this by now. `base` is where the first of them is, and `stored` where this one
    /// was found, if nothing of it is remembered.
    pub fn place(&mut self, base: &Identity, speech: &Speech, stored: Option<String>) -> String {
        let Some(new) = Branch::at(speech) else { return stored.unwrap_or_else(|| base.external_id.clone()) };
        let own = base.beside(&new.place.recent).external_id;
        let branch = match (self.going_on(speech), self.edited(speech, stored.as_deref())) {
            (Some(at), _) => self.taken_up(at, own, new),
            (None, Some(at)) => self.replaced(at, own, new),
            (None, None) if self.0.is_empty() => new.named(stored.unwrap_or_else(|| base.external_id.clone())),
            (None, None) => new.named(stored.unwrap_or(own)),
        };
        let name = branch.name.clone();
        self.0.push(branch);
        if self.0.len() > MOST {
            self.0.remove(0);
        }
        name
    }

    /// Takes in how far a conversation had got that is kept under this name.
    pub fn remember(&mut self, name: String, speech: &Speech) {
        if !self.holds(&name) {
            self.0.extend(Branch::at(speech).map(|branch| branch.named(name)));
        }
    }

    /// The branch that this goes on from, with all that was said and heard in it: of several the one that got the furthest.
    fn going_on(&self, speech: &Speech) -> Option<usize> {
        let nearest = |(at, branch): (usize, &Branch)| {
            let place = speech.places().iter().position(|place| place.is(&branch.place))?;
            Some((Reverse(place), at))
        };
        self.0.iter().enumerate().filter_map(nearest).max().map(|(_, at)| at)
    }

    /// The branch of which this says the end otherwise, or goes on from with something said otherwise that came before: of
    /// several the one that it has the most of. Where it is stored under a name, that one's.
    fn edited(&self, speech: &Speech, stored: Option<&str>) -> Option<usize> {
        let shared = |(at, branch): (usize, &Branch)| {
            let is_up_to_end = branch.before.is_none_or(|before| speech.passes(&before));
            let holds_before = branch.end.before.is_none_or(|before| speech.holds(&before));
            // To have said the same last, in another conversation, is not to go on with it.
            let goes_on = speech.end()?.newest != branch.end.newest && speech.holds(&branch.end.newest);
            let is_edit = stored.is_some() || is_up_to_end || holds_before || goes_on;
            is_edit.then_some((is_up_to_end, holds_before && goes_on, at))
        };
        let is_named = |branch: &Branch| stored.is_none_or(|stored| branch.name == stored);
        let live = self.0.iter().enumerate().filter(|(_, branch)| !branch.is_replaced && is_named(branch));
        live.filter_map(shared).max().map(|(.., at)| at)
    }

    /// Goes on with a branch. Where another one has replaced it meanwhile there are two, and the one that has departed gets a
    /// place of its own, as soon as it says something.
    fn taken_up(&mut self, at: usize, own: String, new: Branch) -> Branch {
        let taken = self.0.remove(at);
        if taken.is_to_part || taken.is_replaced && taken.has_departed {
            return self.parted(taken.name, own, new);
        }
        if taken.is_replaced {
            let others = self.0.iter_mut().filter(|other| other.name == taken.name && !other.is_replaced);
            others.for_each(|other| other.is_to_part = true);
            return new.named(taken.name);
        }
        Branch { has_departed: taken.has_departed, ..new.named(taken.name) }
    }

    /// Says the end of a branch otherwise.
    fn replaced(&mut self, at: usize, own: String, new: Branch) -> Branch {
        let Some(branch) = self.0.get_mut(at) else { return new.named(own) };
        branch.is_replaced = true;
        match (branch.is_to_part, branch.name.clone()) {
            (true, name) => self.parted(name, own, new),
            (false, name) => Branch { has_departed: true, ..new.named(name) },
        }
    }

    /// Gives a conversation the place of its own, unless all that it says was said where that place is another's.
    fn parted(&self, shared: String, own: String, new: Branch) -> Branch {
        match self.holds(&own) {
            true => Branch { is_to_part: true, ..new.named(shared) },
            false => new.named(own),
        }
    }
}

/// The branches of all identities. Cheap to clone.
#[derive(Clone)]
pub struct KnownBranches(moka::sync::Cache<Key, Arc<Mutex<Branches>>>);

impl Default for KnownBranches {
    fn default() -> KnownBranches {
        KnownBranches(moka::sync::Cache::builder().max_capacity(IDENTITIES).time_to_idle(REMEMBERED_FOR).build())
    }
}

impl KnownBranches {
    /// Does something with the branches of an identity, one after the other.
    pub fn with<T>(&self, key: &Key, job: impl FnOnce(&mut Branches) -> T) -> T {
        let branches = self.0.get_with(key.clone(), Arc::default);
        let mut branches = branches.lock().unwrap_or_else(PoisonError::into_inner);
        job(&mut branches)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::domain::model::format::Format;

    fn said(texts: &str) -> Speech {
        let item = |text: &str| {
            let (role, text) = text.strip_prefix("a:").map_or(("user", text), |answer| ("assistant", answer));
            RawValue::from_string(json!({"role": role, "content": text}).to_string()).unwrap()
        };
        Speech::of(Format::OpenaiChat, &texts.split(' ').map(item).collect::<Vec<_>>(), 0)
    }

    /// Where each request is kept: 0 is where the first one was.
    fn places(all: &[&str]) -> Vec<usize> {
        let (mut branches, base) = (Branches::default(), Identity::of_content(&blake3::hash(b"x")));
        let mut names = vec![base.external_id.clone()];
        let mut place = |texts: &&str| {
            let name = branches.place(&base, &said(texts), None);
            let at = names.iter().position(|one| *one == name);
            at.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        all.iter().map(&mut place).collect()
    }

    #[test]
    fn one_conversation_stays_one() {
        assert_eq!(places(&["1", "1 2", "1 2 3", "1 2 3"]), [0; 4], "it goes on");
        assert_eq!(places(&["1", "1b", "1b 2", "1b 2b", "1b 2b 3"]), [0; 5], "its end is edited");
        assert_eq!(places(&["1 clock1", "1 2 clock2", "1 2 3 clock3"]), [0; 3], "its end is another one each time");
        assert_eq!(places(&["0 1 2 3", "summary 2 3 4", "summary 2 3 4 5"]), [0; 3], "its beginning is summed up");
        assert_eq!(places(&["files1 1", "1 files2 2", "1 2 files3 3"]), [0; 3], "a message moves on and changes");
        assert_eq!(places(&["1 2 3", "1 2", "1 2 3b"]), [0; 3], "a part of it is said once more");
    }

    #[test]
    fn of_two_that_go_on_the_one_that_departs_goes_its_own_way() {
        assert_eq!(places(&["a", "b", "a a2", "b b2", "a a2 a3", "b b2 b3"]), [0, 0, 0, 1, 0, 1]);
        assert_eq!(places(&["a a2", "b b2", "a a2 a3", "b b2 b3"]), [0, 1, 0, 1], "one that departs early at once");
        assert_eq!(places(&["a", "b", "c", "a a2", "c c2", "b b2", "a a2 a3", "c c2 c3", "b b2 b3"])[6..], [0, 1, 2]);
        assert_eq!(
            places(&["a x", "b x", "c x", "b x 2", "a x 2", "c x 2"]),
            [0, 1, 2, 1, 0, 2],
            "the same was said last"
        );
    }

    #[test]
    fn two_that_say_the_same_are_told_apart_by_what_they_hear() {
        assert_eq!(
            places(&["1", "1", "1 a:x 2", "1 a:y 2", "1 a:x 2 a:z 3", "1 a:y 2 a:z 3", "1 a:x 2 a:z 3 a:z 4"]),
            [0, 0, 0, 0, 0, 1, 0],
            "other answers"
        );
        let interleaved = places(&[
            "1 2a",
            "1 2b",
            "1 2c",
            "1 2a 3",
            "1 2b 3",
            "1 2c 3",
            "1 2a 3 3",
            "1 2b 3 3",
            "1 2c 3 3",
            "1 2a 3 3 3",
            "1 2c 3 3 3",
            "1 2b 3 3 3",
        ]);
        assert_eq!(interleaved[3..], [0, 1, 2, 0, 1, 2, 0, 2, 1], "they depart, and say the same from there on");
        assert_eq!(
            places(&["1 a:<think>x</think>y 2", "1 a:y 2 a:z 3", "1 a:y 2 a:z 3 a:w 4"]),
            [0; 3],
            "a client that rewrites what it heard has one conversation"
        );
    }

    #[test]
    fn one_that_comes_late_gets_a_place_that_is_nobody_else_s() {
        let all = places(&[
            "1",
            "1 2",
            "1 2 3a",
            "1",
            "1 2",
            "1",
            "1 2 3a 4",
            "1 2 3b",
            "1 2",
            "1 2 3c",
            "1 2 3b 4",
            "1 2 3c 4",
            "1 2 3a 4 5",
            "1 2 3b 4 5",
            "1 2 3c 4 5",
        ]);
        let (a, b, c) = (all[12], all[13], all[14]);
        assert!(a != b && b != c && a != c, "{all:?}");
        assert_eq!((all[6], all[10], all[11]), (a, b, c), "{all:?}");
    }

    #[test]
    fn what_was_found_elsewhere_goes_on_there() {
        let (mut branches, base) = (Branches::default(), Identity::of_content(&blake3::hash(b"x")));
        let other = base.beside(&blake3::hash(b"other")).external_id;
        branches.remember(base.external_id.clone(), &said("1 2a 3"));
        assert_eq!(branches.place(&base, &said("1 2b 3"), Some(other.clone())), other, "it was found");
        assert_eq!(branches.place(&base, &said("1 2a 3 4"), None), base.external_id, "it is remembered");
        assert_eq!(branches.place(&base, &said("1 2b 3 4"), None), other);
        let third = branches.place(&base, &said("1 2c 5 6"), None);
        assert!(third != other && third != base.external_id, "it is neither");
    }
}
