//! A migration that somebody is in the way of is in nobody else's way.

use std::process::{Command, Stdio};

use contextd::store::MIGRATIONS;
use sqlx::{Connection, PgConnection, PgPool, Row};

use crate::patience::until;

/// The processes that this one waits for.
async fn waits_for(pool: &PgPool, pid: i32) -> Vec<i32> {
    sqlx::query_scalar("SELECT unnest(pg_blocking_pids($1))").bind(pid).fetch_all(pool).await.unwrap()
}

async fn pid(connection: &mut PgConnection) -> i32 {
    sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_reader_others_go_on() {
    let options = crate::pg::blank().await;
    let mut first = PgConnection::connect_with(&options).await.unwrap();
    // All but what alters the compactions' table, and what came after.
    MIGRATIONS.run_direct(Some(50), &mut first, false).await.unwrap();
    let pool = PgPool::connect_with(options.clone()).await.unwrap();

    // Reads, and goes on reading.
    let mut reader = PgConnection::connect_with(&options).await.unwrap();
    let reader_pid = pid(&mut reader).await;
    let mut transaction = reader.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM compactions").fetch_one(&mut *transaction).await.unwrap();

    let url = crate::pg::url_of(&options);
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextd"));
    let command = command.arg("migrate").env("DATABASE_URL", &url).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut migrating = command.spawn().unwrap();

    // Three times in a row somebody comes to stand behind the migration, and gets through while the reader still reads.
    for round in 0..3 {
        let mut other = PgConnection::connect_with(&options).await.unwrap();
        let other_pid = pid(&mut other).await;
        until("the migration stands in line behind the reader", async || {
            let waiting: Vec<i32> =
                sqlx::query_scalar("SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'compactions'::regclass")
                    .fetch_all(&pool)
                    .await
                    .unwrap();
            let mut found = false;
            for pid in waiting.into_iter().filter(|pid| *pid != other_pid) {
                found |= waits_for(&pool, pid).await.contains(&reader_pid);
            }
            found
        })
        .await;
        let statement = async { sqlx::query("SELECT count(*) FROM compactions").fetch_one(&mut other).await.unwrap() };
        let came_through = tokio::time::timeout(crate::patience::PATIENCE, statement).await;
        assert_eq!(came_through.unwrap().get::<i64, _>(0), 0, "round {round}");
        let reads: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND granted AND relation = 'compactions'::regclass)",
        )
        .bind(reader_pid)
        .fetch_one(&pool)
        .await
        .unwrap();
        assert!(
            reads && migrating.try_wait().unwrap().is_none(),
            "round {round}: the reader holds the migration up, and nobody else"
        );
    }
    transaction.commit().await.unwrap();
    let done = migrating.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{told}");
    assert!(told.contains("waits for a transaction") && told.contains(&reader_pid.to_string()), "{told}");
    let missing = contextd::store::missing_migrations(&pool).await.unwrap();
    assert_eq!(missing, 0);
}
