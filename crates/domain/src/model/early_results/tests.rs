use proptest::prelude::*;

use super::*;
use crate::compaction::prepare::tests::entry;
use crate::context::pairing::unanswered;
use crate::context::view::ViewItem;

/// What a context of these entries leaves out, found in the way in which it is written.
fn left_out(path: &[EntryMeta]) -> i64 {
    let view: Vec<ViewItem> = (0..path.len()).map(|index| ViewItem::Entry { index, elisions: Vec::new() }).collect();
    let unanswered = unanswered(&view, path);
    let of = |(index, head): (usize, &EntryMeta)| {
        let slots = 0..head.shape.results.len();
        let unsent = slots.clone().filter(|slot| unanswered.contains(&(index, *slot))).count();
        let whole = unsent > 0 && unsent == slots.len();
        if whole { i64::from(head.tokens) } else { unsent as i64 }
    };
    path.iter().enumerate().map(of).sum()
}

fn kept(path: &[EntryMeta]) -> (EarlyResults, OpenCalls) {
    let (mut early, mut open) = (EarlyResults::default(), OpenCalls::default());
    for head in path {
        let asked = early.asked(&head.shape, &open);
        let orphans = open.apply(head.seq, &head.shape);
        early.apply(head, &asked, &orphans);
    }
    (early, open)
}

fn path(words: &[String]) -> Vec<EntryMeta> {
    words.iter().enumerate().map(|(index, word)| entry(index, word)).collect()
}

/// Calls, each once, results of one or several of them in any order and number, and words between.
fn words() -> impl Strategy<Value = Vec<String>> {
    let calls = Just((0..8u8).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|ids| ids.chunks(2).map(|ids| format!("a9:c{},c{}", ids[0], ids[1])).collect::<Vec<_>>());
    let result = prop::collection::vec(0..9u8, 1..3).prop_map(|ids| {
        let ids: Vec<String> = ids.iter().map(|id| format!("c{id}")).collect();
        format!("t{}:{}", ids.len() + 5, ids.join(","))
    });
    let rest = prop::collection::vec(prop_oneof![4 => result, 1 => Just("u5".to_owned())], 0..16);
    (calls, rest).prop_map(|(calls, rest)| [calls, rest].concat()).prop_shuffle()
}

proptest! {
    #[test]
    fn what_no_context_has_is_kept_running(words in words()) {
        let path = path(&words);
        for end in 0..=path.len() {
            let (early, _) = kept(&path[..end]);
            // Of a message with several results, its frame goes with the first.
            let frames = path.iter().filter(|head| head.shape.results.len() > 1).count() as i64 * 5;
            prop_assert!((early.unsent() - left_out(&path[..end])).abs() <= frames, "{:?}", &words[..end]);
            let stored = serde_json::to_string(&early).unwrap();
            prop_assert_eq!(serde_json::from_str::<EarlyResults>(&stored).unwrap(), early);
        }
    }
}

#[test]
fn beyond_the_limit_the_sum_stays_and_goes_with_its_view() {
    let many = EarlyResults::LIMIT + 40;
    let path = path(&(0..many).map(|n| format!("t7:c{n}")).collect::<Vec<_>>());
    let (mut early, _) = kept(&path);
    assert_eq!((early.results.len(), early.unsent()), (EarlyResults::LIMIT, 7 * many as i64));
    early.keep(|_| true, |_| 2);
    assert_eq!(early.unsent(), 7 * many as i64 - 2 * EarlyResults::LIMIT as i64);
    early.keep(|seq| seq >= many as i64 - 3, |_| 0);
    assert_eq!((early.results.len(), early.unsent()), (3, 21));
}

#[test]
fn what_older_versions_stored_is_read() {
    let early: EarlyResults = serde_json::from_str(r#"["c1"]"#).unwrap();
    assert_eq!(early.unsent(), 0);
    assert!(early.answer(&OpenCall::new("c1", "read", 4)));
    assert!(!early.answer(&OpenCall::new("c2", "read", 4)));
}
