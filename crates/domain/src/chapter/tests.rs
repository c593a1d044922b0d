use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::compaction::prepare::tests::entry;
use crate::model::chapter_task::asks_for_chapters;
use crate::model::entry::EntryMeta;
use crate::model::format::Format;

/// A path of whole turns: a user's message, a call, its result, an answer.
pub(super) fn turns(count: usize) -> Vec<EntryMeta> {
    let words = |turn: usize| ["u10".to_owned(), format!("a10:c{turn}"), format!("t50:c{turn}"), "a10".to_owned()];
    (0..count).flat_map(words).enumerate().map(|(index, word)| entry(index, &word)).collect()
}

pub(super) fn told(heads: &[EntryMeta], folds: &[ShownFold], closed: bool) -> Vec<TaskSpan> {
    spans(FoldedView { heads, from: 0, is_cut: false, folds }, &Default::default(), closed)
}

fn shown(from: i64, to: i64, depth: i64, verbatim: Vec<i64>) -> ShownFold {
    let place = (from..=to).find(|depth| !verbatim.contains(depth)).unwrap();
    let fold = Fold { chapter: Uuid::from_u128(depth as u128 + 1), depth, from, to, place, verbatim };
    ShownFold {
        fold,
        tokens: 5,
        hidden_tokens: 0,
        hidden_result_tokens: 0,
        path_tokens_before: 0,
        path_result_tokens_before: 0,
    }
}

#[test]
fn a_task_for_each_user_turn_and_the_last_one_may_go_on() {
    let path = turns(3);
    let tasks = told(&path, &[], true);
    let ranges: Vec<_> = tasks.iter().map(|task| (task.from, task.to, task.mark, task.state)).collect();
    let done = TaskState::Done;
    assert_eq!(ranges, [(0, 3, Some(0), done), (4, 7, Some(4), done), (8, 11, Some(8), done)]);
    assert_eq!(told(&path, &[], false)[2].state, TaskState::InProgress);
    let open = [path[5].seq].into_iter().collect();
    let tasks = spans(FoldedView { heads: &path, from: 0, is_cut: false, folds: &[] }, &open, true);
    assert_eq!(tasks[1].state, TaskState::OpenCall);
}

#[test]
fn the_chapter_task_and_what_comes_before_the_first_turn_are_no_tasks() {
    let mut path: Vec<EntryMeta> =
        ["y5", "a5", "u5", "a5", "u5", "a5"].iter().enumerate().map(|(index, word)| entry(index, word)).collect();
    path[4].shape.chapter_task = true;
    let tasks = told(&path, &[], true);
    assert_eq!(tasks.iter().map(|task| (task.from, task.to)).collect::<Vec<_>>(), [(2, 5)]);
    // Behind a cut, what comes first goes on with a task whose beginning is in the summary.
    let cut = spans(FoldedView { heads: &path, from: 1, is_cut: true, folds: &[] }, &Default::default(), true);
    assert_eq!(cut.iter().map(|task| (task.from, task.mark)).collect::<Vec<_>>(), [(1, None), (2, Some(2))]);
}

#[test]
fn a_fold_hides_all_but_what_stays() {
    let mut path = turns(3);
    path.push(entry(12, "l0"));
    path[12].kind = crate::model::entry_type::EntryType::Chapter;
    let folds = [shown(0, 7, 12, vec![0, 3])];
    let slots = arrange(&path, &folds);
    let entries = [0].map(Slot::Entry).into_iter().chain([Slot::Chapter { entry: 12, fold: 0 }, Slot::Entry(3)]);
    assert_eq!(slots, entries.chain((8..12).map(Slot::Entry)).collect::<Vec<_>>());
    assert_eq!(folds[0].fold.hidden(), [(1, 2), (4, 7)]);
    // With the hidden entries left out of what was read, the same.
    path.retain(|head| !folds[0].fold.hides(head.depth));
    let depths = |slots: Vec<Slot>, path: &[EntryMeta]| -> Vec<i64> {
        let index = |slot| match slot {
            Slot::Entry(index) | Slot::Chapter { entry: index, .. } => index,
        };
        slots.into_iter().map(|slot| path[index(slot)].depth).collect()
    };
    assert_eq!(depths(arrange(&path, &folds), &path), [0, 12, 3, 8, 9, 10, 11]);
}

#[test]
fn bad_ranges_are_refused_by_themselves_and_overlaps_all_at_once() {
    let path = turns(4);
    let tasks = told(&path, &[], false);
    let asked = |ranges: &[(i64, i64)]| -> Vec<TaskRange> {
        ranges.iter().map(|(start, end)| TaskRange { start: *start, end: *end }).collect()
    };
    let bad = [(0, 1), (2, 1), (1, 9), (4, 4), (i64::MIN, i64::MAX), (1, 2), (3, 3)];
    let answers = check(&asked(&bad), &tasks, &path).unwrap();
    let out = Err(Refusal::OutOfRange);
    assert_eq!(answers, [out.clone(), out.clone(), out.clone(), Err(Refusal::InProgress), out, Ok(0..2), Ok(2..3)]);
    assert_eq!(check(&asked(&[(3, 3), (1, 2), (2, 3)]), &tasks, &path), Err(Overlap(1, 2)));
}

