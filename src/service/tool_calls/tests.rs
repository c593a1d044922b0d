use super::*;
use crate::domain::prepare::tests::path;

/// The places of calls and of their results.
fn paired(spec: &str) -> Vec<(usize, Option<(usize, usize)>)> {
    occurrences(&path(spec)).iter().map(|found| (found.call, found.result)).collect()
}

#[test]
fn calls_of_one_id_are_answered_in_their_order() {
    assert_eq!(paired("u1 a1:c,c t1:c t1:c"), [(1, Some((2, 0))), (1, Some((3, 0)))]);
    assert_eq!(paired("u1 a1:c,c t1:c,c"), [(1, Some((2, 0))), (1, Some((2, 1)))]);
    assert_eq!(paired("u1 a1:c t1:c,c"), [(1, Some((2, 0)))], "the second answers nothing");
}

#[test]
fn a_later_call_takes_the_id_over() {
    assert_eq!(paired("a1:c u1 a1:c t1:c t1:c"), [(0, None), (2, Some((3, 0)))]);
    assert_eq!(paired("a1:c t1:c u1 a1:c t1:c"), [(0, Some((1, 0))), (3, Some((4, 0)))]);
}
