//! The promise of `seal`: effect and answer land together or not at all, and only once.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use contextd::service::core::error::{ConflictCode, ServiceError};
use contextd::service::core::idempotency::{KeptAnswer, KeptAnswers, KeyState, Keyed, Outcome, seal, under};
use contextd::service::core::state::{Options, Service};
use contextd::service::core::tenant::Tenant;
use sqlx::PgPool;
use uuid::Uuid;

use crate::patience::until_blocked;

const TENANT: Tenant = Tenant(Uuid::from_u128(1));

async fn database() -> PgPool {
    let pool = crate::pg::database().await;
    let insert = "INSERT INTO tenants (id, name, created_at) VALUES ($1, 'one', now()), ($2, 'two', now())";
    sqlx::query(insert).bind(TENANT.0).bind(Uuid::from_u128(2)).execute(&pool).await.unwrap();
    pool
}

fn keyed(request: u8) -> Arc<Keyed> {
    Arc::new(Keyed::new(TENANT, "key".to_owned(), [request; 32], None))
}

/// One use case: seals, waits for `held`, commits or rolls back.
async fn work(pool: &PgPool, answer: &str, held: impl Future<Output = ()>, commit: bool) -> Result<(), ServiceError> {
    let mut tx = pool.begin().await?;
    seal(&mut tx, Outcome::Created, &answer).await?;
    held.await;
    if commit {
        tx.commit().await?
    } else {
        tx.rollback().await?
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_is_known_once_its_effect_is_committed() {
    let pool = database().await;
    let answers = KeptAnswers::new(pool.clone());
    let request = keyed(1);
    under(request.clone(), work(&pool, "lost", ready(()), false)).await.unwrap();
    assert_eq!(answers.known(&request).await.unwrap(), KeyState::Nothing);

    under(request.clone(), work(&pool, "kept", ready(()), true)).await.unwrap();
    let kept = KeptAnswer { status: 201, body: "\"kept\"".to_owned() };
    assert_eq!(answers.known(&request).await.unwrap(), KeyState::Answered(kept));
    assert_eq!(answers.known(&keyed(2)).await.unwrap(), KeyState::Reused);
    let foreign = Keyed::new(Tenant(Uuid::from_u128(2)), "key".to_owned(), [1; 32], None);
    assert_eq!(answers.known(&foreign).await.unwrap(), KeyState::Nothing);

    let full = KeptAnswer { status: 200, body: "\"more\"".to_owned() };
    answers.keep(&request, &full).await.unwrap();
    assert_eq!(answers.known(&request).await.unwrap(), KeyState::Answered(full.clone()));
    // Another request never replaces it.
    answers.keep(&keyed(2), &KeptAnswer { status: 200, body: "\"other\"".to_owned() }).await.unwrap();
    assert_eq!(answers.known(&request).await.unwrap(), KeyState::Answered(full));
}

#[tokio::test]
async fn of_two_at_once_one_acts_and_the_other_steps_back() {
    let pool = database().await;
    let answers = KeptAnswers::new(pool.clone());
    for (commit, second_acts) in [(false, true), (true, false)] {
        sqlx::query("DELETE FROM idempotency_keys").execute(&pool).await.unwrap();
        let (sealed, is_sealed) = tokio::sync::oneshot::channel();
        let held = async {
            sealed.send(()).unwrap();
            until_blocked(&pool).await;
        };
        let first = under(keyed(1), work(&pool, "first", held, commit));
        let second = async {
            is_sealed.await.unwrap();
            under(keyed(1), work(&pool, "second", ready(()), true)).await
        };
        let (first, second) = tokio::join!(first, second);
        first.unwrap();
        match second {
            Ok(()) => assert!(second_acts),
            Err(ServiceError::Conflict { code, .. }) => {
                assert!(!second_acts && code == ConflictCode::IdempotencyInProgress)
            }
            Err(error) => panic!("{error}"),
        }
        let body = if second_acts { "\"second\"" } else { "\"first\"" };
        let answer = KeptAnswer { status: 201, body: body.to_owned() };
        assert_eq!(answers.known(&keyed(1)).await.unwrap(), KeyState::Answered(answer));
    }
}

#[tokio::test]
async fn without_a_key_nothing_is_written_and_old_keys_are_forgotten() {
    let pool = database().await;
    let answers = KeptAnswers::new(pool.clone());
    work(&pool, "free", ready(()), true).await.unwrap();
    assert_eq!(answers.known(&keyed(1)).await.unwrap(), KeyState::Nothing);
    under(keyed(1), work(&pool, "kept", ready(()), true)).await.unwrap();
    assert_eq!(answers.purge(Duration::from_secs(60)).await.unwrap(), 0);
    assert_eq!(answers.purge(Duration::ZERO).await.unwrap(), 1);
    assert_eq!(answers.known(&keyed(1)).await.unwrap(), KeyState::Nothing);
}

/// A request under a key of its own.
fn numbered(n: usize) -> Keyed {
    Keyed::new(TENANT, format!("key-{n}"), [1; 32], None)
}

#[tokio::test]
async fn of_a_tenants_answers_the_newest_stay() {
    const MEGABYTE: usize = 1 << 20;
    let pool = database().await;
    let answers = KeptAnswers::new(pool.clone());
    let large = KeptAnswer { status: 200, body: "x".repeat(5 * MEGABYTE) };
    for n in 0..16 {
        answers.keep(&numbered(n), &large).await.unwrap();
    }
    let bytes = "SELECT sum(octet_length(body))::bigint FROM idempotency_keys";
    let bytes: i64 = sqlx::query_scalar(bytes).fetch_one(&pool).await.unwrap();
    assert!(bytes <= 64 << 20 && bytes > 50 << 20, "{bytes}");
    assert_eq!(answers.known(&numbered(0)).await.unwrap(), KeyState::Nothing, "the oldest is gone");
    assert_eq!(answers.known(&numbered(15)).await.unwrap(), KeyState::Answered(large));
}

#[tokio::test]
async fn of_a_tenants_keys_ten_thousand_stay() {
    let pool = database().await;
    let many = "INSERT INTO idempotency_keys (tenant_id, key, request_hash, status, body, created_at)
        SELECT t, 'many-' || n, '', 200, '{}', now() - interval '1 hour' + n * interval '1 ms'
        FROM generate_series(1, 12000) n, unnest($1::uuid[]) t";
    sqlx::query(many).bind([TENANT.0, Uuid::from_u128(2)]).execute(&pool).await.unwrap();
    KeptAnswers::new(pool.clone()).keep_digest(&numbered(0)).await.unwrap();
    let kept = "SELECT count(*), min(created_at) = min(created_at) FILTER (WHERE key = 'many-1')
        FROM idempotency_keys GROUP BY tenant_id ORDER BY tenant_id";
    let kept: Vec<(i64, Option<bool>)> = sqlx::query_as(kept).fetch_all(&pool).await.unwrap();
    assert!((9_000..=10_000).contains(&kept[0].0) && kept[0].1.is_none(), "{kept:?}");
    assert_eq!(kept[1], (12_000, Some(true)), "another tenant's stay");
}

#[tokio::test]
async fn of_what_only_reads_nothing_but_the_digest_is_kept() {
    let pool = database().await;
    let answers = KeptAnswers::new(pool.clone());
    let reading = Arc::new(numbered(1).for_a_reading());
    under(reading.clone(), work(&pool, "not sealed", ready(()), true)).await.unwrap();
    assert_eq!(answers.known(&reading).await.unwrap(), KeyState::Nothing);
    answers.keep_digest(&reading).await.unwrap();
    assert_eq!(answers.known(&reading).await.unwrap(), KeyState::Repeated);
    let other = Keyed::new(TENANT, "key-1".to_owned(), [2; 32], None);
    assert_eq!(answers.known(&other).await.unwrap(), KeyState::Reused);
}

#[tokio::test]
async fn the_figures_and_the_readiness_read_a_fresh_schema() {
    use contextd::service::ops::readiness::{Health, Readiness};
    let pool = database().await;
    let health = Health::of(&Service::new(pool.clone(), Options::default()));
    health.read_figures().await.unwrap();
    assert!(health.figures().sessions.is_none() && health.figures().queue.is_none(), "nobody has counted yet");
    assert_eq!(health.readiness().await.unwrap(), Readiness::Ready);
    sqlx::query("UPDATE _sqlx_migrations SET success = false").execute(&pool).await.unwrap();
    assert_eq!(health.readiness().await.unwrap(), Readiness::SchemaOutdated);
    sqlx::query("DROP TABLE _sqlx_migrations").execute(&pool).await.unwrap();
    assert_eq!(health.readiness().await.unwrap(), Readiness::SchemaOutdated);
}
