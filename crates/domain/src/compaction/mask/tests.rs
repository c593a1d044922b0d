use proptest::prelude::*;

use super::*;
use crate::context::elision::{apply, merge};
use crate::context::placeholder::{
    Handle, ReplacedResult, duplicate, handle, is_marker, is_placeholder, replaced, stands_for, truncated,
};
use crate::model::entry_type::EntryType;
use crate::model::message::{Role, ToolResult};
use crate::model::shape::ShapeKind;
use crate::model::shape::{CallRef, ResultRef, Shape};
use crate::summary::testing::{result, settings};

fn head(seq: i64, shape: Shape) -> EntryMeta {
    EntryMeta {
        id: Uuid::from_u128(seq as u128 + 1),
        seq,
        depth: seq,
        kind: EntryType::Message,
        role: Some(Role::Tool),
        tokens: 0,
        path_tokens: 0,
        usage: None,
        shape,
    }
}

/// Entry 0 holds the calls, every further entry one result of the given size.
fn path(sizes: &[u32]) -> Vec<EntryMeta> {
    let id = |at: usize| format!("c{at}");
    let calls = (0..sizes.len())
        .map(|at| CallRef { id: id(at), name: if at == 0 { "keep" } else { "read" }.into(), kind: ShapeKind::Function })
        .collect();
    let results = sizes.iter().enumerate().map(|(at, &tokens)| {
        let results = vec![ResultRef { call_id: id(at), tokens, end: Default::default(), kind: ShapeKind::Function }];
        head(at as i64 + 1, Shape { results, ..Shape::default() })
    });
    std::iter::once(head(0, Shape { calls, ..Shape::default() })).chain(results).collect()
}

fn view(path: &[EntryMeta], elisions: &[Elision]) -> Vec<ViewItem> {
    let own = |id| elisions.iter().filter(|elision| elision.entry_id == id).cloned().collect();
    path.iter().enumerate().map(|(index, head)| ViewItem::Entry { index, elisions: own(head.id) }).collect()
}

#[test]
fn keeps_the_newest_results() {
    let path = path(&[100, 200, 300, 400]);
    let plan = plan(&view(&path, &[]), &path, &settings());
    assert_eq!(plan.results, 1);
    assert_eq!(plan.elisions[0].tool_call_id, "c0");
    assert_eq!(plan.tokens_freed, u64::from(100 - plan.elisions[0].tokens_after));
}

#[test]
fn what_a_result_says_in_brief_stands_before_its_marker_while_there_is_room() {
    let path = path(&[400, 400, 400, 30]);
    let told = (1..=4).map(|at| ((path[at].id, format!("c{}", at - 1)), vec![format!("price {at}")])).collect();
    let settings = Settings { keep_recent_results: 0, ..settings() };
    let spared = SparedResults::new();
    let with = |text: &str| u64::from(result_tokens(settings.estimator, "c1", text));
    let more = with(&replaced("c1", "price 2", 400)) - with(&marker("c1", 400));
    let brief = BriefResults { told, room: 2 * more + 1, least_gain: 0 };
    let first = plan_without(&view(&path, &[]), &path, &settings, &spared, &brief);
    let texts: Vec<Option<&str>> = first.elisions.iter().map(|one| one.text.as_deref()).collect();
    // The oldest finds no room, and the last is hardly larger than what would stand in its place.
    assert_eq!(texts, [None, Some("price 2"), Some("price 3"), None]);
    let freed: u64 = first.elisions.iter().map(|one| u64::from(one.tokens_before - one.tokens_after)).sum();
    assert_eq!(freed, first.tokens_freed);
    assert_eq!(plan_without(&view(&path, &first.elisions), &path, &settings, &spared, &brief), MaskPlan::default());
}

