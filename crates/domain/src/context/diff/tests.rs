use super::*;
use crate::compaction::prepare::tests::path;

fn entries(heads: &[EntryMeta], shown: &[(usize, u64)]) -> Vec<ShownEntry> {
    let entry = |(index, tokens): &(usize, u64)| {
        let head = &heads[*index];
        ShownEntry { entry_id: head.id, kind: "message", role: None, tokens: *tokens, elided: false }
    };
    shown.iter().map(entry).collect()
}

/// Six entries of ten tokens, and a compaction that keeps the first, and the last two with one of them shorter.
fn example() -> Diff {
    let heads = path("u10 a10 u10 a10 u10 a10 k7");
    let before = entries(&heads, &[(0, 10), (1, 10), (2, 10), (3, 10), (4, 10), (5, 10)]);
    let after = entries(&heads, &[(0, 10), (6, 7), (4, 3), (5, 10)]);
    Diff::of(before, after, &[heads[0].id])
}

#[test]
fn every_message_before_has_one_change() {
    use ChangeKind::{Anchored, Elided, Kept, Summarised};
    let diff = example();
    let kinds: Vec<ChangeKind> = diff.changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [Anchored, Summarised, Summarised, Summarised, Elided, Kept]);
    let sizes: Vec<(u64, u64)> =
        diff.changes.iter().map(|change| (change.tokens_before, change.tokens_after)).collect();
    assert_eq!(sizes, [(10, 10), (10, 0), (10, 0), (10, 0), (10, 3), (10, 10)]);
    assert_eq!(diff.counts(), ChangeCounts { kept: 1, summarised: 3, elided: 1, anchored: 1 });
}

#[test]
fn parts_together_are_the_whole_in_order() {
    let diff = example();
    for length in 1..8 {
        let (mut before, mut after, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = Some(0);
        while let Some(from) = next {
            let (part, following) = diff.part(from, length);
            assert!(part.before.len() <= length);
            before.extend(part.before);
            after.extend(part.after);
            changes.extend(part.changes);
            next = following;
        }
        assert_eq!((before, after, changes), (diff.before.clone(), diff.after.clone(), diff.changes.clone()));
    }
    assert!(diff.part(99, 5).1.is_none());
}

#[test]
fn what_is_new_behind_all_is_in_the_last_part() {
    let heads = path("u10 a10 k7");
    let diff = Diff::of(entries(&heads, &[(0, 10), (1, 10)]), entries(&heads, &[(2, 7)]), &[]);
    assert_eq!((diff.part(0, 1).0.after.len(), diff.part(1, 1).0.after.len()), (0, 1));
}
