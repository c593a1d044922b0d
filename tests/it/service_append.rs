//! Appends beside the common case: kept heads that are old, moved leaves, other parents.

use contextd::domain::model::format::Format;
use contextd::service::compaction::CompactRequest;
use contextd::service::core::error::ServiceError;
use contextd::service::core::state::{Options, Service};
use contextd::service::ingest::append::Append;
use contextd::service::navigation::Navigate;
use serde_json::json;

use crate::service_support::{Stage, assistant, calls, chat, raw, result, user};

#[tokio::test]
async fn the_expected_leaf_is_compared_with_the_stored_one() {
    let stage = Stage::set(json!({"context_window": 8_000, "keep_recent_tokens": 200})).await;
    stage.talk(20).await;
    stage.compact(CompactRequest::default()).await;
    let leaf = stage.leaf().await;
    let next = Append { expected_leaf_id: Some(leaf), ..chat(vec![user("go on")]) };
    let appended = stage.try_append(next).await.expect("the compaction's entry is the leaf");

    let other = Service::new(stage.pool.clone(), Options::default());
    let theirs = other.append(stage.tenant, stage.session, chat(vec![user("from elsewhere")])).await.unwrap();
    let stale = Append { expected_leaf_id: Some(appended.leaf_id), ..chat(vec![user("too late")]) };
    assert!(matches!(stage.try_append(stale).await, Err(ServiceError::LeafMoved { .. })));
    let fresh = Append { expected_leaf_id: Some(theirs.leaf_id), ..chat(vec![user("in time")]) };
    stage.try_append(fresh).await.expect("another process moved the leaf");
}

#[tokio::test]
async fn an_append_of_nothing_moves_nothing() {
    let stage = Stage::set(json!({})).await;
    let first = stage.append(vec![user("a"), assistant("b"), user("c")]).await;
    let middle = first.entries[1].id;
    let nothing = Append { parent_id: Some(middle), ..chat(Vec::new()) };
    assert_eq!(stage.try_append(nothing.clone()).await.unwrap().leaf_id, first.leaf_id);
    stage.append(vec![assistant("d")]).await;

    stage
        .service
        .navigate(stage.tenant, stage.session, Navigate { target_id: Some(middle), ..Navigate::default() })
        .await
        .unwrap();
    stage.try_append(nothing).await.unwrap();
    let branched = stage.append(vec![user("e")]).await;
    let entry = stage.service.queries().entry(stage.tenant, stage.session, branched.entries[0].id).await.unwrap();
    assert_eq!(entry.parent_id, Some(middle));
}

#[tokio::test]
async fn results_under_another_parent_find_their_calls() {
    let stage = Stage::set(json!({})).await;
    let first = stage.append(vec![user("a"), calls(&["one", "two"]), user("never mind")]).await;
    let results = vec![result("one", "1"), result("two", "2"), result("three", "3")];
    let under = Append { parent_id: Some(first.entries[1].id), ..chat(results) };
    let warnings = stage.try_append(under).await.unwrap().warnings;
    assert_eq!(warnings.iter().map(|warning| warning.pointer.as_str()).collect::<Vec<_>>(), ["/items/2"]);
}

#[tokio::test]
async fn usage_of_nothing_says_nothing() {
    let stage = Stage::set(json!({})).await;
    let usage = Some(json!({"input_tokens": 0, "output_tokens": 0}));
    let appended = stage.try_append(Append { usage, ..chat(vec![user("a"), assistant("b")]) }).await.unwrap();
    assert!(appended.snapshot.tokens > 0);
}

#[tokio::test]
async fn a_compaction_that_had_nothing_to_do_is_not_tried_again_by_the_next_tree_append() {
    let settings = json!({"context_window": 8_000, "reserve_tokens": 1_000, "keep_recent_tokens": 100_000});
    let stage = Stage::set(settings).await;
    let full = stage.append(vec![user(&"many words ".repeat(4_000))]).await;
    assert!(full.compaction.is_some());
    stage.work().await;
    let pi = |id: &str, parent: Option<&str>| {
        let message = json!({"role": "user", "content": "more"});
        let item = json!({"type": "message", "id": id, "parentId": parent, "message": message});
        Append { format: Format::Pi, items: raw(vec![item]), ..chat(Vec::new()) }
    };
    let chained = json!({"type": "message", "id": "a1", "message": {"role": "user", "content": "more"}});
    let linked = Append { format: Format::Pi, items: raw(vec![chained]), ..chat(Vec::new()) };
    assert!(stage.try_append(linked).await.unwrap().compaction.is_none());
    assert!(stage.try_append(pi("a2", Some("a1"))).await.unwrap().compaction.is_none());
}

#[tokio::test]
async fn after_a_compaction_died_in_the_queue_the_next_one_waits() {
    let stage = Stage::set(json!({"context_window": 8_000, "reserve_tokens": 1_000, "keep_recent_tokens": 200})).await;
    let started = stage.talk(60).await.compaction.expect("it is red");
    let die = "UPDATE compactions SET status = 'failed', attempts = 5, finished_at = now() - make_interval(secs => $2)
               WHERE id = $1";
    sqlx::query("DELETE FROM jobs").execute(&stage.pool).await.unwrap();
    sqlx::query(die).bind(started.id).bind(1.0).execute(&stage.pool).await.unwrap();
    assert!(stage.append(vec![user("at once")]).await.compaction.is_none());
    sqlx::query(die).bind(started.id).bind(100.0).execute(&stage.pool).await.unwrap();
    assert!(stage.append(vec![user("later")]).await.compaction.is_some());
}
