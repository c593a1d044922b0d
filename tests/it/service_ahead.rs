//! Compactions prepared ahead of red: kept, committed at once, dropped where they no longer fit.

use contextd::domain::compaction::result::Reason;
use contextd::domain::tokens::accounting::FillState;
use contextd::service::compaction::{CompactRequest, Compaction, Status, Trigger};
use contextd::service::core::state::{Options, Service};
use contextd::service::ingest::append::{Append, Appended, OverflowReason};
use contextd::service::navigation::Navigate;
use contextd::service::sessions::SessionPatch;
use serde_json::{Value, json};

use crate::service_support::{Stage, assistant, chat, user};

const TOO_LONG: &str = "prompt is too long: 213462 tokens > 200000 maximum";

fn window() -> Value {
    json!({"context_window": 10_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500})
}

/// Appends turns until one starts or carries out a compaction.
async fn talk_until_something_happens(stage: &Stage) -> Appended {
    for _ in 0..200 {
        let appended = stage.talk(1).await;
        if appended.compaction.is_some() {
            return appended;
        }
    }
    panic!("nothing happened")
}

/// A stage whose candidate is ready, and the compaction.
async fn prepared(settings: Value) -> (Stage, Compaction) {
    let stage = Stage::set(settings).await;
    let started = talk_until_something_happens(&stage).await;
    let compaction = started.compaction.unwrap();
    assert_eq!((compaction.trigger, compaction.status), (Trigger::Ahead, Status::Queued));
    assert_eq!(started.snapshot.state, FillState::Yellow);
    stage.work().await;
    let kept = stage.service.compaction(stage.tenant, compaction.id).await.unwrap();
    (stage, kept)
}

async fn read(stage: &Stage, compaction: &Compaction) -> Compaction {
    stage.service.compaction(stage.tenant, compaction.id).await.unwrap()
}

fn assert_superseded(dropped: &Compaction) {
    let reason = dropped.result.as_ref().and_then(|result| result.skip_reason);
    assert_eq!((dropped.status, reason), (Status::Skipped, Some(Reason::Superseded)));
    assert!(!dropped.prepared);
}

fn failed(items: Vec<Value>, error: &str) -> Append {
    Append { provider_error: Some(error.to_owned()), ..chat(items) }
}

#[tokio::test]
async fn what_was_prepared_is_committed_by_the_append_that_turns_red() {
    let (stage, kept) = prepared(window()).await;
    assert_eq!((kept.status, kept.prepared, kept.result.is_none()), (Status::Running, true, true));
    let before = stage.context().await;
    assert!(!before.iter().any(|message| message.contains("Progress")), "not applied: {before:?}");
    assert_eq!(kept.snapshot_before.as_ref().map(|why| why.state), Some(FillState::Yellow));
    assert!(kept.snapshot_after.is_none());

    stage.append(vec![user("what came after the plan"), assistant("stays as it is")]).await;
    let red = talk_until_something_happens(&stage).await;
    let landed = red.compaction.unwrap();
    assert_eq!((landed.id, landed.status, landed.trigger), (kept.id, Status::Succeeded, Trigger::Ahead));
    assert_eq!(red.snapshot.state, FillState::Green);
    assert_eq!(red.leaf_id, stage.leaf().await);
    assert_eq!(stage.snapshot().await, red.snapshot);
    let context = stage.context().await;
    assert!(context.len() < before.len() && context.iter().any(|message| message.contains("what came after the plan")));
    let done = read(&stage, &kept).await;
    let result = done.result.unwrap();
    let (before, after) = (done.snapshot_before.unwrap(), done.snapshot_after.unwrap());
    assert_eq!((before.tokens, before.state), (result.tokens_before, FillState::Red));
    assert_eq!((after.tokens, &after), (result.tokens_after, &red.snapshot));
    assert!(!done.prepared && result.tokens_after < result.tokens_before);
}

#[tokio::test]
async fn a_candidate_outlives_its_process() {
    let (mut stage, kept) = prepared(window()).await;
    stage.service = Service::new(stage.pool.clone(), Options::default());
    let red = talk_until_something_happens(&stage).await;
    assert_eq!(red.compaction.map(|landed| (landed.id, landed.status)), Some((kept.id, Status::Succeeded)));
}

