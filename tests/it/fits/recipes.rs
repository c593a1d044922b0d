//! Single cases of contexts that did not fit.

use contextd::domain::compaction::excess::ExcessReason;
use contextd::domain::model::format::Format;
use contextd::domain::settings::Estimator;
use contextd::domain::tokens::count_text;
use contextd::service::compaction::{CompactRequest, Compaction, Status, Trigger};
use contextd::service::core::page::PageRequest;
use contextd::service::rebuild::{Context, Rebuild};
use contextd::service::sessions::SessionPatch;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::patience::until;
use crate::service_support::{Stage, assistant, calls, result, user};

async fn rebuild(stage: &Stage) -> Context {
    rebuild_at(stage, None).await
}

async fn rebuild_at(stage: &Stage, leaf_id: Option<Uuid>) -> Context {
    let rebuild = Rebuild { leaf_id, ..Rebuild::of_leaf(Format::OpenaiChat) };
    stage.service.rebuild(stage.tenant, stage.session, rebuild).await.unwrap()
}

async fn compactions(stage: &Stage) -> Vec<Compaction> {
    let page = PageRequest { limit: 200, after: None };
    stage.service.compactions(stage.tenant, stage.session, page).await.unwrap().items
}

async fn set(stage: &Stage, settings: Value) {
    let patch = SessionPatch { settings: settings.as_object().cloned(), ..SessionPatch::default() };
    stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
}

/// As many tokens that are said nowhere else.
pub fn words(seed: &str, tokens: usize) -> String {
    let some = |count: usize| (0..count).map(|at| format!("{seed}{at} ")).collect::<String>();
    let counted = count_text(Estimator::O200k, &some(tokens)) as usize;
    some(tokens * tokens / counted.max(1))
}

pub fn turns(from: usize, count: usize, answer: usize) -> Vec<Value> {
    let turn = |at: usize| [user(&format!("go on, {at}")), assistant(&words(&format!("a{at}x"), answer))];
    (from..from + count).flat_map(turn).collect()
}

/// A burst behind a compaction that was prepared ahead: the candidate lands, and is not enough.
#[tokio::test]
async fn a_burst_behind_a_candidate_fits() {
    for window in [8_000_u32, 64_000, 128_000] {
        let share = window as usize / 8_000;
        let settings =
            json!({"context_window": window, "reserve_tokens": window / 8, "keep_recent_tokens": window / 8});
        let stage = Stage::set(settings).await;
        stage.append(turns(0, 6, 860 * share)).await;
        let mut said = 6;
        while compactions(&stage).await.is_empty() {
            stage.append(turns(said, 1, 100 * share)).await;
            said += 1;
        }
        stage.work().await;
        let ready = compactions(&stage).await;
        assert!(ready.len() == 1 && ready[0].trigger == Trigger::Ahead && ready[0].prepared, "{window}: {ready:?}");
        stage.append(turns(said, 8, 1_300 * share)).await;
        let first = rebuild(&stage).await;
        let landed = stage.service.compaction(stage.tenant, ready[0].id).await.unwrap();
        assert_eq!(landed.status, Status::Succeeded, "{window}");
        // Again, when whatever was queued is done.
        stage.work().await;
        let again = rebuild(&stage).await;
        for context in [&first, &again] {
            assert!(context.tokens <= u64::from(window), "{} of {window}", context.tokens);
            assert!(context.exceeds_window.is_none());
        }
        assert_eq!((again.leaf_id, again.tokens), (first.leaf_id, first.tokens), "{window}");
    }
}

/// Compacting by masking or pruning alone has nothing left to do, and the context goes on growing.
#[tokio::test]
async fn masking_and_pruning_fit_too() {
    for strategy in ["mask", "prune"] {
        let stage = Stage::set(json!({"context_window": 24_000, "strategy": strategy})).await;
        for round in 0..12 {
            let id = format!("c{round}");
            stage.append(vec![user("go on"), calls(&[&id]), result(&id, &words("r", 300))]).await;
            stage.append(turns(round, 1, 2_500)).await;
            stage.work().await;
            let context = rebuild(&stage).await;
            assert!(context.tokens <= 24_000, "{strategy}, round {round}: {}", context.tokens);
        }
    }
}

