//! Compactions as the use cases see them: one after the other, with the caller's own cut, and taken back.

use contextd::domain::compaction::result::Reason;
use contextd::domain::model::strategy::Strategy;
use contextd::service::compaction::{CompactRequest, Status};
use contextd::service::core::error::{ConflictCode, ServiceError};
use contextd::service::navigation::Navigate;
use contextd::store::queue;
use serde_json::json;
use uuid::Uuid;

use crate::queue_support::{LEASE, complete};
use crate::service_support::{Stage, assistant, calls, is_conflict, result, user};

fn small() -> serde_json::Value {
    json!({"context_window": 16_000, "reserve_tokens": 1_000, "keep_recent_tokens": 300})
}

#[tokio::test]
async fn a_compaction_asked_for_while_the_last_job_is_ending_gets_its_turn() {
    let stage = Stage::set(small()).await;
    stage.talk(20).await;
    let request = CompactRequest::default;
    let first = stage.service.compact(stage.tenant, stage.session, request(), None).await.unwrap();
    let job = queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap().remove(0);
    // Its compaction has ended, the job itself not yet.
    sqlx::query("UPDATE compactions SET status = 'skipped' WHERE id = $1")
        .bind(first.id)
        .execute(&stage.pool)
        .await
        .unwrap();
    let second = stage.service.compact(stage.tenant, stage.session, request(), None).await.unwrap();
    assert_ne!(second.id, first.id);
    complete(&stage.pool, &job).await;
    stage.work().await;
    assert_eq!(stage.service.compaction(stage.tenant, second.id).await.unwrap().status, Status::Succeeded);
}

#[tokio::test]
async fn a_compaction_whose_job_dies_before_it_started_fails() {
    let stage = Stage::set(small()).await;
    stage.talk(2).await;
    let asked = stage.service.compact(stage.tenant, stage.session, CompactRequest::default(), None).await.unwrap();
    sqlx::query("UPDATE jobs SET max_attempts = 1").execute(&stage.pool).await.unwrap();
    queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap();
    sqlx::query("UPDATE compactions SET status = 'queued'").execute(&stage.pool).await.unwrap();
    crate::queue_support::end_leases(&stage.pool).await;
    queue::reap(&stage.pool).await.unwrap();
    assert_eq!(stage.service.compaction(stage.tenant, asked.id).await.unwrap().status, Status::Failed);
}

#[tokio::test]
async fn the_callers_own_cut_needs_no_plan_of_ours() {
    let stage = Stage::set(json!({})).await;
    let talk = stage.talk(12).await;
    let kept = talk.entries[20].id;
    let request = CompactRequest {
        summary: Some("They looked at the parser.".to_owned()),
        first_kept_entry_id: Some(kept),
        ..CompactRequest::default()
    };
    let done = stage.compact(request).await;
    assert_eq!(done.status, Status::Succeeded, "{:?}", done.result);
    let result = done.result.unwrap();
    assert_eq!(result.first_kept_entry_id, Some(kept.to_string()));
    let context = stage.context().await;
    // The first user message, the summary, four kept ones.
    assert_eq!(context.len(), 6);
    assert!(context[0].contains("Turn 0") && context[1].contains("They looked at the parser."));
    assert!(context[2].contains("Turn 10") && result.tokens_after == stage.snapshot().await.tokens);
}

#[tokio::test]
async fn what_was_taken_back_stays_so_until_the_context_has_grown() {
    let stage = Stage::set(json!({"context_window": 8_000, "reserve_tokens": 1_000, "keep_recent_tokens": 300})).await;
    let started = stage.talk(60).await.compaction.expect("it is red");
    let before = stage.context().await;
    stage.work().await;
    assert!(stage.context().await.len() < before.len());
    stage.service.revert_compaction(stage.tenant, started.id).await.unwrap();
    assert_eq!(stage.context().await, before);
    let next = stage.append(vec![user("go on")]).await;
    assert_eq!((next.compaction.is_none(), next.snapshot.should_compact), (true, true));
    assert!(stage.talk(15).await.compaction.is_some());
}

#[tokio::test]
async fn compactions_are_taken_back_one_after_the_other() {
    let stage = Stage::set(small()).await;
    stage.talk(20).await;
    let untouched = stage.context().await;
    let first = stage.compact(CompactRequest::default()).await;
    stage.append(vec![user("more"), assistant(&"and more of it ".repeat(100)), user("again")]).await;
    let between = stage.context().await;
    let second = stage.compact(CompactRequest::default()).await;
    assert_eq!((first.status, second.status), (Status::Succeeded, Status::Succeeded));
    let revert = async |id| stage.service.revert_compaction(stage.tenant, id).await;
    let compacted = stage.leaf().await;

    assert!(is_conflict(&revert(first.id).await, ConflictCode::NotNewest));
    revert(second.id).await.unwrap();
    assert_eq!(stage.context().await, between);
    assert!(is_conflict(&revert(second.id).await, ConflictCode::AlreadyReverted));
    revert(first.id).await.unwrap();
    let context = stage.context().await;
    assert_eq!(context[..untouched.len()], untouched);
    assert_eq!(context.len(), untouched.len() + 3);

    stage
        .service
        .navigate(stage.tenant, stage.session, Navigate { target_id: compacted, ..Navigate::default() })
        .await
        .unwrap();
    revert(second.id).await.expect("on this path it is in force");
    assert_eq!(stage.context().await, between);
}

