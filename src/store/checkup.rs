//! What a server says of itself: for `contextd doctor`, and for migrations that somebody is in the way of.

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

/// A transaction that holds tables of this schema.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Holder {
    pub pid: i32,
    pub application: String,
    /// What it does, in PostgreSQL's words, such as `idle in transaction`.
    pub state: String,
    pub seconds: f64,
    /// Some of them.
    pub tables: String,
}

/// The three oldest transactions of others that hold tables of this schema for two tenths of a second or longer. What they
/// execute is not read.
pub async fn longest_holders(executor: impl PgExecutor<'_>) -> sqlx::Result<Vec<Holder>> {
    let statement = "SELECT a.pid, left(a.application_name, 64) AS application, coalesce(a.state, 'unknown') AS state,
            extract(epoch FROM clock_timestamp() - min(a.xact_start))::float8 AS seconds,
            left(string_agg(DISTINCT c.relname::text, ', '), 200) AS tables
         FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
         WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND c.relnamespace = current_schema()::regnamespace AND a.pid <> pg_backend_pid()
           AND a.xact_start < clock_timestamp() - interval '200 milliseconds'
         GROUP BY a.pid, a.application_name, a.state ORDER BY seconds DESC LIMIT 3";
    sqlx::query_as(statement).fetch_all(executor).await
}
