//! Beginning a transaction.

use sqlx::{PgPool, Postgres, Transaction};

/// Begins a transaction on a connection of the pool, in a task of its own: whoever waits for it may go away.
///
/// sqlx 0.9.0 counts a transaction only when the answer to its `BEGIN` was read. If that is no longer waited for (a client
/// hung up, a request took too long), the connection goes back to the pool with the transaction open: its locks stay, and
/// what others then write through it is never committed (sqlx issue 4393; mended there, not yet published).
///
/// # Errors
/// No connection came free in time, or the database's.
#[expect(clippy::disallowed_methods, reason = "the one place where it can't be dropped half-way")]
pub async fn begin(pool: &PgPool) -> sqlx::Result<Transaction<'static, Postgres>> {
    let connection = pool.acquire().await?;
    let begun = tokio::spawn(Transaction::begin(connection, None)).await;
    begun.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}