#[tokio::test]
async fn one_that_is_late_commits_as_soon_as_it_is_ready() {
    let stage = Stage::set(window()).await;
    let started = talk_until_something_happens(&stage).await.compaction.unwrap();
    while stage.snapshot().await.state != FillState::Red {
        assert!(stage.talk(1).await.compaction.is_none());
    }
    stage.work().await;
    let done = stage.service.compaction(stage.tenant, started.id).await.unwrap();
    assert_eq!((done.status, done.trigger), (Status::Succeeded, Trigger::Ahead));
    assert_ne!(stage.snapshot().await.state, FillState::Red);
}

#[tokio::test]
async fn a_candidate_of_a_branch_that_was_left_is_dropped() {
    let (stage, kept) = prepared(window()).await;
    let first = stage.service.queries().entries(stage.tenant, stage.session, Default::default(), page()).await.unwrap();
    let target = first.items.iter().find(|entry| entry.role == Some("assistant")).unwrap().id;
    let navigate = Navigate { target_id: Some(target), ..Navigate::default() };
    stage.service.navigate(stage.tenant, stage.session, navigate).await.unwrap();
    assert_superseded(&read(&stage, &kept).await);
    let again = talk_until_something_happens(&stage).await.compaction.unwrap();
    assert_eq!((again.status, again.trigger), (Status::Queued, Trigger::Ahead));
    stage.work().await;
    let red = talk_until_something_happens(&stage).await;
    assert_eq!(red.compaction.map(|landed| (landed.id, landed.status)), Some((again.id, Status::Succeeded)));
}

fn page() -> contextd::service::core::page::PageRequest {
    contextd::service::core::page::PageRequest { limit: 10, after: None }
}

#[tokio::test]
async fn a_candidate_made_under_other_settings_is_dropped() {
    let (stage, kept) = prepared(window()).await;
    let patch = async |settings: Value| {
        let settings = settings.as_object().cloned();
        stage.service.patch_session(stage.tenant, stage.session, SessionPatch { settings, ..Default::default() }).await
    };
    patch(json!({"yellow_at": 0.5})).await.unwrap();
    assert_eq!(read(&stage, &kept).await.status, Status::Running, "that changes nothing about the outcome");
    patch(json!({"keep_recent_tokens": 600})).await.unwrap();
    assert_superseded(&read(&stage, &kept).await);
}

#[tokio::test]
async fn a_call_takes_the_candidate_over() {
    let (stage, kept) = prepared(window()).await;
    let before = stage.context().await.len();
    let done = stage.compact(CompactRequest::default()).await;
    assert_eq!((done.id, done.status, done.trigger), (kept.id, Status::Succeeded, Trigger::Ahead));
    assert!(stage.context().await.len() < before / 2);
}

#[tokio::test]
async fn a_call_for_something_else_drops_the_candidate() {
    let (stage, kept) = prepared(window()).await;
    let focus = CompactRequest { focus_topic: Some("the parser".to_owned()), ..CompactRequest::default() };
    let done = stage.compact(focus).await;
    assert_ne!(done.id, kept.id);
    assert_eq!((done.status, done.trigger), (Status::Succeeded, Trigger::Manual));
    assert_superseded(&read(&stage, &kept).await);
}

#[tokio::test]
async fn a_call_while_it_is_made_waits_for_the_same_one() {
    let stage = Stage::set(window()).await;
    let started = talk_until_something_happens(&stage).await.compaction.unwrap();
    let asked = stage.compact(CompactRequest::default()).await;
    assert_eq!((asked.id, asked.status), (started.id, Status::Succeeded), "it is committed though nothing is red");
}

#[tokio::test]
async fn a_candidate_that_would_save_too_little_is_not_kept() {
    let settings = json!({"context_window": 10_000, "reserve_tokens": 2_000, "keep_recent_tokens": 500,
                          "min_savings_pct": 99});
    let (stage, kept) = prepared(settings).await;
    let reason = kept.result.and_then(|result| result.skip_reason);
    assert_eq!((kept.status, reason), (Status::Skipped, Some(Reason::LowSavings)));
    assert_eq!(stage.snapshot().await.anti_thrash.low_savings_streak, 1);
}

#[tokio::test]
async fn switched_off_nothing_is_prepared() {
    for off in [json!({"ahead_at": null}), json!({"enabled": false})] {
        let mut settings = window();
        settings.as_object_mut().unwrap().extend(off.as_object().unwrap().clone());
        let stage = Stage::set(settings).await;
        while stage.snapshot().await.utilization < 0.75 {
            assert!(stage.talk(1).await.compaction.is_none(), "{off}");
        }
    }
}

