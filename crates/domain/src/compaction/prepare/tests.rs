use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::model::compaction::CompactionRecord;
use crate::model::shape::{CallRef, ResultRef, Shape, ShapeKind};
use crate::settings::*;
use crate::summary::testing;

/// pi's settings with this much kept.
pub fn settings(keep_recent_tokens: u32) -> Settings {
    Settings {
        preset: Preset::Checkpoint,
        context_window: 200_000,
        keep_recent_tokens,
        red_at: None,
        ahead_at: None,
        strategy: crate::model::strategy::Strategy::LlmSummarize,
        preserve_recent: 0,
        anchor_first_user: false,
        tool_prune_before_summarise: false,
        ..testing::settings()
    }
}

/// One entry from a word: a letter for its kind, its tokens, and after a colon its call ids. `u` user, `a` assistant
/// (ids of calls), `t` tool and `v` user (ids of results), `y` system, `b` shell run, `x` extension text, `s` branch
/// summary, `k` compaction, `l` label; `r` reasoning that leads the answer behind it, `o` a provider's compaction.
pub fn entry(index: usize, word: &str) -> EntryMeta {
    let (size, ids) = word[1..].split_once(':').unwrap_or((&word[1..], ""));
    let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
    let (kind, role) = match &word[..1] {
        "u" | "v" => (EntryType::Message, Some(Role::User)),
        "a" | "r" | "o" => (EntryType::Message, Some(Role::Assistant)),
        "t" => (EntryType::Message, Some(Role::Tool)),
        "y" => (EntryType::Message, Some(Role::System)),
        "b" => (EntryType::Message, Some(Role::BashExecution)),
        "x" => (EntryType::CustomMessage, Some(Role::Custom)),
        "s" => (EntryType::BranchSummary, Some(Role::BranchSummary)),
        "k" => (EntryType::Compaction, None),
        _ => (EntryType::Label, None),
    };
    let mut shape = Shape { leads: &word[..1] == "r", checkpoint: &word[..1] == "o", ..Shape::default() };
    for id in ids.iter().map(|id| (*id).to_owned()) {
        if role == Some(Role::Assistant) {
            shape.calls.push(CallRef { id, name: "bash".to_owned(), kind: ShapeKind::Function });
        } else if matches!(role, Some(Role::Tool | Role::User)) {
            shape.results.push(ResultRef {
                call_id: id,
                tokens: 1,
                end: Default::default(),
                kind: ShapeKind::Function,
            });
        }
    }
    EntryMeta {
        id: Uuid::from_u128(index as u128 + 1),
        seq: index as i64,
        depth: index as i64,
        kind,
        role,
        tokens: size.parse().unwrap(),
        path_tokens: 0,
        usage: None,
        shape,
    }
}

/// A path from words separated by spaces, see [`entry`].
pub fn path(spec: &str) -> Vec<EntryMeta> {
    spec.split_whitespace().enumerate().map(|(index, word)| entry(index, word)).collect()
}

fn anchoring(keep: u32) -> Settings {
    Settings { anchor_first_user: true, ..settings(keep) }
}

fn record(path: &[EntryMeta], anchors: &[usize]) -> CompactionRecord {
    CompactionRecord {
        anchors: anchors.iter().map(|index| path[*index].id).collect(),
        summary: Some("so far".to_owned()),
        ..CompactionRecord::default()
    }
}

#[test]
fn reasons_for_doing_nothing() {
    let reason = |spec: &str, keep: u32| prepare(&path(spec), None, &settings(keep)).unwrap_err();
    assert_eq!(reason("", 0), Reason::EmptySession);
    assert_eq!(reason("l0 l0", 0), Reason::EmptySession);
    assert_eq!(reason("u1 a1 k1", 0), Reason::AlreadyCompacted);
    assert_eq!(reason("t1:c1 t1:c2", 0), Reason::NoValidCutPoint);
    assert_eq!(reason("u1 a1", 100), Reason::NothingToCompact);
}

#[test]
fn a_split_turn_is_told_apart_from_history() {
    let plan = prepare(&path("u10 a10 u10 a10:c1 t10:c1 a10"), None, &settings(5)).unwrap();
    assert_eq!((plan.history, plan.turn_prefix, plan.kept), (vec![0, 1], vec![2, 3, 4], vec![5]));
    assert!(plan.is_split_turn && !plan.previous_summary);
    assert_eq!((plan.tokens_to_summarize, plan.tokens_kept), (50, 10));
}

#[test]
fn what_one_compaction_kept_the_next_summarises() {
    let path = path("u10 a10 u10 a10 k5 u10 a10 u10");
    let record = record(&path, &[]);
    let newest = NewestCompaction { index: 4, record: &record, first_kept: Some(2) };
    let plan = prepare(&path, Some(newest), &settings(5)).unwrap();
    assert_eq!((plan.boundary_start, plan.history, plan.kept), (2, vec![2, 3, 5, 6], vec![7]));
    assert!(plan.previous_summary);
    let none_kept = prepare(&path, Some(NewestCompaction { first_kept: None, ..newest }), &settings(5)).unwrap();
    assert_eq!((none_kept.boundary_start, none_kept.history), (5, vec![5, 6]));
}

