//! SQL, one file per table family. Executor first, tenant second; only those that say so cross tenants.

pub mod branch_summaries;
pub mod breakers;
pub mod censuses;
pub mod checkup;
pub mod compactions;
pub mod entries;
pub mod erasure;
pub mod events;
pub mod fault;
pub mod hooks;
pub mod idempotency;
pub mod keys;
pub mod large;
pub mod listen;
pub mod logins;
pub mod outline;
pub mod path;
pub mod queue;
pub mod read;
pub mod rebuilds;
pub mod recalls;
pub mod refused_texts;
pub mod sealing_keys;
pub mod search;
pub mod session_lines;
pub mod session_looks;
pub mod sessions;
pub mod stats;
mod text_key;
pub mod timeline;
pub mod tool_calls;
pub mod transaction;
pub mod upstream_calls;

/// The migrations, forward only.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("./migrations");

/// The code of a statement whose table is not there.
const UNDEFINED_TABLE: &str = "42P01";

/// How many migrations of this version the database lacks. Those of a newer version do not count.
pub async fn missing_migrations(executor: impl sqlx::PgExecutor<'_>) -> sqlx::Result<usize> {
    let applied = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(executor).await;
    let applied: Vec<i64> = match applied {
        Err(sqlx::Error::Database(error)) if error.code().is_some_and(|code| code == UNDEFINED_TABLE) => Vec::new(),
        applied => applied?,
    };
    Ok(MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version)).count())
}