#[test]
fn a_result_that_would_free_too_little_stays() {
    let path = path(&[400, 50, 400, 30]);
    let told = HashMap::from([((path[1].id, "c0".to_owned()), vec!["price 1".to_owned()])]);
    let settings = Settings { keep_recent_results: 0, ..settings() };
    let masked = |least_gain| {
        let brief = BriefResults { told: told.clone(), room: 1_000, least_gain };
        let plan = plan_without(&view(&path, &[]), &path, &settings, &SparedResults::new(), &brief);
        plan.elisions.iter().map(|one| one.tool_call_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(masked(0), ["c0", "c1", "c2", "c3"]);
    assert_eq!(masked(40), ["c0", "c2"]);
}

#[test]
fn zero_masks_all_but_excluded_tools() {
    let path = path(&[100, 200, 300]);
    let settings = Settings { keep_recent_results: 0, exclude_tools: vec!["keep".into()], ..settings() };
    let plan = plan(&view(&path, &[]), &path, &settings);
    let ids: Vec<&str> = plan.elisions.iter().map(|elision| elision.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2"]);
}

#[test]
fn pinned_entries_stay() {
    let path = path(&[100, 200, 300]);
    let settings = Settings { keep_recent_results: 0, pinned_entry_ids: vec![path[2].id], ..settings() };
    let plan = plan(&view(&path, &[]), &path, &settings);
    let ids: Vec<&str> = plan.elisions.iter().map(|elision| elision.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["c0", "c2"]);
}

#[test]
fn leaves_what_frees_nothing_or_too_little() {
    let settings = Settings { keep_recent_results: 0, ..settings() };
    let small = path(&[1, 2]);
    assert_eq!(plan(&view(&small, &[]), &small, &settings), MaskPlan::default());
    let large = path(&[100]);
    let picky = Settings { min_gain_tokens: 99, ..settings };
    assert_eq!(plan(&view(&large, &[]), &large, &picky), MaskPlan::default());
}

#[test]
fn results_that_no_context_shows_are_no_candidates() {
    let mut path = path(&[100, 200, 300]);
    let again = path[1].shape.results[0].clone();
    path.push(head(4, Shape { results: vec![again], ..Shape::default() }));
    path[3].shape.results[0].call_id = "unknown".into();
    let settings = Settings { keep_recent_results: 0, ..settings() };
    let plan = plan(&view(&path, &[]), &path, &settings);
    let ids: Vec<(Uuid, &str)> = plan.elisions.iter().map(|one| (one.entry_id, one.tool_call_id.as_str())).collect();
    assert_eq!(ids, [(path[1].id, "c0"), (path[2].id, "c1")]);
}

#[test]
fn results_that_can_not_be_told_apart_stay() {
    let call = |id: &str| CallRef { id: id.into(), name: "read".into(), kind: ShapeKind::Function };
    let result =
        |id: &str| ResultRef { call_id: id.into(), tokens: 100, end: Default::default(), kind: ShapeKind::Function };
    let path = [
        head(0, Shape { calls: vec![call("a"), call("a"), call("b")], ..Shape::default() }),
        head(1, Shape { results: vec![result("a"), result("a"), result("b")], ..Shape::default() }),
    ];
    let settings = Settings { keep_recent_results: 0, ..settings() };
    let plan = plan(&view(&path, &[]), &path, &settings);
    let ids: Vec<&str> = plan.elisions.iter().map(|one| one.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["b"]);
}

#[test]
fn provider_side_results_stay() {
    let mut path = path(&[100]);
    path[1].shape.results[0].kind = ShapeKind::Server;
    let settings = Settings { keep_recent_results: 0, ..settings() };
    assert_eq!(plan(&view(&path, &[]), &path, &settings).results, 0);
}

#[test]
fn shows_each_kind_as_stated() {
    let base = Elision {
        entry_id: Uuid::nil(),
        tool_call_id: "c1".into(),
        kind: ElisionKind::Mask,
        part: ElidedPart::Result,
        tokens_before: 77,
        tokens_after: 9,
        same_as: Some("c2".into()),
        keep_chars: Some((2, 1)),
        text: None,
    };
    let shown = |kind| {
        let mut message = result("c1", "äöüß€");
        apply(&mut message, &[Elision { kind, ..base.clone() }]);
        let text = message.tool_results().next().map(ToolResult::plain_text);
        text.unwrap_or_default()
    };
    assert_eq!(shown(ElisionKind::Mask), "[tool_result elided; call_id=c1; original_tokens=77]");
    assert_eq!(shown(ElisionKind::Drop), shown(ElisionKind::Mask));
    assert_eq!(shown(ElisionKind::Truncate), "äö\n[tool_result truncated; call_id=c1; original_characters=5]\n€");
    assert_eq!(shown(ElisionKind::Duplicate), "[tool_result duplicate; call_id=c1; same_as=c2; original_tokens=77]");
    for kind in [ElisionKind::Mask, ElisionKind::Truncate, ElisionKind::Duplicate] {
        assert!(is_placeholder(&shown(kind)));
        assert_eq!(is_marker(&shown(kind)), kind == ElisionKind::Mask);
    }
    assert!(!is_placeholder("[tool_result elided; call_id=c1; original_tokens=many]"));
}

proptest! {
    #[test]
    fn masking_twice_changes_nothing(sizes in prop::collection::vec(0u32..500, 0..30), keep in 0u32..6) {
        let path = path(&sizes);
        let settings = Settings { keep_recent_results: keep, ..settings() };
        let first = plan(&view(&path, &[]), &path, &settings);
        let again = plan(&view(&path, &first.elisions), &path, &settings);
        prop_assert_eq!(again, MaskPlan::default());
        prop_assert_eq!(merge(&first.elisions, &first.elisions), first.elisions.clone());
        let freed: u64 = first.elisions.iter().map(|one| u64::from(one.tokens_before - one.tokens_after)).sum();
        prop_assert_eq!(freed, first.tokens_freed);
    }

    #[test]
    fn applying_twice_changes_nothing(text in ".{0,80}", head in 0u32..20, tail in 0u32..20) {
        let elision = |kind| Elision {
            entry_id: Uuid::nil(), tool_call_id: "c".into(), kind, part: ElidedPart::Result, tokens_before: 5, tokens_after: 3,
            same_as: Some("d".into()), keep_chars: Some((head, tail)), text: None,
        };
        for kind in [ElisionKind::Mask, ElisionKind::Duplicate, ElisionKind::Drop] {
            let mut once = result("c", &text);
            apply(&mut once, &[elision(kind)]);
            let mut twice = once.clone();
            apply(&mut twice, &[elision(kind)]);
            prop_assert_eq!(once, twice);
        }
        let mut cut = result("c", &text);
        apply(&mut cut, &[elision(ElisionKind::Truncate)]);
        let shown = cut.tool_results().next().map(ToolResult::plain_text).unwrap_or_default();
        prop_assert!(shown == text || shown.starts_with(&text.chars().take(head as usize).collect::<String>()));
    }
}

#[test]
fn a_handle_says_what_it_points_to() {
    let text = marker("c; x]", 12);
    assert_eq!(
        handle(&text, |id| id == "c; x]"),
        Some(Handle { call_id: "c; x]", same_as: None, original_tokens: Some(12) })
    );
    let text = format!(" {}\n", duplicate("c1", "c2", 7));
    assert_eq!(
        handle(&text, |id| id == "c1"),
        Some(Handle { call_id: "c1", same_as: Some("c2"), original_tokens: Some(7) })
    );
    let cut = truncated("c3", &"long ".repeat(100), 20, 20).unwrap();
    assert_eq!(handle(&cut, |id| id == "c3"), Some(Handle { call_id: "c3", same_as: None, original_tokens: None }));
    for text in [
        "",
        "plain",
        "[tool_result elided; call_id=c1; original_tokens=many]",
        "see [tool_result elided; call_id=c; original_tokens=1]",
    ] {
        assert!(handle(text, |_| true).is_none(), "{text}");
    }
    for text in [marker("c1", 12), duplicate("c1", "c2", 7), cut] {
        assert_eq!(handle(&text, |id| id == "c2"), None, "of another call: {text}");
    }
}

#[test]
fn a_text_stands_for_a_result_whose_call_size_and_words_it_has() {
    let whole = format!("{}\n\n{}  \nend", "first words ".repeat(40), "last words ".repeat(40));
    let original = ReplacedResult { call_id: "c1", text: &whole, sizes: &[12, 40] };
    let cut = truncated("c1", &whole, 100, 100).unwrap();
    let trimmed: Vec<&str> = cut.lines().map(str::trim_end).collect();
    for text in
        [marker("c1", 12), duplicate("c1", "c2", 40), replaced("c1", "short", 40), cut.clone(), trimmed.join("\n")]
    {
        assert!(stands_for(&text, original), "{text}");
    }
    let other = truncated("c1", &whole.replace("first", "other"), 100, 100).unwrap();
    for text in [
        marker("c1", 13),
        marker("c2", 12),
        duplicate("c2", "c1", 12),
        replaced("c1", "short", 13),
        format!("see {}", marker("c1", 12)),
        truncated("c2", &whole, 100, 100).unwrap(),
        truncated("c1", &format!("{whole}!"), 100, 100).unwrap(),
        other,
        format!("and {cut}"),
    ] {
        assert!(!stands_for(&text, original), "{text}");
    }
}
