//! What `prepare` says of a compaction, and what the compaction then is.

use contextd::domain::compaction::result::{CompactionResult, Reason};
use contextd::domain::model::strategy::Strategy;
use contextd::service::compaction::prepare::{Estimate, PrepareRequest, Prepared};
use contextd::service::compaction::{CompactRequest, Status};
use contextd::service::sessions::SessionPatch;
use serde_json::{Value, json};

use super::recipes::{turns, words};
use super::recorded;
use crate::corpus::{Recording, of};
use crate::data::Source;
use crate::service_support::{Stage, assistant, calls, chat, raw, result, user};

/// Forecasts may be off by this many percent.
const WITHIN: u64 = 25;

const STRATEGIES: [&str; 8] = ["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"];

async fn prepare(stage: &Stage, settings: Value) -> Prepared {
    let settings = settings.as_object().unwrap().clone();
    let request = PrepareRequest { settings, ..PrepareRequest::default() };
    stage.service.prepare(stage.tenant, stage.session, request).await.unwrap()
}

/// What was foreseen of a compaction, and what came.
struct Figures {
    foreseen: Estimate,
    came: CompactionResult,
}

/// Prepares and compacts by a strategy, and takes it back.
async fn compare(stage: &Stage, strategy: &str) -> Option<Figures> {
    let prepared = prepare(stage, json!({"strategy": strategy})).await;
    let strategy: Strategy = serde_json::from_value(json!(strategy)).unwrap();
    let request = CompactRequest { strategy: Some(strategy), ..CompactRequest::default() };
    let done = stage.compact(request).await;
    let result = done.result.clone().unwrap();
    if done.status != Status::Succeeded {
        let would_grow = result.skip_reason == Some(Reason::WouldGrow);
        assert!(prepared.reason == result.skip_reason || would_grow, "{strategy:?}: {:?} {result:?}", prepared.reason);
        return None;
    }
    assert!(prepared.possible, "{strategy:?}: {:?}, though it was done", prepared.reason);
    stage.service.revert_compaction(stage.tenant, done.id).await.unwrap();
    Some(Figures { foreseen: prepared.preparation.unwrap().estimate, came: result })
}

fn assert_near(name: &str, strategy: &str, Figures { foreseen, came }: Figures) {
    let (net, net_came) = (&foreseen.net, &came.net);
    for (what, foreseen, came) in [
        ("tokens after", foreseen.tokens_after, came.tokens_after),
        ("tokens shed", net.tokens_shed_per_turn, net_came.tokens_shed_per_turn),
        ("tokens rewritten", net.tokens_rewritten, net_came.tokens_rewritten),
    ] {
        let off = foreseen.abs_diff(came);
        assert!(off * 100 <= came * WITHIN, "{name}, {strategy}: {foreseen} {what} foreseen, {came} came");
    }
}

/// Results of every size between talk.
fn work(rounds: usize) -> Vec<Value> {
    let round = |at: usize| {
        let id = format!("c{at}");
        let output = words(&format!("o{at}x"), 40 + at * 37 % 500);
        [user(&format!("step {at}")), calls(&[&id]), result(&id, &output), assistant(&words(&format!("a{at}x"), 120))]
    };
    (0..rounds).flat_map(round).collect()
}

#[tokio::test]
async fn a_forecast_is_of_the_strategy_asked_for() {
    let stage = Stage::set(json!({"context_window": 16_000, "enabled": false})).await;
    stage.append(work(28)).await;
    for strategy in STRATEGIES {
        let figures = compare(&stage, strategy).await.unwrap();
        assert_near("work", strategy, figures);
    }
}

#[tokio::test]
async fn forecasts_of_made_up_sessions_come_near() {
    come_near(of(Source::Own).iter().filter(|one| one.items.len() > 60).step_by(3)).await;
}

#[tokio::test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
async fn forecasts_of_recorded_sessions_come_near() {
    come_near(recorded().iter().step_by(11)).await;
}

