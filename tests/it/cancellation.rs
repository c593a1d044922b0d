//! Use cases whose callers go away half-way, at every point at which they wait: a client that hangs up, a request that has
//! taken too long.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use contextd::domain::model::format::Format;
use contextd::service::compaction::CompactRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use contextd::service::rebuild::Rebuild;
use contextd::service::sessions::{NewSession, SessionPatch};
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use uuid::Uuid;

use crate::patience::until;
use crate::pg::fresh;
use crate::queue_support::tenant;
use crate::service_support::{assistant, chat, user};

/// More than any of the use cases waits.
const STEPS: usize = 60;

/// Carries work on until it has waited so often; then it is dropped, though what it waited for has come.
async fn cut_after<T>(waits: usize, work: impl Future<Output = T>) -> Option<T> {
    let (mut left, mut work) = (waits, pin!(work));
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// A service with as few connections as it needs, so that each is used again at once, and a pool beside it.
async fn service() -> (Service, Tenant, PgPool) {
    let options = fresh().await;
    let beside = PgPoolOptions::new().max_connections(2).connect_with(options.clone()).await.unwrap();
    let pool = PgPoolOptions::new().max_connections(4).connect_with(options).await.unwrap();
    let tenant = Tenant(tenant(&beside).await);
    (Service::new(pool, Options::default()), tenant, beside)
}

async fn session(service: &Service, tenant: Tenant) -> Uuid {
    let settings = json!({"enabled": false}).as_object().unwrap().clone();
    service.create_session(tenant, NewSession { settings, ..NewSession::default() }).await.unwrap().id
}

/// No connection may be left in a transaction: what others write through it would never be committed.
async fn until_none_is_open(beside: &PgPool) {
    let open = "SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    until("no transaction is left open", async || {
        sqlx::query_scalar::<_, i64>(open).fetch_one(beside).await.unwrap() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_goes_away_leaves_no_transaction_open() {
    let (service, tenant, beside) = service().await;
    let id = session(&service, tenant).await;
    for waits in 0..STEPS {
        let named =
            SessionPatch { settings: json!({"yellow_at": 0.5}).as_object().cloned(), ..SessionPatch::default() };
        let rebuild = Rebuild::of_leaf(Format::OpenaiChat);
        cut_after(waits, service.append(tenant, id, chat(vec![user("hi"), assistant("ho")]))).await;
        cut_after(waits, service.patch_session(tenant, id, named)).await;
        cut_after(waits, service.create_session(tenant, NewSession::default())).await;
        cut_after(waits, service.compact(tenant, id, CompactRequest::default(), None)).await;
        cut_after(waits, service.rebuild(tenant, id, rebuild)).await;
        until_none_is_open(&beside).await;
    }
    service.append(tenant, id, chat(vec![user("the last")])).await.unwrap();
}