#[test]
fn anchors_stay_out_of_the_summary_and_stay_anchors() {
    let first = path("y10 u10 a10 u10 a10:c1,c2 t10:c1 t10:c2 a10 u10 a10");
    let mut settings = anchoring(15);
    settings.pinned_entry_ids = vec![first[5].id, first[9].id];
    let plan = prepare(&first, None, &settings).unwrap();
    assert_eq!(plan.anchors, [0, 1, 4, 5, 6], "a pinned result brings its whole batch, the kept pin none");
    assert_eq!((plan.history, plan.kept), (vec![2, 3, 7], vec![8, 9]));

    let second = path("y10 u10 a10 u10 a10 u10 k5 a10 u10 a10");
    let record = record(&second, &[0, 1, 3]);
    let newest = NewestCompaction { index: 6, record: &record, first_kept: Some(5) };
    let plan = prepare(&second, Some(newest), &super::tests::settings(15)).unwrap();
    assert_eq!((plan.anchors, plan.history), (vec![0, 1, 3], vec![5, 7]), "whatever the settings say now");
}

#[test]
fn anchors_alone_are_nothing_to_compact() {
    assert_eq!(prepare(&path("y5 u10 a10"), None, &anchoring(5)).unwrap_err(), Reason::NothingToCompact);
}

proptest! {
    #[test]
    fn a_plan_parts_the_last_view(
        words in prop::collection::vec("[uabxstvly][0-9](:c[0-3](,c[0-3])?)?", 1..40),
        compaction in any::<Option<(prop::sample::Index, prop::sample::Index)>>(),
        pins in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        keep in 0_u32..60,
        anchor_first_user in any::<bool>(),
    ) {
        let mut words = words;
        let mut kept_from = None;
        if let Some((place, kept)) = compaction {
            let place = place.index(words.len());
            words.insert(place, "k3".to_owned());
            kept_from = Some((place, kept.index(place + 1)));
        }
        let path = path(&words.join(" "));
        let record = record(&path, &[]);
        let newest = kept_from.map(|(index, kept)| NewestCompaction {
            index, record: &record, first_kept: (kept < index).then_some(kept),
        });
        let mut settings = Settings { anchor_first_user, ..settings(keep) };
        settings.pinned_entry_ids = pins.iter().map(|pin| path[pin.index(path.len())].id).collect();
        let Ok(plan) = prepare(&path, newest, &settings) else { return Ok(()) };

        let mut parts = [plan.history.clone(), plan.turn_prefix.clone(), plan.kept.clone()].concat();
        parts.extend(plan.anchors.iter().filter(|anchor| **anchor >= plan.boundary_start));
        parts.sort_unstable();
        let shown: Vec<usize> = visible_indexes(&path, plan.boundary_start..path.len()).map(|(index, _)| index).collect();
        prop_assert_eq!(parts, shown);

        let summarised: Vec<usize> = plan.history.iter().chain(&plan.turn_prefix).copied().collect();
        prop_assert!(summarised.is_sorted() && summarised.iter().all(|index| *index < plan.first_kept));
        let shown_before: Vec<EntryMeta> = path[plan.boundary_start..].to_vec();
        for tie in ties(&shown_before.iter().collect::<Vec<_>>()) {
            let (call, result) = (tie.first + plan.boundary_start, tie.last + plan.boundary_start);
            let is_kept = |index: usize| index >= plan.first_kept || plan.anchors.contains(&index);
            prop_assert_eq!(is_kept(call), is_kept(result), "{} {}", call, result);
        }
    }
}

#[test]
fn the_newest_compaction_of_a_provider_stays_and_older_ones_go() {
    let mut path = path("u10 o5 u10 a10 o5 u10 a10 u10 a10");
    let plan = prepare(&path, None, &settings(10)).unwrap();
    assert_eq!((plan.anchors, plan.first_kept), (vec![4], 8));
    path.insert(8, entry(9, "k5"));
    let record = record(&path, &[1]);
    let newest = NewestCompaction { index: 8, record: &record, first_kept: Some(4) };
    assert_eq!(prepare(&path, Some(newest), &settings(5)).unwrap().anchors, [4], "an older one is no anchor any more");
    let recent = prepare(&self::path("u10 o5 u10 a10 u10 o5"), None, &settings(5));
    assert!(recent.unwrap().anchors.is_empty(), "what is kept anyway needs no anchor");
}

#[test]
fn a_pinned_answer_brings_its_reasoning() {
    let path = path("u10 r5 a10:c1 t10:c1 r5 a5 a5 u10 a10 u10 a10");
    let pinned = |index: usize| Settings { pinned_entry_ids: vec![path[index].id], ..settings(10) };
    assert_eq!(prepare(&path, None, &pinned(3)).unwrap().anchors, [1, 2, 3]);
    assert_eq!(prepare(&path, None, &pinned(5)).unwrap().anchors, [4, 5, 6]);
    assert_eq!(prepare(&path, None, &pinned(8)).unwrap().anchors, [8]);
}
