use proptest::prelude::*;

use super::*;
use crate::model::message::ToolCall;
use crate::summary::testing::settings;

const IDS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

fn item<'a>(at: usize, text: &'a str) -> PruneItem<'a> {
    PruneItem {
        entry_id: Uuid::from_u128(at as u128),
        call_id: IDS[at % IDS.len()],
        name: "read",
        text,
        tokens: elision::result_tokens(Estimator::Pi, "c", text),
        already_elided: false,
        in_tail: false,
        ambiguous: false,
    }
}

fn run(items: &[PruneItem<'_>]) -> Vec<Elision> {
    plan(items, &settings())
}

fn plan(items: &[PruneItem<'_>], settings: &Settings) -> Vec<Elision> {
    let mut pruner = Pruner::new(settings);
    for item in items {
        pruner.add(item);
    }
    pruner.plan()
}

#[test]
fn older_copies_point_to_the_newest() {
    let text = "same words ".repeat(30);
    let items = [item(0, &text), item(1, "else"), item(2, &text), item(3, &text)];
    let elisions = run(&items);
    let pointers: Vec<_> = elisions.iter().map(|one| (one.tool_call_id.as_str(), one.same_as.as_deref())).collect();
    assert_eq!(pointers, [("c0", Some("c3")), ("c2", Some("c3"))]);
}

#[test]
fn long_results_keep_head_and_tail() {
    let text = "x".repeat(501);
    let padded = "y".repeat(2000);
    let elisions = run(&[item(0, &text), item(1, &padded)]);
    assert_eq!(elisions.len(), 1, "cutting one character frees nothing");
    assert_eq!((elisions[0].kind, elisions[0].keep_chars), (ElisionKind::Truncate, Some((334, 166))));
}

#[test]
fn the_tail_pinned_entries_excluded_tools_and_earlier_elisions_stay() {
    let text = "z".repeat(3000);
    let tail = PruneItem { in_tail: true, ..item(2, &text) };
    let earlier = PruneItem { already_elided: true, ..item(3, &text) };
    let elisions = run(&[item(0, &text), tail, earlier]);
    assert_eq!(elisions.len(), 1);
    assert_eq!(elisions[0].same_as.as_deref(), Some("c2"));
    let mut settings = settings();
    settings.pinned_entry_ids = vec![Uuid::from_u128(0)];
    assert!(plan(&[item(0, &text), tail], &settings).is_empty());
    settings.pinned_entry_ids.clear();
    settings.exclude_tools = vec!["read".into()];
    assert!(plan(&[item(0, &text), tail], &settings).is_empty());
}

proptest! {
    #[test]
    fn always_frees_and_keeps_one_copy(picks in prop::collection::vec((0usize..4, any::<bool>()), 0..8)) {
        let texts = ["short".to_owned(), "a".repeat(400), "b".repeat(900), "c ".repeat(3000)];
        let items: Vec<PruneItem> = picks.iter().enumerate()
            .map(|(at, &(pick, in_tail))| PruneItem { in_tail, ..item(at, &texts[pick]) }).collect();
        for elision in run(&items) {
            prop_assert!(elision.tokens_after < elision.tokens_before);
            let own = items.iter().position(|item| item.call_id == elision.tool_call_id).expect("known");
            prop_assert!(!items[own].in_tail);
            if let Some(same_as) = &elision.same_as {
                let target = items.iter().rposition(|item| item.text == items[own].text).expect("a copy");
                prop_assert_eq!(items[target].call_id, same_as.as_str());
                prop_assert!(target > own);
            }
        }
    }
}

fn pruned_calls(calls: &[PruneCall<'_>], settings: &Settings) -> Vec<Elision> {
    let mut pruner = Pruner::new(&Settings { estimator: Estimator::O200k, ..settings.clone() });
    calls.iter().for_each(|call| drop(pruner.add_call(call)));
    pruner.plan()
}

fn write_call(id: &str, text: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "write".to_owned(),
        arguments: serde_json::json!({"path": "src/main.rs", "content": text}),
        arguments_text: None,
        kind: Default::default(),
        opaque: None,
    }
}

#[test]
fn long_arguments_keep_head_and_tail_where_they_may() {
    let text = "fn main() {}\n".repeat(300);
    let (long, other, short) = (write_call("c1", &text), write_call("c2", &text), write_call("c3", "fn main() {}"));
    let one = |at: u128, call| PruneCall {
        entry_id: Uuid::from_u128(at),
        call,
        already_elided: false,
        in_tail: false,
        ambiguous: false,
    };
    let elisions = pruned_calls(&[one(1, &long), one(2, &other), one(3, &short)], &settings());
    let ids: Vec<&str> = elisions.iter().map(|elision| elision.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert_eq!((elisions[0].part, elisions[0].keep_chars), (ElidedPart::Arguments, Some((334, 166))));
    assert!(elisions[0].tokens_after * 2 < elisions[0].tokens_before);
    let left_alone = [
        PruneCall { in_tail: true, ..one(1, &long) },
        PruneCall { already_elided: true, ..one(2, &other) },
        PruneCall { ambiguous: true, ..one(4, &long) },
    ];
    assert!(pruned_calls(&left_alone, &settings()).is_empty());
    let excluded = Settings { exclude_tools: vec!["write".into()], ..settings() };
    let pinned = Settings { pinned_entry_ids: vec![Uuid::from_u128(1)], ..settings() };
    assert!(pruned_calls(&[one(1, &long)], &excluded).is_empty());
    assert!(pruned_calls(&[one(1, &long)], &pinned).is_empty());
    let tiny = Settings { max_tool_result_size: 1, ..settings() };
    assert!(pruned_calls(&[one(1, &write_call("c1", &"p".repeat(200)))], &tiny).is_empty(), "a path stays whole");
}

#[test]
fn what_gains_too_little_is_not_done() {
    let text = "x".repeat(3000);
    let elisions = run(&[item(0, &text)]);
    let freed = u32::try_from(elisions[0].freed()).unwrap();
    let picky = |least| Settings { min_gain_tokens: least, ..settings() };
    assert_eq!(plan(&[item(0, &text)], &picky(freed)), elisions);
    assert!(plan(&[item(0, &text)], &picky(freed + 1)).is_empty());
}

#[test]
fn a_result_never_points_to_its_own_id() {
    let text = "same words ".repeat(100);
    let again = PruneItem { entry_id: Uuid::from_u128(9), ..item(0, &text) };
    let kinds: Vec<ElisionKind> = run(&[item(0, &text), again]).iter().map(|elision| elision.kind).collect();
    assert_eq!(kinds, [ElisionKind::Truncate, ElisionKind::Truncate]);
    let twin = PruneItem { ambiguous: true, ..item(0, &text) };
    assert!(run(&[twin, twin]).is_empty(), "two of one entry under one id can't be told apart");
}