#[test]
fn a_call_and_its_late_result_are_not_parted() {
    let words = ["u5", "a5:late", "u5", "t5:late", "a5", "u5", "a5"];
    let path: Vec<EntryMeta> = words.iter().enumerate().map(|(index, word)| entry(index, word)).collect();
    let tasks = told(&path, &[], true);
    let answers = check(&[(1, 1), (3, 3)].map(|(start, end)| TaskRange { start, end }), &tasks, &path).unwrap();
    assert_eq!(answers, [Err(Refusal::PartedCall), Ok(2..3)]);
    assert_eq!(check(&[TaskRange { start: 1, end: 2 }], &tasks, &path).unwrap(), [Ok(0..2)]);
}

#[test]
fn a_number_is_all_that_changes() {
    let chat = r#"{"role":"user","content":"hi","x":1.50}"#;
    assert_eq!(number(Format::OpenaiChat, chat, 3).unwrap(), r#"{"role":"user","content":"[3] hi","x":1.50}"#);
    let parts = r#"{"role":"user","content":[{"type":"image"},{"type":"text","text":"hi"}]}"#;
    assert!(number(Format::Anthropic, parts, 12).unwrap().ends_with(r#"{"type":"text","text":"[12] hi"}]}"#));
    let image = r#"{"type":"message","role":"user","content":[{"type":"input_image"}]}"#;
    assert!(number(Format::OpenaiResponses, image, 1).unwrap().contains(r#"{"type":"input_text","text":"[1]"}"#));
    let pi = r#"{"type":"message","message":{"role":"user","content":"hi"}}"#;
    assert!(number(Format::Pi, pi, 1).unwrap().contains("[1] hi"));
}

#[test]
fn chapters_read_back_as_written() {
    let chapter = Chapter {
        name: "A \"name\"\nof two lines".into(),
        message: "Done: `x`".into(),
        slug: "a".into(),
        start: 1,
        end: 2,
        tokens_before: 10,
        tokens_after: 5,
        form: Form::Full,
        fold: shown(0, 7, 12, vec![0]).fold,
        chapters: Vec::new(),
    };
    assert_eq!(Chapter::read(&chapter.item()).unwrap(), chapter);
    assert_eq!(chapter.text(), "Chapter \"A \"name\" of two lines\" (/chapters/a/)\n\nDone: `x`");
    assert!(asks_for_chapters(&prompt("[1] x")));
}

#[test]
fn a_long_line_is_cut_within_its_bound() {
    assert_eq!(title("x\n y", 80), "x y");
    assert_eq!(title(&"x".repeat(80), 80), "x".repeat(80));
    assert_eq!(title(&"x".repeat(81), 80), format!("{}…", "x".repeat(79)));
    assert_eq!(title(&"ab ".repeat(50), 10).chars().count(), 10);
}

proptest! {
    /// Whatever a chapter is called, its folder is one segment that climbs nowhere, and its own.
    #[test]
    fn slugs_are_single_segments_and_unique(names in proptest::collection::vec(".{0,40}", 1..20)) {
        let mut slugs = Slugs::default();
        let taken: Vec<String> = names.iter().map(|name| slugs.take(name)).collect();
        let distinct: std::collections::HashSet<&String> = taken.iter().collect();
        prop_assert_eq!(distinct.len(), taken.len());
        for slug in taken {
            prop_assert!(!slug.is_empty() && slug.chars().all(|letter| letter.is_alphanumeric() || letter == '-'));
        }
    }

    /// Tasks neither overlap nor leave a turn out, whichever neighbours are folded.
    #[test]
    fn tasks_are_a_partition(count in 1_usize..12, from in 0_usize..6, length in 1_usize..4) {
        let mut path = turns(count);
        let (first, end) = (from.min(count - 1), (from + length).min(count));
        prop_assume!(first < end);
        let mut chapter = entry(path.len(), "l0");
        chapter.kind = crate::model::entry_type::EntryType::Chapter;
        let fold = shown(first as i64 * 4, end as i64 * 4 - 1, chapter.depth, Vec::new());
        path.push(chapter);
        let folds = [fold];
        let heads = oracle_tests::folded(&path, &folds);
        let tasks = told(&heads, &folds, true);
        prop_assert_eq!(tasks.len(), count - (end - first) + 1);
        prop_assert!(tasks.windows(2).all(|pair| pair[0].to + 1 == pair[1].from));
        prop_assert_eq!((tasks[0].from, tasks[tasks.len() - 1].to), (0, count as i64 * 4 - 1));
        prop_assert!(tasks.iter().all(|task| task.mark.is_some()));
    }
}
