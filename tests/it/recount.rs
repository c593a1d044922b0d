//! Counting a session again: in stretches, beside appends and heartbeats, resumed where it was cut off, and always ended.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use contextd::domain::compaction::excess::ExcessReason;
use contextd::domain::model::format::Format;
use contextd::service::compaction::{Committed, CompactRequest, Compaction, Status, Trigger};
use contextd::service::core::error::Result;
use contextd::service::core::page::PageRequest;
use contextd::service::core::tenant::Tenant;
use contextd::service::path::entries::EntryQuery;
use contextd::service::rebuild::{Context, Rebuild};
use contextd::service::sessions::erasure::Erasure;
use contextd::service::sessions::{NewSession, SessionPatch};
use contextd::store::queue;
use serde_json::{Value, json};
use sqlx::{Postgres, Row, Transaction};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

use crate::patience::until;
use crate::queue_support::LEASE;
use crate::service_support::{Stage, assistant, calls, chat, result, user};

/// More than a stretch holds.
const TURNS: usize = 160;
/// For whatever must not hang.
const END: Duration = Duration::from_secs(120);

fn items(range: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |n: usize| {
        let id = format!("call_{n}");
        let said = format!("Übergabe {n}: look at src/module_{n}.rs, then 続けて。 {}", "word ".repeat(n % 7));
        [user(&said), calls(&[&id]), result(&id, &format!("line {n} ").repeat(30)), assistant(&said)]
    };
    range.flat_map(turn).collect()
}

async fn stage() -> Stage {
    let stage = Stage::set(json!({"enabled": false, "context_window": 200_000})).await;
    for from in (0..TURNS).step_by(40) {
        stage.append(items(from..from + 40)).await;
    }
    stage
}

async fn to_pi(stage: &Stage) {
    let settings = json!({"estimator": "pi"}).as_object().cloned();
    let patch = SessionPatch { settings, ..SessionPatch::default() };
    let patched = stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
    assert!(patched.snapshot.recounting);
}

async fn tokens(stage: &Stage, session: Uuid) -> Vec<(i64, i32, i64, i64)> {
    sqlx::query_as(
        "SELECT depth, tokens, path_tokens, path_result_tokens FROM entries
         WHERE session_id = $1 AND kind = 'message' ORDER BY seq",
    )
    .bind(session)
    .fetch_all(&stage.pool)
    .await
    .unwrap()
}

/// A session of the same items that was counted so from the beginning.
async fn counted_so(stage: &Stage, turns: usize) -> Uuid {
    let settings = json!({"estimator": "pi", "enabled": false, "context_window": 200_000});
    let new = NewSession { settings: settings.as_object().unwrap().clone(), ..NewSession::default() };
    let session = stage.service.create_session(stage.tenant, new).await.unwrap().id;
    for from in (0..turns).step_by(40) {
        stage.service.append(stage.tenant, session, chat(items(from..turns.min(from + 40)))).await.unwrap();
    }
    session
}

/// Works until no job is left.
async fn work_off(stage: &Stage) {
    let jobs = || async {
        let row = sqlx::query("SELECT count(*) FROM jobs WHERE status <> 'dead'").fetch_one(&stage.pool).await.unwrap();
        row.get::<i64, _>(0)
    };
    while jobs().await > 0 {
        sqlx::query("UPDATE jobs SET run_at = now()").execute(&stage.pool).await.unwrap();
        stage.work().await;
    }
}

