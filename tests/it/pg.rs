//! One embedded server for the whole test process, and a fresh migrated database for every test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use contextd::lifecycle::embedded_postgres::EmbeddedPostgres;
use contextd::store::MIGRATIONS;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};
use tokio::sync::OnceCell;

const TEMPLATE: &str = "template_migrated";

static SERVER: OnceCell<EmbeddedPostgres> = OnceCell::const_new();
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A pool on a fresh database with the current schema.
pub async fn database() -> PgPool {
    PgPoolOptions::new().max_connections(10).connect_with(fresh().await).await.unwrap()
}

/// The same, as a URL for another process.
pub async fn url() -> String {
    url_of(&fresh().await)
}

/// The URL of a database that is there.
pub fn url_of(options: &PgConnectOptions) -> String {
    let socket = options.get_socket().unwrap().to_str().unwrap().replace('/', "%2F");
    format!("postgres://{}@{socket}/{}?sslmode=disable", options.get_username(), options.get_database().unwrap())
}

/// How to connect to the server itself.
pub async fn options() -> PgConnectOptions {
    SERVER.get_or_init(start).await.options().clone()
}

/// How to connect to a fresh database with the current schema.
pub async fn fresh() -> PgConnectOptions {
    let server = SERVER.get_or_init(start).await;
    let name = format!("test_{}", COUNTER.fetch_add(1, Ordering::Relaxed));
    execute(server.options(), format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}")).await;
    server.options().clone().database(&name)
}

/// How to connect to a fresh database with nothing in it.
pub async fn blank() -> PgConnectOptions {
    let server = SERVER.get_or_init(start).await;
    let name = format!("blank_{}", COUNTER.fetch_add(1, Ordering::Relaxed));
    execute(server.options(), format!("CREATE DATABASE {name}")).await;
    server.options().clone().database(&name)
}

/// What the server has logged, beside its data.
pub fn log_file() -> PathBuf {
    data_dir().join("postgres.log")
}

fn data_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("postgres-{}", std::process::id()))
}

async fn start() -> EmbeddedPostgres {
    // As for the instances: see `app.rs`.
    contextd::background::step_back_by(0);
    let data_dir = data_dir();
    remove_at_exit(&data_dir);
    let pg_bin = std::env::var_os("CONTEXTD_PG_BIN").map(PathBuf::from);
    let server = EmbeddedPostgres::start(&data_dir, pg_bin.as_deref()).await.unwrap();
    execute(server.options(), format!("CREATE DATABASE {TEMPLATE}")).await;
    // The template's connection is closed before the first copy: PostgreSQL copies no database that is in use.
    let mut connection = server.options().clone().database(TEMPLATE).connect().await.unwrap();
    MIGRATIONS.run_direct(None, &mut connection, false).await.unwrap();
    connection.close().await.unwrap();
    server
}

async fn execute(options: &PgConnectOptions, statement: String) {
    let mut connection: PgConnection = options.connect().await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// A static is never dropped, so a small process waits for the end of this one (its pipe closes) and for the server's, then removes.
fn remove_at_exit(data_dir: &Path) {
    let script = r#"cat >/dev/null; n=0
        while [ -e "$0/postgres/postmaster.pid" ] && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done
        rm -rf "$0""#;
    let watcher = Command::new("sh")
        .args(["-c", script])
        .arg(data_dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::mem::forget(watcher);
}

#[tokio::test]
async fn every_test_has_its_own_database_with_the_schema() {
    let (one, other) = tokio::join!(database(), database());
    sqlx::query("CREATE TABLE mine (x int)").execute(&one).await.unwrap();
    let seen = "SELECT to_regclass($1) IS NOT NULL";
    let exists = async |pool: &PgPool, table: &str| -> bool {
        sqlx::query_scalar(seen).bind(table).fetch_one(pool).await.unwrap()
    };
    assert!(exists(&one, "mine").await && exists(&one, "sessions").await && exists(&other, "sessions").await);
    assert!(!exists(&other, "mine").await);
}
