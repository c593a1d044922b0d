//! The last resort: a context larger than the window is made to fit once, and is the same from then on.

use contextd::domain::compaction::result::Reason;
use contextd::domain::model::format::Format;
use contextd::service::compaction::{Compaction, Status};
use contextd::service::core::page::PageRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::ingest::append::Append;
use contextd::service::rebuild::{Context, Rebuild};
use contextd::service::sessions::SessionPatch;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::queue_support::jobs;
use crate::service_support::{Stage, chat, raw, user};

const FORMAT: Format = Format::OpenaiChat;

/// A stage on which nothing is compacted before [`enable`].
async fn stage() -> Stage {
    Stage::set(json!({"context_window": 4_000, "keep_recent_tokens": 500, "enabled": false})).await
}

async fn enable(stage: &Stage) {
    let settings = json!({"enabled": true}).as_object().cloned();
    let patch = SessionPatch { settings, ..SessionPatch::default() };
    stage.service.patch_session(stage.tenant, stage.session, patch).await.unwrap();
}

async fn rebuild(service: &Service, stage: &Stage, session: Uuid) -> Context {
    let rebuild = Rebuild::of_leaf(FORMAT);
    service.rebuild(stage.tenant, session, rebuild).await.unwrap()
}

async fn compactions(stage: &Stage, session: Uuid) -> Vec<Compaction> {
    let page = PageRequest { limit: 50, after: None };
    stage.service.compactions(stage.tenant, session, page).await.unwrap().items
}

/// Rebuilds twice more, once on an instance that knows nothing yet.
async fn assert_settled(stage: &Stage, session: Uuid, first: &Context) {
    let fresh = Service::new(stage.pool.clone(), Options::default());
    let ended = compactions(stage, session).await.len();
    for service in [&stage.service, &fresh] {
        let again = rebuild(service, stage, session).await;
        let messages = |context: &Context| serde_json::to_string(&context.messages).unwrap();
        assert_eq!((again.leaf_id, again.tokens), (first.leaf_id, first.tokens));
        assert_eq!(messages(&again), messages(first));
    }
    assert_eq!(compactions(stage, session).await.len(), ended);
    let left = jobs(&stage.pool, stage.tenant.0).await;
    assert!(left.is_empty(), "a job is left over: {left:?}");
}

#[tokio::test]
async fn a_full_context_is_made_to_fit_once() {
    let stage = stage().await;
    let leaf = stage.talk(60).await.leaf_id;
    enable(&stage).await;
    let first = rebuild(&stage.service, &stage, stage.session).await;
    assert!(first.leaf_id != leaf && first.tokens <= 4_000, "{} tokens", first.tokens);
    assert_settled(&stage, stage.session, &first).await;
    // At the same place a fork is as full as the session was, and is on its own.
    let fork = stage.service.fork_session(stage.tenant, stage.session, leaf).await.unwrap();
    let first = rebuild(&stage.service, &stage, fork.id).await;
    assert!(first.leaf_id != leaf && first.tokens <= 4_000, "{} tokens", first.tokens);
    assert_settled(&stage, fork.id, &first).await;
}

#[tokio::test]
async fn what_cannot_be_made_to_fit_is_tried_once_and_leaves_no_job() {
    let stage = stage().await;
    let leaf = stage.append(vec![user(&"look at the parser. ".repeat(1_500))]).await.leaf_id;
    enable(&stage).await;
    let first = rebuild(&stage.service, &stage, stage.session).await;
    assert!(first.leaf_id == leaf && first.tokens > 4_000, "{} tokens", first.tokens);
    let tried = compactions(&stage, stage.session).await;
    assert_eq!(tried.len(), 1);
    assert_eq!(tried[0].status, Status::Skipped);
    assert_eq!(tried[0].result.as_ref().unwrap().skip_reason, Some(Reason::NothingToCompact));
    assert_settled(&stage, stage.session, &first).await;
}

#[tokio::test]
async fn a_branch_item_behind_the_leaf_does_not_start_it_again() {
    let stage = stage().await;
    let pi = |id: &str, parent: Option<&str>, text: &str| -> Value {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
               "message": {"role": "user", "content": text, "timestamp": 1}})
    };
    let append = async |item: Value| {
        let append = Append { format: Format::Pi, items: raw(vec![item]), ..chat(Vec::new()) };
        stage.try_append(append).await.unwrap()
    };
    append(pi("a0000001", None, &"look at the parser. ".repeat(1_500))).await;
    enable(&stage).await;
    rebuild(&stage.service, &stage, stage.session).await;
    let tried = compactions(&stage, stage.session).await.len();
    append(pi("a0000002", Some("a0000001"), "go on")).await;
    stage.work().await;
    let next = rebuild(&stage.service, &stage, stage.session).await;
    assert_eq!(compactions(&stage, stage.session).await.len(), tried, "{} tokens", next.tokens);
    assert_settled(&stage, stage.session, &next).await;
}
