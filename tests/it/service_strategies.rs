//! The strategies that ask no model, as the use cases see them: what stays, what is never forgotten, and that they rest.

use contextd::domain::compaction::result::{CompactionResult, Reason};
use contextd::domain::model::strategy::Strategy;
use contextd::domain::tokens::accounting::FillState;
use contextd::service::compaction::{CompactRequest, Status};
use contextd::service::core::page::PageRequest;
use contextd::service::sessions::SessionPatch;
use serde_json::{Value, json};

use crate::drill_rounds::told_calls;
use crate::service_support::{Stage, assistant, calls, result, user};

const COUNTING: [Strategy; 3] = [Strategy::Truncate, Strategy::Sliding, Strategy::Smart];

fn asking(strategy: Strategy) -> CompactRequest {
    CompactRequest { strategy: Some(strategy), ..CompactRequest::default() }
}

fn settings(target: u32) -> Value {
    json!({"context_window": 30_000, "reserve_tokens": 2_000, "keep_recent_tokens": 300, "target_tokens": target,
           "preserve_recent": 4, "enabled": false})
}

async fn done(stage: &Stage, strategy: Strategy) -> CompactionResult {
    let done = stage.compact(asking(strategy)).await;
    assert_eq!(done.status, Status::Succeeded, "{strategy:?}: {:?}", done.result);
    done.result.unwrap()
}

/// Turns of a request, a call and its result, and an answer.
fn work(range: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |at: usize| {
        let id = format!("call_{at}");
        let read = json!({"id": id, "type": "function", "function":
            {"name": "write", "arguments": json!({"path": format!("src/part_{at}.rs")}).to_string()}});
        [
            user(&format!("Request {at}: write part {at}.")),
            json!({"role": "assistant", "content": null, "tool_calls": [read]}),
            result(&id, &format!("{at} {}", "line of output ".repeat(40))),
            assistant(&format!("Part {at} is written.")),
        ]
    };
    range.flat_map(turn).collect()
}

#[tokio::test]
async fn what_was_summarised_before_is_carried_and_calls_are_never_forgotten() {
    for strategy in COUNTING {
        let stage = Stage::set(settings(2_000)).await;
        stage.append(work(0..20)).await;
        let own = CompactRequest { summary: Some("Port 8080 was agreed on.".into()), ..CompactRequest::default() };
        assert_eq!(stage.compact(own).await.status, Status::Succeeded);
        for round in 1..4 {
            stage.append(work(round * 20..round * 20 + 20)).await;
            let result = done(&stage, strategy).await;
            assert_eq!((result.strategy_used, result.target_reached), (strategy, Some(true)), "{result:?}");
            assert!(result.tokens_after <= 2_000 && result.previous_summary_reused);
            let context = stage.context().await;
            let summary = context.iter().find(|message| message.contains("context-summary")).unwrap();
            assert!(summary.contains("Port 8080 was agreed on."), "{strategy:?}, {round}: {summary}");
            assert_eq!(summary.matches("Notes that were given").count(), 1, "{summary}");
            assert_eq!(summary.matches("## Left Out").count(), 1);
            assert!(context[0].contains("Request 0"), "{summary}");
            let page = PageRequest { limit: 200, after: None };
            let listed = stage.service.queries().tool_calls(stage.tenant, stage.session, page).await.unwrap().items;
            assert_eq!(listed.len(), round * 20 + 20);
            let shown = context.iter().filter(|message| message.contains("tool_calls")).count();
            assert_eq!(accounted(summary) + shown, listed.len(), "{strategy:?}, {round}: {summary}");
        }
    }
}