#[tokio::test]
async fn long_arguments_that_nothing_shortens_fit() {
    let stage = Stage::set(json!({"context_window": 8_000, "reserve_tokens": 1_000})).await;
    for round in 0..5 {
        let id = format!("c{round}");
        let list: Vec<String> = (0..1_075).map(|at| format!("{at}")).collect();
        let arguments = json!({ "rows": list }).to_string();
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "insert", "arguments": arguments}}]});
        stage.append(vec![user("insert them"), call, result(&id, "done")]).await;
        let context = rebuild(&stage).await;
        assert!(context.tokens <= 8_000, "round {round}: {}", context.tokens);
    }
}

#[tokio::test]
async fn the_newest_compaction_does_not_keep_the_next_away() {
    let stage = Stage::set(json!({"context_window": 8_000, "enabled": false, "keep_recent_tokens": 20_000})).await;
    stage.append(turns(0, 20, 1_300)).await;
    let given = CompactRequest { summary: Some("## Goal\n- go on".to_owned()), ..CompactRequest::default() };
    // All but the newest 20,000 tokens: the context is far above the window, and its newest entry is a compaction.
    assert_eq!(stage.compact(given).await.status, Status::Succeeded);
    set(&stage, json!({"enabled": true})).await;
    let context = rebuild(&stage).await;
    assert!(context.tokens <= 8_000, "{}", context.tokens);
}

#[tokio::test]
async fn what_can_not_fit_is_named() {
    let stage = Stage::set(json!({"context_window": 8_000})).await;
    stage.append(turns(0, 3, 500)).await;
    stage.append(vec![user(&words("u", 9_000))]).await;
    let context = rebuild(&stage).await;
    let excess = context.exceeds_window.unwrap();
    assert_eq!(excess.reason, ExcessReason::FixedOverhead);
    assert!(excess.fixed.newest > 8_000, "{excess:?}");
    // As soon as it is the newest no more, it can go.
    stage.append(vec![assistant("I read it.")]).await;
    let context = rebuild(&stage).await;
    assert!(context.tokens <= 8_000, "{} tokens, {:?}", context.tokens, context.exceeds_window);
}

#[tokio::test]
async fn who_does_not_want_it_is_told_so() {
    let stage = Stage::set(json!({"context_window": 8_000, "enabled": false})).await;
    stage.append(turns(0, 20, 1_300)).await;
    let excess = rebuild(&stage).await.exceeds_window.unwrap();
    assert_eq!(excess.reason, ExcessReason::Disabled);
}

/// Asserts that a context is above its window, and why.
fn assert_exceeds(context: &Context, reason: ExcessReason, word: &str) {
    let excess = context.exceeds_window.as_ref().unwrap_or_else(|| panic!("{word}: {} tokens fit", context.tokens));
    assert_eq!((excess.reason, serde_json::to_value(excess.reason).unwrap()), (reason, json!(word)));
    assert_eq!((excess.window, u64::from(excess.window) + excess.over_by), (8_000, context.tokens), "{word}");
}

fn assert_fits(context: &Context, what: &str) {
    assert!(context.tokens <= 8_000 && context.exceeds_window.is_none(), "{what}: {} tokens", context.tokens);
}

#[tokio::test]
async fn who_takes_no_summary_but_the_upstreams_is_told_so() {
    let stage = Stage::set(json!({"context_window": 8_000, "on_upstream_failure": "fail"})).await;
    stage.append(turns(0, 20, 1_300)).await;
    assert_exceeds(&rebuild(&stage).await, ExcessReason::UpstreamRequired, "upstream_required");
    set(&stage, json!({"on_upstream_failure": "fallback"})).await;
    assert_fits(&rebuild(&stage).await, "with the built-in summariser allowed");
}

#[tokio::test]
async fn a_session_that_is_being_counted_again_is_said_to_be_and_fits_afterwards() {
    let stage = Stage::set(json!({"context_window": 8_000, "enabled": false})).await;
    stage.append(turns(0, 20, 1_300)).await;
    set(&stage, json!({"estimator": "pi", "enabled": true})).await;
    assert_exceeds(&rebuild(&stage).await, ExcessReason::Recounting, "recounting");
    until("it is counted again", async || {
        stage.work().await;
        !stage.snapshot().await.recounting
    })
    .await;
    assert_fits(&rebuild(&stage).await, "counted again");
}

