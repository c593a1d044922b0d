use proptest::prelude::*;

use super::*;
use crate::compaction::prepare::tests::path;
use crate::model::compaction::{ElidedPart, ElisionKind};

fn record(path: &[EntryMeta], anchors: &[usize], elided: &[usize]) -> CompactionRecord {
    let elision = |index: &usize| Elision {
        entry_id: path[*index].id,
        tool_call_id: "c1".to_owned(),
        kind: ElisionKind::Mask,
        part: ElidedPart::Result,
        tokens_before: 8,
        tokens_after: 2,
        same_as: None,
        keep_chars: None,
        text: None,
    };
    CompactionRecord {
        anchors: anchors.iter().map(|index| path[*index].id).collect(),
        summary: Some("so far".to_owned()),
        elisions: elided.iter().map(elision).collect(),
        ..CompactionRecord::default()
    }
}

/// Places in order, the summary as its compaction's; a place with elisions is told apart.
fn shown(view: &[ViewItem]) -> Vec<String> {
    let shown = view.iter().map(|item| match item {
        ViewItem::Summary { compaction } => format!("summary {compaction}"),
        ViewItem::Entry { index, elisions } if elisions.is_empty() => index.to_string(),
        ViewItem::Entry { index, elisions } => format!("{index}-{}", elisions.len()),
    });
    shown.collect()
}

#[test]
fn without_a_compaction_all_messages_are_shown() {
    assert_eq!(shown(&plan_view(&path("u1 l0 a1 x1 s1"), None)), ["0", "2", "3", "4"]);
}

#[test]
fn anchors_summary_tail_and_what_came_after() {
    let path = path("u1 a1 u1 t9:c1 u1 t9:c1 k3 u1 t9:c1");
    let record = record(&path, &[2, 0, 0, 5], &[3, 5, 8]);
    let newest = NewestCompaction { index: 6, record: &record, first_kept: Some(4) };
    let view = plan_view(&path, Some(newest));
    assert_eq!(shown(&view), ["0", "2", "summary 6", "4", "5-1", "7", "8"], "path order, each once, none elided later");
    let none_kept = plan_view(&path, Some(NewestCompaction { first_kept: None, ..newest }));
    assert_eq!(shown(&none_kept), ["0", "2", "5-1", "summary 6", "7", "8"]);
    let tokens: u64 = view.iter().map(|item| item_tokens(&path, item)).sum();
    assert_eq!(tokens, 1 + 1 + 3 + 1 + (9 - 6) + 1 + 9);
}

#[test]
fn only_elisions_leave_the_view_as_long_as_it_was() {
    let path = path("u1 a1:c1 t9:c1 a1 k0 u1");
    let record = CompactionRecord { summary: None, ..record(&path, &[], &[2]) };
    let view = plan_view(&path, Some(NewestCompaction { index: 4, record: &record, first_kept: Some(0) }));
    assert_eq!(shown(&view), ["0", "1", "2-1", "3", "5"]);
}

#[test]
fn a_record_that_fits_no_path_breaks_nothing() {
    let path = path("u1 a1 k3");
    let record = record(&path, &[1], &[]);
    let newest = NewestCompaction { index: 9, record: &record, first_kept: Some(30) };
    assert_eq!(shown(&plan_view(&path, Some(newest))), ["1", "summary 9"]);
}

proptest! {
    #[test]
    fn every_entry_is_shown_at_most_once(
        words in prop::collection::vec("[uabxstly][0-9]", 1..30),
        place in any::<prop::sample::Index>(),
        kept in any::<prop::sample::Index>(),
        anchors in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let mut words = words;
        let index = place.index(words.len());
        words.insert(index, "k3".to_owned());
        let path = path(&words.join(" "));
        let anchors: Vec<usize> = anchors.iter().map(|anchor| anchor.index(path.len())).collect();
        let record = record(&path, &anchors, &[]);
        let kept = kept.index(index + 1);
        let view = plan_view(&path, Some(NewestCompaction { index, record: &record, first_kept: Some(kept) }));
        let entries: Vec<usize> = view.iter().filter_map(|item| match item {
            ViewItem::Entry { index, .. } => Some(*index),
            ViewItem::Summary { .. } => None,
        }).collect();
        prop_assert!(entries.is_sorted_by(|left, right| left < right));
        for (place, head) in path.iter().enumerate() {
            let wanted = head.is_visible() && (place >= kept || anchors.contains(&place));
            prop_assert_eq!(entries.contains(&place), wanted);
        }
    }
}
