use std::collections::HashMap;

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::smart::Clues;
use super::*;
use crate::compaction::prepare::tests::{path, settings};
use crate::context::ties::ties;
use crate::context::view::{NewestCompaction, ViewItem, item_tokens, plan_view};
use crate::model::compaction::CompactionRecord;
use crate::model::strategy::Strategy;
use crate::settings::Settings;
use crate::summary::testing::{call, failed, result, user};

const COUNTING: [Strategy; 3] = [Strategy::Truncate, Strategy::Sliding, Strategy::Smart];

fn items(path: &[EntryMeta], newest: Option<NewestCompaction<'_>>) -> Vec<ShownMessage> {
    let view = plan_view(path, newest);
    let item = |item: &ViewItem| match item {
        ViewItem::Entry { index, .. } => Some(ShownMessage { index: *index, tokens: item_tokens(path, item) }),
        ViewItem::Summary { .. } => None,
    };
    view.iter().filter_map(item).collect()
}

fn choose(strategy: Strategy, spec: &str, settings: &Settings, target: u64) -> Result<Plan, Reason> {
    let path = path(spec);
    let choice = Choice {
        path: &path,
        newest: None,
        items: &items(&path, None),
        settings,
        room: RoomForKept { target, limit: target },
        clues: &HashMap::new(),
    };
    select(strategy, &choice)
}

fn recent(preserve_recent: u32) -> Settings {
    Settings { preserve_recent, ..settings(0) }
}

fn anchored(preserve_recent: u32) -> Settings {
    Settings { anchor_first_user: true, ..recent(preserve_recent) }
}

fn parts(plan: &Plan) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
    (plan.anchors.clone(), plan.history.clone(), plan.kept.clone())
}

#[test]
fn truncate_keeps_the_newest_messages_and_whole_batches() {
    let spec = "y5 u10 a10 u10 a10:c1,c2 t10:c1 t10:c2 a10 u10";
    let plan = choose(Strategy::Truncate, spec, &anchored(3), 1000).unwrap();
    assert_eq!(parts(&plan), (vec![0, 1], vec![2, 3], vec![4, 5, 6, 7, 8]));
    let plan = choose(Strategy::Truncate, spec, &anchored(3), 40).unwrap();
    assert_eq!(parts(&plan), (vec![0, 1], vec![2, 3, 4, 5, 6], vec![7, 8]));
    let plan = choose(Strategy::Truncate, spec, &anchored(3), 1).unwrap();
    assert_eq!(parts(&plan).2, [8], "the newest stays, though the target is out of reach");
    assert_eq!(plan.tokens_kept, 25);
}

#[test]
fn sliding_keeps_what_fits() {
    let spec = "u10 a10 u10 a10:c1,c2 t10:c1 t10:c2 a10 u10";
    let plan = |target| choose(Strategy::Sliding, spec, &anchored(0), target);
    assert_eq!(parts(&plan(65).unwrap()), (vec![0], vec![1, 2], vec![3, 4, 5, 6, 7]));
    assert_eq!(parts(&plan(50).unwrap()), (vec![0], vec![1, 2, 3, 4, 5], vec![6, 7]));
    assert_eq!(plan(80).unwrap_err(), Reason::NothingToCompact);
}

#[test]
fn an_open_call_stays_with_what_came_after_it() {
    for strategy in COUNTING {
        let plan = choose(strategy, "u10 a10 u10 a10:c1,c2 t10:c1 u10", &recent(0), 1).unwrap();
        assert_eq!(parts(&plan), (vec![], vec![0, 1, 2], vec![3, 4, 5]), "{strategy:?}");
    }
}

#[test]
fn smart_keeps_what_the_work_rests_on() {
    let messages = [
        user("Sort the list in src/lib.rs."),
        user("Never touch the file config/prod.toml."),
        user("ok"),
        call("c1", "read", serde_json::json!({"path": "src/sort.rs"})),
        result("c1", "fn sort() {}"),
        call("c2", "bash", serde_json::json!({"command": "ls"})),
        failed("c2", "error[E0308]: mismatched types"),
        call("c3", "bash", serde_json::json!({"command": "date"})),
        result("c3", "Monday"),
        user("Go on with src/sort.rs, please."),
    ];
    let path = path("u10 u10 u10 a10:c1 t10:c1 a10:c2 t10:c2 a10:c3 t10:c3 u10");
    let kept = |target, topic: Option<&str>| {
        let clues: HashMap<usize, Clues> =
            messages.iter().enumerate().map(|(at, message)| (at, Clues::of(message, topic))).collect();
        let choice = Choice {
            path: &path,
            newest: None,
            items: &items(&path, None),
            settings: &anchored(1),
            room: RoomForKept { target, limit: target },
            clues: &clues,
        };
        let plan = select(Strategy::Smart, &choice).unwrap();
        plan.anchors.into_iter().chain(plan.kept).collect::<Vec<_>>()
    };
    assert_eq!(kept(50, None), [0, 5, 6, 9], "the error first");
    assert_eq!(kept(70, None), [0, 3, 4, 5, 6, 9], "then what the tail still speaks of");
    assert_eq!(kept(50, Some("MONDAY")), [0, 7, 8, 9], "and before them what the caller cares for");
}