async fn come_near(recordings: impl Iterator<Item = &Recording>) {
    for recording in recordings {
        let stage = Stage::set(json!({"context_window": 16_000, "keep_recent_tokens": 1_000, "enabled": false})).await;
        let format = serde_json::from_value(json!(recording.format)).unwrap();
        for items in recording.items[..recording.items.len().min(120)].chunks(100) {
            let append =
                contextd::service::ingest::append::Append { format, items: raw(items.to_vec()), ..chat(Vec::new()) };
            stage.try_append(append).await.unwrap();
        }
        for strategy in STRATEGIES {
            if let Some(figures) = compare(&stage, strategy).await {
                assert_near(&recording.name, strategy, figures);
            }
        }
    }
}

#[tokio::test]
async fn a_session_that_does_not_compact_by_itself_says_what_a_call_would_do() {
    let stage = Stage::set(json!({"context_window": 8_000, "enabled": false})).await;
    let empty = prepare(&stage, json!({})).await;
    assert_eq!((empty.possible, empty.reason, empty.enabled), (false, Some(Reason::EmptySession), false));
    stage.append(turns(0, 8, 500)).await;
    let prepared = prepare(&stage, json!({})).await;
    assert_eq!((prepared.possible, prepared.reason, prepared.enabled), (true, None, false));
    let system = json!("Always be kind to the parser. ".repeat(6_000));
    let system = serde_json::value::to_raw_value(&system).unwrap();
    let patch = SessionPatch { system: Some(Some(system)), ..SessionPatch::default() };
    stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
    assert_eq!(prepare(&stage, json!({})).await.reason, Some(Reason::FixedOverhead));
}

#[tokio::test]
async fn should_compact_is_false_where_nothing_could_be_done() {
    let stage = Stage::set(json!({"context_window": 8_000, "keep_recent_tokens": 6_500})).await;
    let red = stage.append(vec![user(&words("u", 5_500))]).await;
    stage.work().await;
    assert!(red.snapshot.should_compact, "nobody has looked yet");
    assert!(!stage.snapshot().await.should_compact, "there is nothing to summarise");
    // What was just compacted fits, and is not compacted again.
    let stage = Stage::set(json!({"context_window": 8_000, "keep_recent_tokens": 4_500})).await;
    stage.append(turns(0, 14, 500)).await;
    stage.work().await;
    let snapshot = stage.snapshot().await;
    assert!(!snapshot.should_compact, "{snapshot:?}");
}

/// Pruning leaves the one result that overfills the context as much as there is room for.
#[tokio::test]
async fn the_one_result_that_overfills_is_cut_to_the_room_there_is() {
    let stage = Stage::set(json!({"context_window": 8_000, "strategy": "prune", "preserve_recent": 2})).await;
    stage.append(vec![user("read it"), calls(&["big"]), result("big", &words("z", 9_000))]).await;
    stage.append(vec![assistant(&words("y", 900)), user("and?"), assistant("so")]).await;
    stage.work().await;
    let snapshot = stage.snapshot().await;
    assert!((3_400..=4_500).contains(&snapshot.tokens), "{} tokens of 6,000", snapshot.tokens);
}

/// Reported usage holds again for the view that a revert brings back.
#[tokio::test]
async fn a_revert_brings_the_reported_usage_back() {
    let stage = Stage::set(json!({"context_window": 60_000, "keep_recent_tokens": 300})).await;
    stage.talk(8).await;
    let usage = Some(json!({"prompt_tokens": 19_000, "completion_tokens": 461}));
    let answer = contextd::service::ingest::append::Append { usage, ..chat(vec![user("go"), assistant("gone")]) };
    stage.try_append(answer).await.unwrap();
    stage.append(vec![user("more")]).await;
    let before = stage.snapshot().await;
    for again in 0..2 {
        let done = stage.compact(CompactRequest::default()).await;
        assert!(stage.snapshot().await.tokens < before.tokens);
        stage.service.revert_compaction(stage.tenant, done.id).await.unwrap();
        let after = stage.snapshot().await;
        assert_eq!((after.tokens, after.source), (before.tokens, before.source), "revert {again}");
    }
    let fork = stage.service.fork_session(stage.tenant, stage.session, None).await.unwrap();
    assert_eq!(fork.snapshot.tokens, before.tokens);
}
