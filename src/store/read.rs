//! Who carries out a statement, and ending it from outside.

use sqlx::PgExecutor;

/// The process of the database behind a connection.
pub async fn backend(executor: impl PgExecutor<'_>) -> sqlx::Result<i32> {
    sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(executor).await
}

/// Cancels the statement that such a process carries out, if it carries out one.
pub async fn cancel(executor: impl PgExecutor<'_>, backend: i32) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_cancel_backend($1)").bind(backend).execute(executor).await?;
    Ok(())
}
