//! Sessions whose rows somebody else holds, and appends that lose their races.

use std::sync::Arc;

use contextd::domain::model::format::Format;
use contextd::service::core::idempotency::{Keyed, under};
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::ingest::transcript::PutTranscript;
use contextd::service::sessions::NewSession;
use futures::future::join_all;
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres, Transaction};
use tokio::time::timeout;
use uuid::Uuid;

use crate::patience::{PATIENCE, until};
use crate::pg::database;
use crate::queue_support::tenant;
use crate::service_support::*;

async fn sessions(service: &Service, tenant: Tenant, count: usize) -> Vec<Uuid> {
    let mut sessions = Vec::new();
    for _ in 0..count {
        sessions.push(service.create_session(tenant, NewSession::default()).await.unwrap().id);
    }
    sessions
}

/// Holds the rows of these sessions, as a recount or another process does.
async fn hold(pool: &PgPool, sessions: &[Uuid]) -> Transaction<'static, Postgres> {
    let mut holder = pool.begin().await.unwrap();
    let held = "SELECT id FROM sessions WHERE id = ANY($1) FOR UPDATE";
    sqlx::query(held).bind(sessions).fetch_all(&mut *holder).await.unwrap();
    holder
}

/// A pool of its own on the same database, as another process has.
async fn other_pool(pool: &PgPool, connections: u32, name: &str) -> PgPool {
    let options = pool.connect_options().as_ref().clone().application_name(name);
    PgPoolOptions::new().max_connections(connections).connect_with(options).await.unwrap()
}

async fn append(service: &Service, tenant: Tenant, session: Uuid, keyed: bool) {
    let append = service.append(tenant, session, chat(vec![user("hello")]));
    if keyed {
        let key = Arc::new(Keyed::new(tenant, format!("key of {session}"), [1; 32], Some(session)));
        under(key, append).await.unwrap();
    } else {
        append.await.unwrap();
    }
}

#[tokio::test]
async fn sessions_that_somebody_holds_hold_up_nobody_else() {
    let pool = database().await;
    let service = Service::new(other_pool(&pool, 6, "service").await, Options::default());
    let (one, other) = (Tenant(tenant(&pool).await), Tenant(tenant(&pool).await));
    // More than there are connections, appended to with and without keys.
    let held = sessions(&service, one, 12).await;
    let (own, foreign) = (sessions(&service, one, 8).await, sessions(&service, other, 8).await);
    let holder = hold(&pool, &held).await;
    let waiting: Vec<_> = held
        .iter()
        .enumerate()
        .map(|(n, session)| {
            let (service, session) = (service.clone(), *session);
            tokio::spawn(async move { append(&service, one, session, n % 2 == 0).await })
        })
        .collect();
    let free = async {
        for round in 0..4 {
            // In the last round with keys.
            join_all(own.iter().map(|session| append(&service, one, *session, round == 3))).await;
            join_all(foreign.iter().map(|session| append(&service, other, *session, round == 3))).await;
        }
    };
    timeout(PATIENCE, free).await.expect("appends of others waited for the locked sessions");
    assert!(waiting.iter().all(|append| !append.is_finished()));
    holder.commit().await.unwrap();
    for append in waiting {
        timeout(PATIENCE, append).await.unwrap().unwrap();
    }
    for session in held {
        assert_eq!(service.queries().session(one, session).await.unwrap().entry_count, 1);
    }
}

#[tokio::test]
async fn an_append_waits_for_its_own_row_and_lands_behind_what_came_before() {
    let stage = Stage::set(serde_json::json!({"enabled": false})).await;
    stage.append(vec![user("one")]).await;
    let elsewhere = Service::new(other_pool(&stage.pool, 4, "elsewhere").await, Options::default());
    let holder = hold(&stage.pool, &[stage.session]).await;
    let (here, there) = (chat(vec![user("here")]), chat(vec![user("there")]));
    let (service, tenant, session) = (stage.service.clone(), stage.tenant, stage.session);
    let first = tokio::spawn(async move { service.append(tenant, session, here).await });
    until_waiting(&stage.pool, 1).await;
    let second = tokio::spawn(async move { elsewhere.append(tenant, session, there).await });
    until_waiting(&stage.pool, 2).await;
    assert!(!first.is_finished() && !second.is_finished());
    holder.commit().await.unwrap();
    let ended = async { (first.await.unwrap().unwrap(), second.await.unwrap().unwrap()) };
    let (first, second) = timeout(PATIENCE, ended).await.expect("the row is free");
    assert_ne!(first.leaf_id, second.leaf_id);
    assert_eq!(stage.leaf().await, second.leaf_id);
    let wanted = [user("one"), user("here"), user("there")].map(|item| item.to_string());
    assert_eq!(stage.context().await, wanted);
}