/// A counting that is held up in the middle, behind its first stretch: somebody else has one of the entries.
async fn held_in_the_middle(
    stage: &Stage,
) -> (queue::Job, Transaction<'static, Postgres>, JoinHandle<Result<Committed>>) {
    let job = queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap().remove(0);
    let mut holder = stage.pool.begin().await.unwrap();
    let hold = "SELECT FROM entries WHERE session_id = $1 AND seq = 555 FOR UPDATE";
    sqlx::query(hold).bind(stage.session).execute(&mut *holder).await.unwrap();
    let (service, tenant, session, proof) = (stage.service.clone(), stage.tenant, stage.session, job.proof());
    let counting = tokio::spawn(async move { service.recount(tenant, session, proof).await });
    let noted = "SELECT count(*) FROM jobs WHERE progress IS NOT NULL";
    until("it counts in stretches", async || {
        sqlx::query_scalar::<_, i64>(noted).fetch_one(&stage.pool).await.unwrap() > 0
    })
    .await;
    (job, holder, counting)
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_and_heartbeats_go_on_while_a_session_is_counted_again() {
    let stage = stage().await;
    to_pi(&stage).await;
    let (job, holder, counting) = held_in_the_middle(&stage).await;
    timeout(END, stage.append(items(TURNS..TURNS + 1))).await.expect("an append does not wait");
    let renewed = timeout(END, queue::heartbeat(&stage.pool, &job, LEASE)).await.expect("nor does a heartbeat");
    assert!(renewed.unwrap());
    assert!(!counting.is_finished());
    holder.rollback().await.unwrap();
    counting.await.unwrap().unwrap();
    let snapshot = stage.snapshot().await;
    let fresh = counted_so(&stage, TURNS + 1).await;
    assert_eq!(tokens(&stage, stage.session).await, tokens(&stage, fresh).await);
    let other = stage.service.queries().snapshot(stage.tenant, fresh).await.unwrap();
    assert_eq!((snapshot.recounting, snapshot.tokens), (false, other.tokens));
    assert_eq!(snapshot.breakdown, other.breakdown);
    assert_eq!(stage.append(items(300..301)).await.snapshot.source, other.source);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counting_that_was_cut_off_goes_on_where_it_ended() {
    let stage = stage().await;
    to_pi(&stage).await;
    let (job, holder, counting) = held_in_the_middle(&stage).await;
    let noted =
        async || sqlx::query_scalar::<_, Option<String>>("SELECT progress FROM jobs").fetch_one(&stage.pool).await;
    counting.abort();
    let _ = counting.await;
    holder.rollback().await.unwrap();
    let first = noted().await.unwrap().unwrap();
    assert!(queue::release(&stage.pool, &job).await.unwrap());
    assert_eq!(noted().await.unwrap().unwrap(), first, "it is kept for the next attempt");
    // What was counted is not counted again: a wrong count there stays.
    sqlx::query("UPDATE entries SET tokens = 77 WHERE session_id = $1 AND seq = 3")
        .bind(stage.session)
        .execute(&stage.pool)
        .await
        .unwrap();
    work_off(&stage).await;
    assert!(!stage.snapshot().await.recounting);
    let fresh = tokens(&stage, counted_so(&stage, TURNS).await).await;
    let mut counted = tokens(&stage, stage.session).await;
    assert_eq!(counted[3].1, 77);
    counted[3].1 = fresh[3].1;
    assert_eq!(counted, fresh);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_died_ends_the_flag() {
    let stage = stage().await;
    to_pi(&stage).await;
    sqlx::query("UPDATE jobs SET status = 'dead'").execute(&stage.pool).await.unwrap();
    assert_eq!(stage.service.end_dead_recounts().await.unwrap(), 1);
    assert!(!stage.snapshot().await.recounting);
    assert_eq!(stage.service.end_dead_recounts().await.unwrap(), 0);
    stage.append(items(0..1)).await;
}

/// A message with a picture of this size, of which there is no more than its head.
fn picture(width: u32, height: u32) -> Value {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &size, &[8, 6, 0, 0, 0]].concat();
    let url = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png));
    json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]})
}

/// What the format says of pictures is no other count than what was appended had: the model's way goes before it.
#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_counted_again_as_the_model_counts_them() {
    let stage = Stage::set(json!({"enabled": false})).await;
    let looked_at = async |model: &str, estimator: &str| {
        let settings = json!({"enabled": false, "estimator": estimator}).as_object().unwrap().clone();
        let new = NewSession { settings, model: Some(model.to_owned()), ..NewSession::default() };
        let session = stage.service.create_session(stage.tenant, new).await.unwrap().id;
        let items = chat(vec![picture(3_840, 2_160), assistant("A board with four columns.")]);
        stage.service.append(stage.tenant, session, items).await.unwrap();
        session
    };
    // Chat's own way would make 1,105 of it.
    for (model, of_picture) in [("claude-opus-4-8", 4_784), ("claude-sonnet-4-6", 1_560)] {
        let (again, fresh) = (looked_at(model, "o200k").await, looked_at(model, "cl100k").await);
        let settings = json!({"estimator": "cl100k"}).as_object().cloned();
        let patch = SessionPatch { settings, ..SessionPatch::default() };
        let patched = stage.service.patch_session(stage.tenant, again, patch).await.unwrap();
        assert!(patched.snapshot.recounting);
        work_off(&stage).await;
        let counted = tokens(&stage, again).await;
        // Four are the message's.
        assert_eq!(counted[0].1, of_picture + 4, "{model}");
        assert_eq!(counted, tokens(&stage, fresh).await, "{model}");
    }
}

const WINDOW: u32 = 4_000;

/// A session larger than its window, which may be made to fit once it has been counted by another estimator.
async fn too_large() -> Stage {
    let stage = Stage::set(json!({"enabled": false, "context_window": WINDOW, "keep_recent_tokens": 500})).await;
    stage.talk(60).await;
    let settings = json!({"enabled": true, "estimator": "pi"}).as_object().cloned();
    let patch = SessionPatch { settings, ..SessionPatch::default() };
    let patched = stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
    assert!(patched.snapshot.recounting);
    stage
}