#[tokio::test]
async fn what_was_just_taken_back_is_not_done_again() {
    let stage = Stage::set(json!({"context_window": 8_000, "enabled": false, "keep_recent_tokens": 2_000})).await;
    stage.append(turns(0, 20, 1_300)).await;
    let done = stage.compact(CompactRequest::default()).await;
    assert_eq!(done.status, Status::Succeeded, "{done:?}");
    set(&stage, json!({"enabled": true})).await;
    assert_fits(&rebuild(&stage).await, "compacted");
    stage.service.revert_compaction(stage.tenant, done.id).await.unwrap();
    assert_exceeds(&rebuild(&stage).await, ExcessReason::Reverted, "reverted");
    stage.append(vec![user("and now?")]).await;
    assert_fits(&rebuild(&stage).await, "with a further message");
}

#[tokio::test]
async fn nothing_is_compacted_at_another_entry_than_the_leaf() {
    let stage = Stage::set(json!({"context_window": 8_000})).await;
    let leaf = stage.append(turns(0, 20, 1_300)).await.leaf_id;
    assert_fits(&rebuild(&stage).await, "the leaf");
    let compacted = compactions(&stage).await.len();
    assert_exceeds(&rebuild_at(&stage, leaf).await, ExcessReason::NotTheLeaf, "not_the_leaf");
    assert_eq!(compactions(&stage).await.len(), compacted);
}

/// Thirty turns with instructions in the middle of each: not all of them can stay.
#[tokio::test]
async fn instructions_in_mid_conversation_do_not_pile_up() {
    let stage = Stage::set(json!({"context_window": 8_000})).await;
    for turn in 0..30 {
        let system =
            json!({"role": "system", "content": format!("Notice {turn}: {}", words(&format!("s{turn}x"), 800))});
        stage.append(vec![user(&format!("turn {turn}")), system, assistant(&format!("done {turn}"))]).await;
        stage.work().await;
        let context = rebuild(&stage).await;
        assert!(context.tokens <= 8_000, "turn {turn}: {}", context.tokens);
    }
    let context = stage.context().await;
    assert!(context.iter().any(|message| message.contains("Notice 29")), "the newest stays");
    assert!(context.iter().filter(|message| message.contains("\"system\"")).count() < 12);
    let summary = context.iter().find(|message| message.contains("context-summary")).unwrap();
    assert!(summary.contains("Notice "), "what was left out is told: {summary}");
    let ended = compactions(&stage).await;
    let useless = ended
        .iter()
        .filter_map(|one| one.result.as_ref())
        .filter(|result| result.skip_reason.is_none() && result.savings_pct < 2.0);
    assert_eq!(useless.count(), 0);
}

#[tokio::test]
async fn leading_instructions_and_the_newest_of_a_kind_stay() {
    let stage = Stage::set(json!({"context_window": 8_000, "keep_recent_tokens": 500})).await;
    let system = |text: String| json!({"role": "system", "content": text});
    stage.append(vec![system("You are a careful agent.".to_owned()), user("Begin.")]).await;
    stage.append(vec![system("Answer in French from now on.".to_owned()), assistant("Oui.")]).await;
    for turn in 0..30 {
        let environment =
            format!("<environment>\ncwd=/work/{turn} {}\n</environment>", words(&format!("e{turn}x"), 300));
        stage.append(vec![user("go on"), system(environment), assistant(&words(&format!("a{turn}x"), 150))]).await;
        stage.work().await;
        rebuild(&stage).await;
    }
    let context = stage.context().await;
    assert!(context[0].contains("careful agent"));
    assert!(context.iter().any(|message| message.contains("Answer in French") && message.contains("\"system\"")));
    assert!(context.iter().any(|message| message.contains("cwd=/work/29")));
    assert!(!context.iter().any(|message| message.contains("\"system\"") && message.contains("cwd=/work/3 ")));
}
