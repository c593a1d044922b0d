//! The embedded server: started once, shared, started again, and never losing what was committed.

use std::path::{Path, PathBuf};

use contextd::lifecycle::embedded_postgres::{EmbeddedPostgres, StartError};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::patience::{PATIENCE, eventually};

async fn start(data_dir: &Path) -> EmbeddedPostgres {
    let pg_bin = std::env::var_os("CONTEXTD_PG_BIN").map(PathBuf::from);
    EmbeddedPostgres::start(data_dir, pg_bin.as_deref()).await.unwrap()
}

async fn pool(server: &EmbeddedPostgres) -> PgPool {
    PgPoolOptions::new().max_connections(2).connect_with(server.options().clone()).await.unwrap()
}

/// The server's, as its own file has it.
fn pid(data_dir: &Path) -> Pid {
    let file = std::fs::read_to_string(data_dir.join("postgres/postmaster.pid")).unwrap();
    Pid::from_raw(file.lines().next().unwrap().parse().unwrap())
}

/// Asks until the server answers.
async fn rows(pool: &PgPool) -> i64 {
    eventually("the server comes back", async || {
        sqlx::query_scalar("SELECT count(*) FROM kept").fetch_one(pool).await.ok()
    })
    .await
}

async fn keep_a_row(pool: &PgPool) {
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS kept (x int); INSERT INTO kept VALUES (1)").execute(pool).await.unwrap();
}

#[tokio::test]
async fn data_survives_stop_and_kill_9() {
    let root = tempfile::tempdir().unwrap();
    let server = start(root.path()).await;
    assert!(server.owned());
    let connections = pool(&server).await;
    keep_a_row(&connections).await;

    let first = pid(root.path());
    kill(first, Signal::SIGKILL).unwrap();
    assert_eq!(rows(&connections).await, 1, "the pool finds the server that was started again");
    assert_ne!(pid(root.path()), first);

    connections.close().await;
    let second = pid(root.path());
    server.stop_within(PATIENCE).await;
    assert!(kill(second, None).is_err(), "the server stops with its owner");
    let server = start(root.path()).await;
    assert_eq!(rows(&pool(&server).await).await, 1);
    server.stop_within(PATIENCE).await;
}

#[tokio::test]
async fn a_second_start_joins_and_takes_over() {
    let root = tempfile::tempdir().unwrap();
    let (owner, follower) = tokio::join!(start(root.path()), start(root.path()));
    assert_ne!(owner.owned(), follower.owned());
    let (owner, follower) = if owner.owned() { (owner, follower) } else { (follower, owner) };
    let connections = pool(&follower).await;
    keep_a_row(&connections).await;
    owner.stop_within(PATIENCE).await;
    assert_eq!(rows(&connections).await, 1);
    assert!(follower.owned());
    connections.close().await;
    follower.stop_within(PATIENCE).await;
}

#[tokio::test]
async fn an_interrupted_initdb_is_done_again() {
    let root = tempfile::tempdir().unwrap();
    let unfinished = root.path().join("postgres.new");
    std::fs::create_dir_all(unfinished.join("base")).unwrap();
    std::fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
    let server = start(root.path()).await;
    keep_a_row(&pool(&server).await).await;
    assert!(!unfinished.exists());
    server.stop_within(PATIENCE).await;
}

#[tokio::test]
async fn a_deep_data_directory_has_a_short_socket() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("d".repeat(120));
    let server = start(&deep).await;
    keep_a_row(&pool(&server).await).await;
    let socket_dir = server.options().get_socket().cloned().unwrap();
    assert!(socket_dir.starts_with("/tmp"));
    server.stop_within(PATIENCE).await;
    std::fs::remove_dir_all(socket_dir).unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_version_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("postgres")).unwrap();
    std::fs::write(root.path().join("postgres/PG_VERSION"), "9\n").unwrap();
    let refused = EmbeddedPostgres::start(root.path(), None).await.unwrap_err();
    assert!(
        matches!(refused, StartError::OtherVersion { cluster: 9, .. } | StartError::NoBinaries { .. }),
        "{refused}"
    );
}
