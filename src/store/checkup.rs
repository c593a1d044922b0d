//! What a server says of itself: for `contextd doctor`.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

/// Tables that every call needs. What a role may do with these it may do with the others.
const TABLES: [&str; 6] = ["tenants", "sessions", "entries", "compactions", "jobs", "events"];

/// A server, as the role of the connection sees it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct ServerRow {
    pub version: String,
    pub version_num: i32,
    /// The server's clock.
    pub now: DateTime<Utc>,
    pub is_read_only: bool,
    pub max_connections: i32,
    /// May the role make tables, as migrations do?
    pub may_create: bool,
}

/// Reads what the server is.
pub async fn server(executor: impl PgExecutor<'_>) -> sqlx::Result<ServerRow> {
    let statement = "SELECT current_setting('server_version') AS version,
            current_setting('server_version_num')::int AS version_num, clock_timestamp() AS now,
            pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
            current_setting('max_connections')::int AS max_connections,
            coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create";
    sqlx::query_as(statement).fetch_one(executor).await
}

/// Tables that are there and that the role may not read and change.
pub async fn closed_tables(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<String>> {
    let statement = "SELECT name FROM unnest($1::text[]) AS wanted (name)
         WHERE to_regclass(name) IS NOT NULL AND NOT (has_table_privilege(to_regclass(name), 'SELECT')
            AND has_table_privilege(to_regclass(name), 'INSERT') AND has_table_privilege(to_regclass(name), 'UPDATE')
            AND has_table_privilege(to_regclass(name), 'DELETE'))";
    sqlx::query_scalar(statement).bind(TABLES.map(str::to_owned).to_vec()).fetch_all(executor).await
}