#[tokio::test]
async fn a_callers_notes_outlive_every_record_until_others_are_given() {
    for strategy in [Strategy::Auto, Strategy::Summarize] {
        let stage = Stage::set(settings(2_000)).await;
        for (notes, old) in [("Port 8080 was agreed on.", None), ("Port 9090 it is now.", Some("8080"))] {
            stage.append(work(0..20)).await;
            let own = CompactRequest { summary: Some(notes.into()), ..CompactRequest::default() };
            assert_eq!(stage.compact(own).await.status, Status::Succeeded);
            for round in 0..2 {
                stage.append(work(20..40)).await;
                done(&stage, strategy).await;
                let context = stage.context().await.concat();
                assert_eq!(context.matches(notes).count(), 1, "{strategy:?}, {round}: {context}");
                assert!(old.is_none_or(|old| !context.contains(old)), "{strategy:?}, {round}: {context}");
            }
        }
    }
}

/// The calls that a record of [`work`] tells of or counts: where requests are not told, each stands for its call.
fn accounted(summary: &str) -> usize {
    let message: Value = serde_json::from_str(summary).unwrap();
    usize::try_from(told_calls(message["content"].as_str().unwrap())).unwrap()
}

#[tokio::test]
async fn each_keeps_what_its_rule_says() {
    let talk = async |strategy| {
        let stage = Stage::set(settings(2_500)).await;
        let mut items = work(0..30);
        items[8] = user("Never touch config/prod.toml, it must stay as it is.");
        // What is named again in what stays is still used.
        items[116] = user("Request 29: write part 29, and mind config/prod.toml.");
        stage.append(items).await;
        let result = done(&stage, strategy).await;
        (stage.context().await, result)
    };
    let (truncated, result) = talk(Strategy::Truncate).await;
    assert_eq!(truncated.len(), 1 + 1 + 4, "the first message, the summary, the newest four");
    assert_eq!((result.messages_removed, result.messages_kept), (115, 5));
    assert!(!truncated[0].contains("Never touch") && !truncated[2..].concat().contains("Never touch"));
    let (slid, _) = talk(Strategy::Sliding).await;
    assert!(slid.len() > truncated.len() && slid[1].contains("context-summary"));
    assert_eq!(slid[slid.len() - 4..], truncated[2..]);
    let (smart, _) = talk(Strategy::Smart).await;
    let kept =
        |message: &&String| message.contains("Never touch config/prod.toml") && !message.contains("context-summary");
    assert_eq!(smart.iter().filter(kept).count(), 1, "the message itself: {smart:?}");
    assert_eq!(smart[smart.len() - 4..], truncated[2..]);
}

#[tokio::test]
async fn the_room_that_the_message_does_not_take_is_for_messages() {
    for estimator in ["praison", "o200k"] {
        for strategy in [Strategy::Sliding, Strategy::Smart] {
            let mut settings = settings(4_000);
            settings["estimator"] = json!(estimator);
            settings["anchor_first_user"] = json!(false);
            let stage = Stage::set(settings).await;
            let said =
                |n: usize| [user(&format!("And what of part {n}?")), assistant(&format!("Part {n} is as it was."))];
            stage.append((0..700).flat_map(said).collect()).await;
            let result = done(&stage, strategy).await;
            assert_eq!((result.target_reached, stage.snapshot().await.tokens), (Some(true), result.tokens_after));
            let free = 4_000 - result.tokens_after;
            assert!(free < 60, "{estimator}, {strategy:?}: {free} tokens are left of 4,000");
        }
    }
}

#[tokio::test]
async fn prune_leaves_the_newest_messages_alone() {
    let stage = Stage::set(settings(2_000)).await;
    stage.append(work(0..6)).await;
    let result = done(&stage, Strategy::Prune).await;
    assert_eq!((result.tool_results_pruned, result.messages_removed), (5, 0));
    let results = stage.context().await.into_iter().filter(|message| message.contains("tool_call_id"));
    let short: Vec<bool> = results.map(|message| message.contains("tool_result truncated")).collect();
    assert_eq!(short, [true, true, true, true, true, false]);
}

