use super::*;
use crate::compaction::prepare::tests::path;

#[test]
fn leaves_what_the_target_does_not_share() {
    let old = path("u1 a1 k1 u1 a1");
    let mut target = path("u1 a1 u1");
    target[2].id = uuid::Uuid::from_u128(99);
    assert_eq!(left_branch(&old, &target), LeftBranch { ancestor: Some(1), entries: vec![2, 3, 4] });
    assert_eq!(left_branch(&old, &old[..3]), LeftBranch { ancestor: Some(2), entries: vec![3, 4] });
    assert_eq!(left_branch(&old, &[]), LeftBranch { ancestor: None, entries: vec![0, 1, 2, 3, 4] });
    assert_eq!(left_branch(&[], &target), LeftBranch { ancestor: None, entries: vec![] });
}

#[test]
fn takes_the_newest_within_the_budget_without_results() {
    let entries = path("u10 a10:c1 t90:c1 l0 a10 u10");
    let plan = plan_summary(&entries, 30);
    assert_eq!((plan.messages, plan.visited, plan.tokens), (vec![1, 4, 5], vec![0, 1, 4, 5], 30));
    let all = plan_summary(&entries, 0);
    assert_eq!((all.messages, all.tokens), (vec![0, 1, 4, 5], 40));
}

#[test]
fn an_older_summary_is_squeezed_in_below_nine_tenths() {
    let squeezed = plan_summary(&path("u10 s50 a10 u79"), 100);
    assert_eq!((squeezed.messages, squeezed.tokens), (vec![1, 2, 3], 139));
    assert_eq!(squeezed.summaries, [1]);
    let full = plan_summary(&path("u10 s50 a10 u80"), 100);
    assert_eq!((full.messages, full.visited, full.summaries), (vec![2, 3], vec![1, 2, 3], vec![1]));
    let compaction = plan_summary(&path("u10 k50 a10"), 40);
    assert_eq!(compaction.messages, [1, 2]);
}

#[test]
fn results_in_a_users_message_are_skipped_like_others() {
    let mut entries = path("u10 a10:c1 v90:c1 v90:c2 a10");
    entries[3].shape.mixed = true;
    let plan = plan_summary(&entries, 0);
    assert_eq!((plan.messages, plan.tokens), (vec![0, 1, 3, 4], 10 + 10 + 89 + 10));
}
