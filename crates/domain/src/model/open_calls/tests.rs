use proptest::prelude::*;

use super::*;

/// The same, found the slow and obvious way.
#[derive(Default)]
struct Listed(Vec<OpenCall>);

impl Listed {
    fn open(&mut self, call: OpenCall) {
        self.0.retain(|open| open.id != call.id || open.seq == call.seq);
        self.0.push(call);
    }

    fn close(&mut self, id: &str) -> bool {
        let place = self.0.iter().position(|open| open.id == id);
        place.map(|place| self.0.remove(place)).is_some()
    }

    fn forget_oldest(&mut self) {
        self.0.drain(..self.0.len().saturating_sub(OpenCalls::LIMIT));
    }

    fn fitting(&self, name: Option<&str>, taken: &[bool]) -> Option<usize> {
        let fits = |place: usize, open: &OpenCall| !taken[place] && name.is_none_or(|name| open.name == name);
        let newest = self.0.iter().enumerate().rposition(|(place, open)| fits(place, open))?;
        let seq = self.0[newest].seq;
        self.0.iter().enumerate().position(|(place, open)| open.seq == seq && fits(place, open))
    }
}

fn call(id: impl ToString, name: impl ToString, seq: i64) -> OpenCall {
    OpenCall::new(id.to_string(), name.to_string(), seq)
}

/// An entry's calls, as numbers of id and name, and the ids that its results close.
type Step = (Vec<(u8, u8)>, Vec<u8>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let calls = prop::collection::vec((0..6u8, 0..3u8), 0..5);
    prop::collection::vec((calls, prop::collection::vec(0..7u8, 0..5)), 0..12)
}

proptest! {
    #[test]
    fn calls_wait_as_they_do_in_a_list(steps in steps(), names in prop::collection::vec(0..5u8, 0..80)) {
        let (mut open, mut listed) = (OpenCalls::default(), Listed::default());
        for (seq, (calls, results)) in (0..).zip(&steps) {
            for (id, name) in calls {
                open.open(call(id, name, seq));
                listed.open(call(id, name, seq));
            }
            for id in results {
                prop_assert_eq!(open.close(&id.to_string()), listed.close(&id.to_string()));
            }
            open.forget_oldest();
            listed.forget_oldest();
            prop_assert!(open.iter().eq(&listed.0));
            let stored = serde_json::to_string(&open).unwrap();
            prop_assert_eq!(&stored, &serde_json::to_string(&listed.0).unwrap());
            open = serde_json::from_str(&stored).unwrap();
        }
        // 0: any name.
        let wanted = |name: &u8| name.checked_sub(1).map(|name| name.to_string());
        for results in [0, LOOKED_UP + 1] {
            let mut unclaimed = UnclaimedCalls::of(&open, results, &Default::default());
            let mut taken = vec![false; listed.0.len()];
            for name in names.iter().map(wanted) {
                let expected = listed.fitting(name.as_deref(), &taken);
                expected.into_iter().for_each(|place| taken[place] = true);
                prop_assert_eq!(unclaimed.take(name.as_deref()), expected.map(|place| &listed.0[place]));
            }
        }
    }
}

#[test]
fn the_limit_makes_no_orphans_within_one_entry() {
    let mut open = OpenCalls::default();
    let many = 2 * OpenCalls::LIMIT;
    (0..many).for_each(|n| open.open(call(n, "f", 1)));
    assert!((0..10).all(|n| open.close(&n.to_string())));
    open.forget_oldest();
    assert_eq!(open.iter().count(), OpenCalls::LIMIT);
    assert_eq!(open.iter().next(), Some(&call(many - OpenCalls::LIMIT, "f", 1)));
}

#[test]
fn of_an_entry_with_more_calls_than_the_limit_only_the_newest_are_opened() {
    use crate::model::shape::{CallRef, Shape, ShapeKind};
    let calls = |ids: std::ops::Range<usize>| {
        let call = |id: usize| CallRef { id: id.to_string(), name: "f".to_owned(), kind: ShapeKind::Function };
        Shape { calls: ids.map(call).collect(), ..Shape::default() }
    };
    let many = 3 * OpenCalls::LIMIT;
    let (mut open, mut listed) = (OpenCalls::default(), Listed::default());
    open.apply(0, &calls(0..9));
    (0..9).for_each(|id| listed.open(call(id, "f", 0)));
    open.apply(1, &calls(5..many));
    assert_eq!(open.next, 9 + OpenCalls::LIMIT as u64, "no more were opened than are remembered");
    (5..many).for_each(|id| listed.open(call(id, "f", 1)));
    listed.forget_oldest();
    assert!(open.iter().eq(&listed.0));
}