#[tokio::test]
async fn they_run_by_themselves_and_rest_in_between() {
    for strategy in ["truncate", "sliding", "smart"] {
        let stage = Stage::set(json!({"context_window": 12_000, "reserve_tokens": 1_000, "strategy": strategy})).await;
        for round in 0..120 {
            stage.append(work(round * 2..round * 2 + 2)).await;
            stage.work().await;
            let now = stage.snapshot().await;
            assert!(now.state != FillState::Red && !now.anti_thrash.tripped, "{strategy}, {round}: {now:?}");
            assert_eq!(now.anti_thrash.low_savings_streak, 0, "{strategy}");
        }
        let page = PageRequest { limit: 200, after: None };
        let all = stage.service.compactions(stage.tenant, stage.session, page).await.unwrap().items;
        let done = all.iter().filter(|one| one.status == Status::Succeeded).count();
        assert!((3..=30).contains(&done), "{strategy}: {done} compactions in 120 appends");
    }
}

#[tokio::test]
async fn a_target_out_of_reach_is_said_so() {
    let stage = Stage::set(settings(600)).await;
    stage.append(work(0..10)).await;
    stage.append(vec![user(&"a very long question ".repeat(300))]).await;
    let result = done(&stage, Strategy::Sliding).await;
    assert_eq!((result.target_tokens, result.target_reached), (Some(600), Some(false)));
    assert!(result.tokens_after < result.tokens_before);
    assert!(stage.context().await.last().unwrap().contains("a very long question"));
}

#[tokio::test]
async fn a_full_system_prompt_ends_it_cleanly() {
    let stage = Stage::set(settings(600)).await;
    stage.append(work(0..10)).await;
    let system = json!("Always be kind to the parser. ".repeat(6_000));
    let system = serde_json::value::to_raw_value(&system).unwrap();
    let patch = SessionPatch { system: Some(Some(system)), ..SessionPatch::default() };
    stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
    for strategy in COUNTING {
        let skipped = stage.compact(asking(strategy)).await;
        assert_eq!(skipped.status, Status::Skipped);
        assert_eq!(skipped.result.unwrap().skip_reason, Some(Reason::FixedOverhead));
    }
}

#[tokio::test]
async fn an_open_call_finds_its_result_after_everything_else_went() {
    for strategy in COUNTING {
        let stage = Stage::set(settings(600)).await;
        stage.append(work(0..10)).await;
        stage.append(vec![calls(&["open_1", "open_2"]), result("open_1", "one"), user("hurry")]).await;
        done(&stage, strategy).await;
        stage.append(vec![result("open_2", "two")]).await;
        let context = stage.context().await;
        assert!(context.iter().any(|message| message.contains("open_2") && message.contains("two")), "{context:?}");
    }
}

#[tokio::test]
async fn summaries_of_harness_and_chat_keep_their_newest_messages() {
    for (preset, kept) in [("harness", 6), ("chat", 5)] {
        let stage = Stage::set(json!({"preset": preset, "enabled": false})).await;
        stage.talk(20).await;
        let before = stage.context().await;
        let done = stage.compact(CompactRequest::default()).await;
        assert_eq!(done.status, Status::Succeeded, "{preset}: {:?}", done.result);
        let context = stage.context().await;
        assert_eq!(context[context.len() - kept..], before[before.len() - kept..], "{preset}");
        assert_eq!(context.len(), 2 + kept, "{preset}: the first message, the summary and the newest");
    }
}

#[tokio::test]
async fn chat_compacts_where_its_policy_says() {
    for (policy, red_at) in
        [(None, 1.0), (Some("conservative"), 0.80), (Some("balanced"), 0.90), (Some("aggressive"), 0.95)]
    {
        let stage = Stage::set(json!({"preset": "chat", "policy": policy, "estimator": "pi"})).await;
        let mut last = 0.0;
        let mut due = false;
        while !due {
            let appended = stage.append(vec![user(&"x".repeat(400))]).await;
            due = appended.compaction.is_some();
            if !due {
                last = appended.snapshot.utilization;
            }
        }
        assert!((red_at - 0.013..=red_at).contains(&last), "{policy:?}: {last}");
        stage.work().await;
        assert_eq!(stage.snapshot().await.state, FillState::Green, "{policy:?}");
    }
}
