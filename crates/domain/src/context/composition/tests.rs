use super::*;
use crate::compaction::prepare::tests::path;
use crate::context::view::plan_view;

fn whole<'a>(heads: &'a [EntryMeta], view: &'a [ViewItem], tokens: u64) -> Whole<'a> {
    Whole { heads, view, system: 6, tools: 4, tokens, unposted: 0 }
}

fn tokens_of(parts: &Parts, category: Category) -> u64 {
    parts.categories.iter().find(|part| part.category == category).unwrap().tokens
}

#[test]
fn every_token_is_in_one_category() {
    let heads = path("y10 u20 a30:c1 t20:c1 x5 l9 s5");
    let view = plan_view(&heads, None);
    let parts = take_apart(whole(&heads, &view, 100), 2);
    let told: Vec<u64> = parts.categories.iter().map(|part| part.tokens).collect();
    assert_eq!(told, [6, 4, 0, 0, 0, 5, 10, 20, 30, 20, 5], "a label says nothing to a model");
    assert_eq!(parts.entries, 6);
    let largest: Vec<_> = parts.largest.iter().map(|entry| (entry.entry_id, entry.tokens)).collect();
    assert_eq!(largest, [(heads[2].id, 30), (heads[1].id, 20)], "of equal ones the earlier");
    assert_eq!(parts.largest[0].tool_name.as_deref(), Some("bash"));
    assert_eq!((parts.tools[0].calls, parts.tools[0].results, parts.tools[0].tokens), (1, 1, 1));
}

#[test]
fn parts_are_brought_to_the_size_that_the_whole_has() {
    let heads = path("u33 a33 a34");
    let view = plan_view(&heads, None);
    let parts = take_apart(whole(&heads, &view, 1_000), 10);
    assert_eq!(parts.categories.iter().map(|part| part.tokens).sum::<u64>(), 1_000);
    let shares: f64 = parts.categories.iter().map(|part| part.share_pct).sum();
    assert!((shares - 100.0).abs() < 1e-9);
    assert_eq!(tokens_of(&parts, Category::User), 300);
}

#[test]
fn an_empty_context_has_no_parts() {
    let nothing = Whole { heads: &[], view: &[], system: 0, tools: 0, tokens: 7, unposted: 0 };
    let parts = take_apart(nothing, 10);
    assert!(parts.categories.iter().all(|part| part.tokens == 0 && part.share_pct == 0.0));
    assert!(parts.tools.is_empty() && parts.largest.is_empty());
}

#[test]
fn a_result_without_its_call_has_no_tool() {
    let heads = path("t9:c1");
    let view = plan_view(&heads, None);
    let parts = take_apart(whole(&heads, &view, 19), 1);
    assert_eq!((parts.tools[0].name.as_deref(), parts.largest[0].tool_name.as_deref()), (None, None));
}