async fn rebuilt(stage: &Stage) -> Context {
    let rebuild = Rebuild::of_leaf(Format::OpenaiChat);
    stage.service.rebuild(stage.tenant, stage.session, rebuild).await.unwrap()
}

async fn compactions(stage: &Stage) -> Vec<Compaction> {
    let page = PageRequest { limit: 50, after: None };
    stage.service.compactions(stage.tenant, stage.session, page).await.unwrap().items
}

/// It is handed out as it is, with the reason.
async fn assert_handed_out_whole(stage: &Stage) {
    let leaf = stage.leaf().await;
    let context = rebuilt(stage).await;
    let excess = context.exceeds_window.as_ref().expect("nothing is said");
    assert_eq!(excess.reason, ExcessReason::Recounting);
    assert_eq!((excess.window, u64::from(WINDOW) + excess.over_by), (WINDOW, context.tokens));
    assert_eq!((context.leaf_id, context.messages.len()), (leaf, 120));
    assert!(compactions(stage).await.is_empty());
}

/// A rebuild makes it fit, once.
async fn assert_made_to_fit(stage: &Stage) {
    let leaf = stage.leaf().await;
    assert!(stage.snapshot().await.tokens > u64::from(WINDOW));
    let context = rebuilt(stage).await;
    assert!(context.tokens <= u64::from(WINDOW) && context.exceeds_window.is_none(), "{} tokens", context.tokens);
    assert_ne!(context.leaf_id, leaf);
    assert_eq!(context.leaf_id, stage.leaf().await);
    let made = compactions(stage).await;
    let told: Vec<_> = made.iter().map(|made| (made.trigger, made.status)).collect();
    assert_eq!(told, [(Trigger::Auto, Status::Succeeded)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_resort_works_again_when_the_counting_has_ended() {
    let stage = too_large().await;
    assert_handed_out_whole(&stage).await;
    // Under way, not only waiting.
    let job = queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap().remove(0);
    assert_handed_out_whole(&stage).await;
    stage.service.recount(stage.tenant, stage.session, job.proof()).await.unwrap();
    assert_made_to_fit(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_resort_works_again_when_the_counting_has_died() {
    let stage = too_large().await;
    sqlx::query("UPDATE jobs SET status = 'dead'").execute(&stage.pool).await.unwrap();
    // Dead, and nobody has looked yet.
    assert_handed_out_whole(&stage).await;
    assert_eq!(stage.service.end_dead_recounts().await.unwrap(), 1);
    assert_made_to_fit(&stage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compacted_session_and_forks_of_erased_forks_are_counted_again() {
    let stage = stage().await;
    let request = CompactRequest { force: true, ..CompactRequest::default() };
    assert!(stage.compact(request).await.result.is_some());
    stage.append(items(200..204)).await;
    let fork = stage.service.fork_session(stage.tenant, stage.session, None).await.unwrap().id;
    stage.service.append(stage.tenant, fork, chat(items(210..214))).await.unwrap();
    let second = stage.service.fork_session(stage.tenant, fork, None).await.unwrap().id;
    stage.service.append(stage.tenant, second, chat(items(220..224))).await.unwrap();
    Erasure::of(&stage.service).erase(stage.tenant, fork).await.unwrap();
    to_pi(&stage).await;
    work_off(&stage).await;
    assert!(!stage.snapshot().await.recounting);
    // Worked out from the whole path, the state of each is what it says.
    for session in [stage.session, second] {
        let before = stage.service.queries().snapshot(stage.tenant, session).await.unwrap();
        consistent(&stage, session).await;
        let leaf = stage.service.queries().session(stage.tenant, session).await.unwrap().leaf_id;
        let query = EntryQuery { leaf_id: leaf, all: false };
        let page = PageRequest { limit: 200, after: None };
        assert!(!stage.service.queries().entries(stage.tenant, session, query, page).await.unwrap().items.is_empty());
        let worked_out = worked_out(&stage, session).await;
        assert_eq!(before.tokens, worked_out, "{session}");
    }
}

/// Every entry's total is its parent's and its own.
async fn consistent(stage: &Stage, session: Uuid) {
    let wrong: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM entries e JOIN entries p ON p.tenant_id = e.tenant_id AND p.id = e.parent_id
         WHERE e.kind = 'message' AND e.path_tokens <> p.path_tokens + e.tokens",
    )
    .fetch_one(&stage.pool)
    .await
    .unwrap();
    assert_eq!(wrong, 0, "{session}");
}

/// The size of a fork at the leaf: its state is worked out from the path.
async fn worked_out(stage: &Stage, session: Uuid) -> u64 {
    let Tenant(_) = stage.tenant;
    stage.service.fork_session(stage.tenant, session, None).await.unwrap().snapshot.tokens
}
