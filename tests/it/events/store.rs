//! What the streams rest on: positions that no late commit falls behind, and events that are not kept for ever.

use std::time::Duration;

use contextd::service::compaction::CompactRequest;
use contextd::service::events::{Events, StreamEvent, record_chapter_request};
use contextd::store::events::{self, NewEvent};
use contextd::store::queue;
use sqlx::PgPool;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::patience::PATIENCE;
use crate::pg::database;
use crate::queue_support::{LEASE, session, tenant};
use crate::service_support::*;

const KEEP: Duration = Duration::from_secs(3600);

fn event(session_id: Uuid, data: &str) -> NewEvent<'_> {
    NewEvent { session_id, kind: "chapter.requested", data }
}

async fn read(pool: &PgPool, tenant: Uuid, after: i64) -> Vec<(i64, String)> {
    events::place(pool, tenant).await.unwrap();
    let rows = events::page(pool, tenant, None, after, 1_000).await.unwrap();
    rows.into_iter().map(|row| (row.position, row.data)).collect()
}

#[tokio::test]
async fn an_event_that_commits_late_is_not_skipped() {
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let session = session(&pool, tenant).await;
    let mut late = pool.begin().await.unwrap();
    events::record(&mut *late, tenant, &event(session, "\"late\"")).await.unwrap();
    events::record(&pool, tenant, &event(session, "\"early\"")).await.unwrap();
    assert_eq!(read(&pool, tenant, 0).await, [(1, "\"early\"".to_owned())]);
    late.commit().await.unwrap();
    assert_eq!(read(&pool, tenant, 1).await, [(2, "\"late\"".to_owned())]);
    let mut never = pool.begin().await.unwrap();
    events::record(&mut *never, tenant, &event(session, "\"never\"")).await.unwrap();
    never.rollback().await.unwrap();
    assert_eq!(read(&pool, tenant, 2).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_and_writers_at_once_agree_on_one_order() {
    const WRITERS: usize = 4;
    const EACH: usize = 60;
    let pool = database().await;
    let tenant = tenant(&pool).await;
    let session = session(&pool, tenant).await;
    let write = async |writer: usize| {
        for n in 0..EACH {
            let mut transaction = pool.begin().await.unwrap();
            events::record(&mut *transaction, tenant, &event(session, &format!("[{writer},{n}]"))).await.unwrap();
            // Some stay open for longer than it takes others to come and go.
            tokio::time::sleep(Duration::from_millis((writer * 3) as u64)).await;
            transaction.commit().await.unwrap();
        }
    };
    let follow = async || {
        let mut seen: Vec<(i64, String)> = Vec::new();
        while seen.len() < WRITERS * EACH {
            let more = read(&pool, tenant, seen.last().map_or(0, |(position, _)| *position)).await;
            seen.extend(more);
        }
        seen
    };
    let writers = futures::future::join_all((0..WRITERS).map(write));
    let (_, one, other) = tokio::join!(writers, follow(), follow());
    assert_eq!(one, other);
    assert!(one.iter().map(|(position, _)| *position).eq(1..=(WRITERS * EACH) as i64));
    for writer in 0..WRITERS {
        let own: Vec<&str> =
            one.iter().map(|(_, data)| data.as_str()).filter(|data| data.starts_with(&format!("[{writer},"))).collect();
        assert_eq!(own, (0..EACH).map(|n| format!("[{writer},{n}]")).collect::<Vec<_>>(), "a writer's own order");
    }
}

/// The first event of a stream that goes on after this one.
async fn first(stage: &Stage, session: Option<Uuid>, after: i64) -> StreamEvent {
    let mut stream = Events::of(&stage.service).stream(stage.tenant, session, Some(after)).await.unwrap();
    timeout(PATIENCE, stream.next()).await.expect("an event at once").unwrap()
}

async fn grow_old(stage: &Stage) {
    let old = "UPDATE events SET created_at = created_at - interval '1 day'";
    sqlx::query(old).execute(&stage.pool).await.unwrap();
}

#[tokio::test]
async fn who_missed_what_is_no_longer_kept_is_told_so() {
    let stage = Stage::set(crate::drill_support::by_hand()).await;
    let at = async || events::place(&stage.pool, stage.tenant.0).await.unwrap().last_position;
    stage.talk(60).await;
    let before = at().await;
    stage.compact(CompactRequest::default()).await;
    let seen = at().await;
    assert_eq!(seen, before + 5);
    grow_old(&stage).await;
    assert_eq!(Events::of(&stage.service).purge(2 * 24 * KEEP).await.unwrap(), 0);
    assert!(Events::of(&stage.service).purge(KEEP).await.unwrap() >= 5);
    for session in [Some(stage.session), None] {
        let reset = first(&stage, session, seen - 1).await;
        assert_eq!((reset.kind.as_str(), reset.id), ("reset", Some(seen)));
        assert!(reset.data.contains("expired"), "{}", reset.data);
        assert_eq!(reset.data.contains("\"utilization\""), session.is_some(), "{}", reset.data);
    }
    // Who has seen all that is gone has missed nothing.
    let present = first(&stage, Some(stage.session), seen).await;
    assert_eq!((present.kind.as_str(), present.id), ("snapshot", None));
    // The same where nobody had read what is gone, so that it never had a position.
    stage.compact(CompactRequest::default()).await;
    grow_old(&stage).await;
    let gone = Events::of(&stage.service).purge(KEEP).await.unwrap();
    assert!(gone > 0);
    let reset = first(&stage, None, seen).await;
    assert_eq!((reset.kind.as_str(), reset.id), ("reset", Some(seen + gone as i64)));
}

#[tokio::test]
async fn every_attempt_of_a_compaction_is_told_and_its_death() {
    let stage = Stage::set(crate::drill_support::by_hand()).await;
    let from = events::place(&stage.pool, stage.tenant.0).await.unwrap().last_position;
    let attempts = stage.service.options().max_attempts;
    stage.service.compact(stage.tenant, stage.session, CompactRequest::default(), None).await.unwrap();
    for attempt in 1..=attempts {
        let job = queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap().remove(0);
        if attempt == 1 {
            assert!(queue::release(&stage.pool, &job).await.unwrap());
            let job = queue::claim(&stage.pool, 1, LEASE, Uuid::nil()).await.unwrap().remove(0);
            queue::retry(&stage.pool, &job, "it broke", Duration::ZERO).await.unwrap();
        } else {
            queue::retry(&stage.pool, &job, "it broke", Duration::ZERO).await.unwrap();
        }
    }
    events::place(&stage.pool, stage.tenant.0).await.unwrap();
    let rows = events::page(&stage.pool, stage.tenant.0, Some(stage.session), from, 100).await.unwrap();
    let kinds: Vec<&str> = rows.iter().map(|row| row.kind.strip_prefix("compaction.").unwrap()).collect();
    let mut told = ["queued", "started"].repeat(attempts as usize + 1);
    told.push("failed");
    assert_eq!(kinds, told);
    let last: serde_json::Value = serde_json::from_str(&rows.last().unwrap().data).unwrap();
    assert_eq!((&last["error"], &last["attempts"]), (&"it broke".into(), &attempts.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chapter_request_is_streamed_when_its_transaction_commits() {
    let stage = Stage::set(crate::drill_support::by_hand()).await;
    let stop = CancellationToken::new();
    let follower = tokio::spawn(Events::of(&stage.service).follow(stop.clone()));
    let mut stream = Events::of(&stage.service).stream(stage.tenant, Some(stage.session), None).await.unwrap();
    assert_eq!(stream.next().await.unwrap().kind, "snapshot");
    let snapshot = stage.snapshot().await;
    let mut transaction = stage.pool.begin().await.unwrap();
    record_chapter_request(&mut transaction, stage.tenant, stage.session, &snapshot).await.unwrap();
    transaction.commit().await.unwrap();
    let asked = timeout(PATIENCE, stream.next()).await.unwrap().unwrap();
    assert_eq!((asked.kind.as_str(), asked.id), ("chapter.requested", Some(1)));
    assert!(asked.data.contains("\"chapter_task\""), "{}", asked.data);
    stop.cancel();
    follower.await.unwrap();
    assert_eq!(stream.next().await, None, "a stream ends with the service");
}
