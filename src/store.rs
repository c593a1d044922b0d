//! SQL, one file per table family. Executor first, tenant second; no statement crosses tenants.

pub mod branch_summaries;
pub mod compactions;
pub mod entries;
pub mod erasure;
pub mod events;
pub mod fault;
pub mod gauges;
pub mod hooks;
pub mod idempotency;
pub mod keys;
pub mod listen;
pub mod path;
pub mod queue;
pub mod read;
pub mod rebuilds;
pub mod search;
pub mod sessions;
mod text_key;
pub mod tool_calls;

/// Makes a transaction see one state of the database throughout. To be called first in it.
pub async fn begin_repeatable_read(connection: &mut sqlx::PgConnection) -> sqlx::Result<()> {
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(connection).await?;
    Ok(())
}

/// The migrations, forward only.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("./migrations");