/// Waits until so many statements wait for a row to have it for themselves.
async fn until_waiting(pool: &PgPool, statements: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '% FOR UPDATE'";
    until("statements wait for the row", async || {
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(pool).await.unwrap() >= statements
    })
    .await;
}

/// Rows of `entries` that were read by connections of this name, all of which have ended.
async fn rows_read(pool: &PgPool, name: &str) -> i64 {
    let alive = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    until("the connections have ended", async || {
        sqlx::query_scalar::<_, i64>(alive).bind(name).fetch_one(pool).await.unwrap() == 0
    })
    .await;
    let read = "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
                WHERE relname = 'entries'";
    sqlx::query_scalar(read).fetch_one(pool).await.unwrap()
}

/// A session of 2,000 entries, and how many rows have been read so far.
async fn long_session() -> (PgPool, Tenant, Uuid, i64) {
    let pool = database().await;
    let filling = Service::new(other_pool(&pool, 2, "filling").await, Options::default());
    let tenant = Tenant(tenant(&pool).await);
    let settings = serde_json::json!({"enabled": false}).as_object().unwrap().clone();
    let new = NewSession { settings, ..NewSession::default() };
    let session = filling.create_session(tenant, new).await.unwrap().id;
    for part in 0..4 {
        let items = (0..500).map(|n| user(&format!("message {part} {n}"))).collect();
        filling.append(tenant, session, chat(items)).await.unwrap();
    }
    filling.pool().close().await;
    let read = rows_read(&pool, "filling").await;
    (pool, tenant, session, read)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_that_lose_their_races_do_not_read_the_path_again() {
    const WRITERS: usize = 6;
    const EACH: usize = 10;
    let (pool, tenant, session, before) = long_session().await;
    let mut services = Vec::new();
    for _ in 0..3 {
        services.push(Service::new(other_pool(&pool, 4, "racing").await, Options::default()));
    }
    let writers = (0..WRITERS).map(|writer| {
        let service = services[writer % services.len()].clone();
        tokio::spawn(async move {
            for n in 0..EACH {
                let said = format!("writer {writer}, message {n}");
                service.append(tenant, session, chat(vec![user(&said)])).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let stored = services[0].queries().session(tenant, session).await.unwrap();
    assert_eq!(stored.entry_count, 2_000 + (WRITERS * EACH) as i64);
    for service in services {
        service.pool().close().await;
    }
    let read = rows_read(&pool, "racing").await - before;
    println!("{} appends read {read} rows", WRITERS * EACH);
    assert!(read <= 4 * (WRITERS * EACH) as i64, "{read} rows");
}

#[tokio::test]
async fn a_transcript_with_one_new_message_reads_what_is_new() {
    let (pool, tenant, session, _) = long_session().await;
    let mut items: Vec<_> = Vec::new();
    for part in 0..4 {
        items.extend((0..500).map(|n| user(&format!("message {part} {n}"))));
    }
    let service = Service::new(other_pool(&pool, 2, "warm").await, Options::default());
    let put = async |items: &Vec<serde_json::Value>| {
        let items = raw(items.clone());
        let put = PutTranscript { format: Format::OpenaiChat, items, system: None, tools: None, usage: None };
        service.put_transcript(tenant, session, put).await.unwrap().appended
    };
    // What is kept in memory is read once.
    items.push(user("the first new one"));
    assert_eq!(put(&items).await, 1);
    items.push(user("the next one"));
    let before = flushed(&service).await;
    assert_eq!(put(&items).await, 1);
    let read = flushed(&service).await - before;
    println!("a transcript of {} messages read {read} rows", items.len());
    assert!(read <= 20, "{read} rows");
}

/// Rows read so far, of a service with idle connections: each is made to tell.
async fn flushed(service: &Service) -> i64 {
    let mut told = Vec::new();
    for _ in 0..service.pool().options().get_max_connections() {
        let mut connection = service.pool().acquire().await.unwrap();
        sqlx::query("SELECT pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
        sqlx::query("SELECT 1").execute(&mut *connection).await.unwrap();
        told.push(connection);
    }
    let read = "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
                WHERE relname = 'entries'";
    let mut connection = told.pop().unwrap();
    sqlx::query("SELECT pg_stat_clear_snapshot()").execute(&mut *connection).await.unwrap();
    sqlx::query_scalar(read).fetch_one(&mut *connection).await.unwrap()
}