#[test]
fn clues_are_told_from_flags_and_names() {
    let clues = |message| Clues::of(&message, None);
    assert!(clues(failed("c", "no")).error && !clues(result("c", "yes")).error);
    assert_eq!(clues(user("see src/a.rs")).identifiers, ["src/a.rs"]);
}

/// Paths as an agent leaves them: turns with parallel calls, some of them unanswered.
fn spec() -> impl prop::strategy::Strategy<Value = String> {
    let turn = (1..60_u32, 0..4_usize, 1..200_u32, prop::bool::weighted(0.1));
    prop::collection::vec(turn, 1..40).prop_map(|turns| {
        let mut words = Vec::new();
        for (at, (user, calls, size, aborted)) in turns.into_iter().enumerate() {
            words.push(format!("u{user}"));
            let ids: Vec<String> = (0..calls).map(|call| format!("c{at}.{call}")).collect();
            words.push(format!("a{size}:{}", ids.join(",")));
            words.extend(ids.iter().skip(usize::from(aborted)).map(|id| format!("t{size}:{id}")));
            if at % 5 == 4 {
                words.push("l0".to_owned());
            }
        }
        words.join(" ")
    })
}

proptest! {
    #[test]
    fn every_strategy_keeps_the_invariants(
        spec in spec(),
        recent in 0..12_u32,
        anchor in any::<bool>(),
        share in 0..120_u64,
        pinned in prop::collection::vec(0..200_u128, 0..4),
    ) {
        let path = path(&spec);
        let settings = Settings {
            preserve_recent: recent,
            anchor_first_user: anchor,
            pinned_entry_ids: pinned.iter().map(|id| uuid::Uuid::from_u128(*id)).collect(),
            ..settings(0)
        };
        let shown = items(&path, None);
        let whole: u64 = shown.iter().map(|item| item.tokens).sum();
        let room = RoomForKept { target: whole * share / 100, limit: whole * share / 100 };
        for strategy in COUNTING {
            let clues = HashMap::new();
            let choice = Choice { path: &path, newest: None, items: &shown, settings: &settings, room, clues: &clues };
            let Ok(plan) = select(strategy, &choice) else { continue };
            check(&choice, &plan)?;
            again(strategy, &choice, &plan)?;
        }
    }
}

/// Partition, no orphan, what has to stay stays, and the target is met unless only that is left.
fn check(choice: &Choice<'_>, plan: &Plan) -> Result<(), TestCaseError> {
    let mut all: Vec<usize> = plan.anchors.iter().chain(&plan.history).chain(&plan.kept).copied().collect();
    all.sort_unstable();
    prop_assert_eq!(all, choice.items.iter().map(|item| item.index).collect::<Vec<_>>());
    let heads: Vec<&EntryMeta> = choice.path.iter().collect();
    for tie in ties(&heads) {
        prop_assert_eq!(plan.history.contains(&tie.first), plan.history.contains(&tie.last));
        prop_assert_eq!(plan.kept.contains(&tie.first), plan.kept.contains(&tie.last));
    }
    let required = required(choice.path, choice.path.len(), choice.settings);
    prop_assert!(plan.history.iter().all(|index| !required.contains(index)));
    prop_assert!(plan.first_kept <= plan.kept[0] && plan.anchors.iter().all(|index| *index < plan.first_kept));
    let fixed = Units::of(choice.path, choice.items, &required, u64::MAX).fixed_tokens();
    prop_assert!(plan.tokens_kept <= choice.room.target.max(fixed));
    Ok(())
}

/// On what it left, a strategy with the same target finds nothing more to do.
fn again(strategy: Strategy, choice: &Choice<'_>, plan: &Plan) -> Result<(), TestCaseError> {
    let record = CompactionRecord {
        anchors: plan.anchors.iter().map(|index| choice.path[*index].id).collect(),
        strategy: Some(strategy),
        summary: Some("left out".to_owned()),
        ..CompactionRecord::default()
    };
    let mut path = choice.path.to_vec();
    let index = path.len();
    path.extend(crate::compaction::prepare::tests::path("k1"));
    let newest = NewestCompaction { index, record: &record, first_kept: Some(plan.first_kept) };
    let shown = items(&path, Some(newest));
    prop_assert_eq!(
        shown.iter().map(|item| item.index).collect::<Vec<_>>(),
        plan.anchors.iter().chain(&plan.kept).copied().collect::<Vec<_>>()
    );
    let after = Choice { path: &path, newest: Some(newest), items: &shown, ..*choice };
    prop_assert_eq!(select(strategy, &after).unwrap_err(), Reason::AlreadyCompacted);
    // With the compaction taken for done, as behind a revert.
    let behind = Choice { path: &path[..index], ..after };
    if strategy != Strategy::Smart {
        prop_assert_eq!(select(strategy, &behind).err(), Some(Reason::NothingToCompact));
    }
    Ok(())
}
