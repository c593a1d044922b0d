//! Waiting for a condition: with an end so far away that only a fault reaches it, however busy the machine.

use std::time::Duration;

use sqlx::PgPool;

pub const PATIENCE: Duration = Duration::from_secs(900);

/// Asks again and again until the condition gives a value; panics with `what` when it never does.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, condition: impl Fn() -> F) -> T {
    let found = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(value) = condition().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("never came true: {what}"))
}

/// As [`eventually`], for a condition that only holds or does not.
pub async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    eventually(what, async || condition().await.then_some(())).await
}

/// Statements in this database that wait for another's lock.
pub async fn blocked(pool: &PgPool) -> i64 {
    let waiting = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'";
    sqlx::query_scalar(waiting).fetch_one(pool).await.unwrap()
}

/// Waits until a statement in this database waits for another's lock.
pub async fn until_blocked(pool: &PgPool) {
    until("a statement waits for a lock", async || blocked(pool).await > 0).await;
}