#[tokio::test]
async fn masking_then_summarising_then_taking_back_shows_the_masks_again() {
    let stage = Stage::set(json!({"context_window": 30_000, "reserve_tokens": 1_000, "keep_recent_tokens": 300})).await;
    let turns = (0..10).flat_map(|at: usize| {
        let id = format!("call_{at}");
        let text = format!("{at} {}", "line of output ".repeat(60));
        [user(&format!("step {at}")), calls(&[&id]), result(&id, &text)]
    });
    stage.append(turns.collect()).await;
    stage.append(vec![assistant("done")]).await;
    let mask = stage.compact(CompactRequest { strategy: Some(Strategy::Mask), ..CompactRequest::default() }).await;
    assert_eq!(mask.status, Status::Succeeded);
    let masked = stage.context().await;
    let tokens = stage.snapshot().await.tokens;
    assert_eq!(mask.result.unwrap().tokens_after, tokens);
    stage.append(vec![user("next"), assistant("yes")]).await;
    let grown = stage.snapshot().await.tokens;
    let summed = stage.compact(CompactRequest::default()).await;
    assert_eq!(summed.status, Status::Succeeded);
    let record: String =
        sqlx::query_scalar("SELECT record FROM entries WHERE record IS NOT NULL ORDER BY seq DESC LIMIT 1")
            .fetch_one(&stage.pool)
            .await
            .unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert!(record["elisions"].as_array().unwrap().len() < 7, "elisions of what is summarised are dropped");
    stage.service.revert_compaction(stage.tenant, summed.id).await.unwrap();
    assert_eq!(stage.context().await[..masked.len()], masked);
    assert_eq!(stage.snapshot().await.tokens, grown);
}

#[tokio::test]
async fn a_guard_that_re_armed_itself_counts_from_there() {
    let settings = json!({"context_window": 60_000, "reserve_tokens": 1_000, "keep_recent_tokens": 300,
                          "min_savings_pct": 99, "anchor_first_user": false});
    let stage = Stage::set(settings).await;
    let compact = async |turns: usize| {
        stage.talk(turns).await;
        stage.compact(CompactRequest::default()).await.result.unwrap()
    };
    compact(10).await;
    let tripped = compact(10).await.anti_thrash;
    assert_eq!((tripped.low_savings_streak, tripped.tripped), (2, true));
    let held = compact(2).await;
    assert_eq!(held.skip_reason, Some(Reason::AntiThrash));
    stage.talk(30).await;
    assert!(stage.snapshot().await.tokens >= tripped.retry_at_tokens.unwrap());
    assert!(!stage.snapshot().await.anti_thrash.tripped);
    let again = compact(10).await.anti_thrash;
    assert_eq!((again.low_savings_streak, again.tripped), (1, false));
    assert_eq!(again.reset_reason.as_deref(), Some("growth"));
}

#[tokio::test]
async fn a_fork_sees_what_it_shares_and_nothing_else() {
    let stage = Stage::set(json!({})).await;
    let first = stage.append(vec![user("a"), assistant("b")]).await;
    let fork = stage.service.fork_session(stage.tenant, stage.session, Some(first.entries[0].id)).await.unwrap();
    let later = stage.append(vec![user("not yours")]).await;
    let see = async |id| stage.service.queries().entry(stage.tenant, fork.id, id).await;
    assert!(see(first.entries[0].id).await.is_ok());
    for hidden in [first.entries[1].id, later.entries[0].id] {
        assert!(matches!(see(hidden).await, Err(ServiceError::NotFound(_))));
    }
}

#[tokio::test]
async fn the_parts_of_a_snapshot_add_up() {
    let stage = Stage::set(small()).await;
    let talk = stage.talk(20).await;
    let sum = |breakdown: contextd::domain::tokens::accounting::Breakdown| {
        breakdown.system
            + breakdown.tools
            + breakdown.unposted
            + breakdown.summary
            + breakdown.messages
            + breakdown.tool_results
    };
    assert_eq!(sum(talk.snapshot.breakdown), talk.snapshot.tokens);
    let usage = Some(json!({"input_tokens": 3_333, "output_tokens": 100}));
    let answer = crate::service_support::chat(vec![assistant("measured")]);
    let reported =
        stage.try_append(contextd::service::ingest::append::Append { usage, ..answer }).await.unwrap().snapshot;
    assert_eq!((reported.tokens, sum(reported.breakdown)), (3_433, 3_433));
    stage.compact(CompactRequest::default()).await;
    let after = stage.snapshot().await;
    assert!(after.breakdown.summary > 0);
    assert_eq!(sum(after.breakdown), after.tokens);
}

#[tokio::test]
async fn a_compaction_for_the_end_of_the_turn_waits_for_it() {
    let stage = Stage::set(small()).await;
    stage.talk(20).await;
    stage.append(vec![user("read it"), calls(&["one"])]).await;
    let ask = || CompactRequest { at_turn_end: true, ..CompactRequest::default() };
    let status = async |id| {
        stage.work().await;
        stage.service.compaction(stage.tenant, id).await.unwrap().status
    };
    let asked = stage.compact(ask()).await;
    assert_eq!(asked.status, Status::Queued);
    stage.append(vec![result("one", "text")]).await;
    assert_eq!(status(asked.id).await, Status::Queued);
    stage.append(vec![assistant("it says text")]).await;
    assert_eq!(status(asked.id).await, Status::Succeeded);

    stage.append(vec![user("more"), assistant(&"and more of it ".repeat(100))]).await;
    assert_eq!(stage.compact(ask()).await.status, Status::Succeeded, "the turn is closed already");
    stage.append(vec![user(&"a question ".repeat(300)), user("and one more")]).await;
    let asked = stage.compact(ask()).await;
    let hurried = stage.compact(CompactRequest::default()).await;
    assert_eq!((asked.status, hurried.id == asked.id), (Status::Queued, true));
    assert_ne!(hurried.status, Status::Queued, "a call for now does not wait");
}