#[tokio::test]
async fn after_growth_beyond_the_candidate_the_normal_path_goes_on() {
    let (stage, kept) = prepared(window()).await;
    let huge = stage.append(vec![user(&"a great many words ".repeat(1_300))]).await;
    assert_eq!(huge.compaction.map(|landed| (landed.id, landed.status)), Some((kept.id, Status::Succeeded)));
    assert_eq!(huge.snapshot.state, FillState::Red);
    let next = stage.append(vec![assistant("so many")]).await.compaction.unwrap();
    assert_eq!((next.trigger, next.status), (Trigger::Auto, Status::Queued));
}

#[tokio::test]
async fn a_candidate_that_would_leave_the_next_one_due_gives_way_to_one_of_now() {
    let (stage, kept) = prepared(window()).await;
    let said = |n: usize| user(&format!("Part {n}: {}", "a great many words ".repeat(180)));
    let burst = stage.append((0..4).flat_map(|n| [said(n), assistant("Noted.")]).collect()).await;
    let started = burst.compaction.unwrap();
    assert_eq!((started.trigger, started.status), (Trigger::Auto, Status::Queued));
    assert_superseded(&read(&stage, &kept).await);
    stage.work().await;
    let red = u64::from(stage.snapshot().await.window - 2_000) * 8 / 10;
    let left = stage.snapshot().await.tokens;
    assert!(left < red * 3 / 4, "{left} of {red}");
    assert!(stage.talk(3).await.compaction.is_none());
}

#[tokio::test]
async fn a_tail_that_there_is_no_room_for_throws_no_candidate_away() {
    let settings = json!({"context_window": 10_000, "reserve_tokens": 2_000, "keep_recent_tokens": 4_000});
    let (stage, kept) = prepared(settings).await;
    assert_eq!((kept.status, kept.prepared), (Status::Running, true), "{kept:?}");
    let red = talk_until_something_happens(&stage).await;
    assert_eq!(red.compaction.map(|landed| (landed.id, landed.status)), Some((kept.id, Status::Succeeded)));
}

#[tokio::test]
async fn an_overflow_is_tried_again_once() {
    let stage = Stage::set(json!({})).await;
    stage.talk(300).await;
    let fail = async |items, error: &str| {
        let appended = stage.try_append(failed(items, error)).await.unwrap();
        (appended.overflow.unwrap(), appended.compaction)
    };
    let (other, none) = fail(Vec::new(), "Incorrect API key provided").await;
    assert_eq!((other.recognised, other.retry, other.reason), (false, false, OverflowReason::NotOverflow));
    assert!(none.is_none());

    let (first, started) = fail(Vec::new(), TOO_LONG).await;
    assert_eq!((first.recognised, first.retry, first.reason), (true, true, OverflowReason::Compacting));
    assert_eq!(started.map(|one| (Some(one.id), one.trigger)), Some((first.compaction_id, Trigger::Overflow)));
    let (early, none) = fail(Vec::new(), TOO_LONG).await;
    assert_eq!((early.retry, early.compaction_id, none.is_none()), (true, first.compaction_id, true));
    stage.work().await;
    let (second, none) = fail(Vec::new(), TOO_LONG).await;
    assert_eq!((second.recognised, second.retry, second.reason), (true, false, OverflowReason::AlreadyTried));
    assert_eq!((second.compaction_id, none.is_none()), (first.compaction_id, true));

    let (new, started) = fail(vec![user("another question")], TOO_LONG).await;
    assert!(new.retry && started.is_some(), "{new:?}");
    assert!(stage.append(vec![assistant("an answer")]).await.overflow.is_none());
}

#[tokio::test]
async fn an_overflow_commits_what_was_prepared() {
    let (stage, kept) = prepared(window()).await;
    let appended = stage.try_append(failed(Vec::new(), TOO_LONG)).await.unwrap();
    let overflow = appended.overflow.unwrap();
    assert_eq!((overflow.retry, overflow.reason), (true, OverflowReason::Compacted));
    assert_eq!(overflow.compaction_id, Some(kept.id));
    assert_eq!(appended.snapshot.state, FillState::Green);
}

#[tokio::test]
async fn a_failure_reported_after_the_compaction_is_tried_with_it() {
    let stage = Stage::set(window()).await;
    stage.talk(10).await;
    stage.compact(CompactRequest::default()).await;
    let fail = async || stage.try_append(failed(Vec::new(), TOO_LONG)).await.unwrap().overflow.unwrap();
    let first = fail().await;
    assert_eq!((first.retry, first.reason), (true, OverflowReason::Compacted));
    let second = fail().await;
    assert_eq!((second.retry, second.reason), (false, OverflowReason::AlreadyTried));
}
