use proptest::prelude::*;

use super::*;
use crate::compaction::prepare::tests::{entry, path};
use crate::context::ties::{Tie, TieKind};
use crate::model::shape::ShapeKind;

fn cut(spec: &str, keep: u32) -> Option<(usize, Option<usize>)> {
    let path = path(spec);
    let entries: Vec<&EntryMeta> = path.iter().collect();
    cut_point(&entries, keep, u64::MAX).map(|cut| (cut.first_kept, cut.turn_start))
}

#[test]
fn cuts_at_the_first_place_after_the_budget() {
    assert_eq!(cut("u10 a10 u10 a10", 15), Some((2, None)));
    assert_eq!(cut("u10 a10 u10 a10", 10), Some((3, Some(2))), "inside a turn: its beginning is named");
    assert_eq!(cut("u10 a10 u10 a10", 0), Some((3, Some(2))));
    assert_eq!(cut("u10 a10 u10 a10", 1_000), Some((0, None)), "everything fits");
    assert_eq!(cut("u10 a10 s5 u0", 0), Some((2, None)), "what says nothing is passed over, as pi does");
}

#[test]
fn never_cuts_at_a_result() {
    assert_eq!(cut("u10 a10:c1 t10:c1 a10 u10", 25), Some((3, Some(0))), "moves forward over the result");
    assert_eq!(cut("u10 a10:c1 t90:c1", 50), Some((1, Some(0))), "nothing after it: the newest place before");
    assert_eq!(cut("t10:c1 t10:c2", 5), None);
    assert_eq!(cut("", 5), None);
}

#[test]
fn never_parts_a_call_from_its_result() {
    assert_eq!(cut("u10 a10:c1 a10:c2 t10:c1 t10:c2 a10", 35), Some((5, Some(0))), "a parallel batch is whole");
    assert_eq!(cut("u10 a10:c1 a10:c2 t90:c1 t10:c2", 35), Some((1, Some(0))));
    assert_eq!(cut("u10 a10:c1 u10 t10:c1 u10", 25), Some((4, None)), "the user spoke before the tool did");
    assert_eq!(cut("u10 a10:c1 u10 a10", 15), Some((2, None)), "a call that never got its result ties nothing");
    assert_eq!(cut("u10 a10:c1 t10:c1 a10:c1 t10:c1 a10", 25), Some((3, Some(0))), "ids may come again");
    assert_eq!(cut("u10 a10:c1 v10:c1 a10", 15), Some((3, Some(0))), "results in a user message");
}

#[test]
fn never_parts_a_result_from_a_call_behind_it() {
    assert_eq!(cut("u10 t10:c1 u10 a10:c1 u10", 25), Some((4, None)));
    assert_eq!(
        cut("u10 t10:c1 u10 a10:c1 t10:c1 u10", 45),
        Some((2, None)),
        "a call that has its own result behind it"
    );
}

fn asked(spec: &str, first_kept: usize) -> Result<(), (&'static str, Option<usize>)> {
    let path = path(spec);
    let entries: Vec<&EntryMeta> = path.iter().collect();
    check_cut(&entries, first_kept, u64::MAX).map_err(|fault| (fault.why, fault.nearest))
}

#[test]
fn a_cut_that_is_asked_for_keeps_the_same_rules() {
    let parts_call = "would part a tool call from its result";
    let spec = "u10 a10:c1 t10:c1 l0 a10 y5 u10";
    assert_eq!(asked(spec, 4), Ok(()));
    assert_eq!(asked(spec, 3), Ok(()), "what is not shown counts as what follows it");
    assert_eq!(asked(spec, 2), Err((parts_call, Some(1))));
    assert_eq!(asked("u10 r5 a10 u10", 2), Err(("would part an answer from its reasoning", Some(1))));
    assert_eq!(asked(spec, 5), Err(("is nothing that a context can begin with", Some(4))));
    assert_eq!(asked("u10 t10:c1", 1), Err(("is nothing that a context can begin with", None)));
    assert_eq!(asked("a10:c1 u5 t10:c1", 1), Err((parts_call, None)), "nothing would be left to summarise");
}

#[test]
fn metadata_before_the_tail_is_kept_with_it() {
    assert_eq!(cut("u10 a10 l0 l0 u10", 5), Some((2, Some(0))));
    assert_eq!(cut("u10 a10 k5 l0 u10", 5), Some((3, Some(0))), "but not what is before a compaction");
}

#[test]
fn what_the_user_and_extensions_say_starts_a_turn() {
    for spec in ["u10 a10 b10 a10", "u10 a10 x10 a10", "u10 a10 s10 a10"] {
        assert_eq!(cut(spec, 15), Some((2, None)), "{spec}");
    }
}

#[test]
fn a_call_run_by_the_provider_is_tied_to_its_result() {
    let mut call = entry(0, "a10:c1");
    let mut result = entry(1, "a10");
    call.shape.calls[0].kind = ShapeKind::Server;
    result.shape.results = entry(2, "t10:c1").shape.results;
    result.shape.results[0].kind = ShapeKind::Server;
    assert_eq!(ties(&[&call, &result]), [Tie { first: 0, last: 1, kind: TieKind::Link }]);
}

#[test]
fn never_parts_an_answer_from_its_reasoning() {
    assert_eq!(cut("u10 a10 r5 a10 u10", 20), Some((4, None)), "forward to the next place");
    assert_eq!(cut("u10 a10 r5 a10:c1 t10:c1", 25), Some((2, Some(0))));
    assert_eq!(cut("u10 a10 r5 a10:c1 t10:c1", 15), Some((2, Some(0))), "nothing after it: the reasoning is kept too");
    assert_eq!(cut("u10 r5 a10 l0 a10 u10", 15), Some((5, None)), "an answer in several items is one");
    assert_eq!(cut("u10 r5 a10:c1 t10:c1 a10 u10", 20), Some((4, Some(0))), "after a result a new answer begins");
}

proptest! {
    #[test]
    fn places_of_a_tail_are_those_of_the_whole(
        spec in prop::collection::vec(prop::sample::select(vec![
            "u10", "a10", "r5", "l0", "k5", "b10", "a10:c1", "a10:c2", "t10:c1", "t10:c2", "v10:c3", "a10:c3",
        ]), 1..24)
    ) {
        let path = path(&spec.join(" "));
        let entries: Vec<&EntryMeta> = path.iter().collect();
        let all = valid_places(&entries, 0);
        for from in 0..=entries.len() {
            let tail: Vec<usize> = all.iter().copied().filter(|place| *place >= from).collect();
            prop_assert_eq!(valid_places(&entries, from), tail, "from {}", from);
        }
    }
}
