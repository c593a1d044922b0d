use super::*;
use crate::compaction::prepare::tests::{path, settings};
use crate::context::view::plan_view;

/// Places that are left, and the tokens freed.
fn fitted(spec: &str, over: u64) -> Result<(Vec<usize>, u64), u64> {
    let path = path(spec);
    let (view, freed) = fit(&path, &plan_view(&path, None), over, &settings(0))?;
    let index = |item: &ViewItem| match item {
        ViewItem::Entry { index, .. } | ViewItem::Summary { compaction: index } => *index,
    };
    Ok((view.iter().map(index).collect(), freed))
}

#[test]
fn the_oldest_messages_go_and_pairs_stay_whole() {
    assert_eq!(fitted("u10 a10:c1 t10:c1 u10", 15), Ok((vec![3], 30)));
    assert_eq!(fitted("u10 a10:c1 t10:c1", 15), Err(10));
}

#[test]
fn reasoning_goes_with_its_answer_and_the_newest_checkpoint_stays() {
    assert_eq!(fitted("u10 r5 a10 u10", 12), Ok((vec![3], 25)));
    assert_eq!(fitted("u10 o5 u10 o5 a10 u10", 22), Ok((vec![3, 4, 5], 25)));
    assert_eq!(fitted("u10 o5 u10 o5 a10 u10", 30), Ok((vec![3, 5], 35)));
}
