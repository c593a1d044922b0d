//! What is compared with: PostgreSQL alone, through the same driver, one statement a call.

use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};

use crate::Outcome;
use crate::server::Server;

pub async fn connect(server: &Server) -> Outcome<PgConnection> {
    Ok(server.database()?.connect().await?)
}

/// The server's version and the settings that durability hangs on.
pub async fn version(server: &Server) -> Outcome<String> {
    let mut connection = connect(server).await?;
    let text = sqlx::query_scalar(
        "SELECT 'PostgreSQL ' || current_setting('server_version') || ', fsync ' || current_setting('fsync')
            || ', synchronous_commit ' || current_setting('synchronous_commit')",
    )
    .fetch_one(&mut connection)
    .await?;
    sqlx::query("CREATE TABLE raw_items (list bigint, n bigint, item text NOT NULL, PRIMARY KEY (list, n))")
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(text)
}

/// One durable insert.
pub async fn insert(connection: &mut PgConnection, list: i64, n: i64, item: &str) -> Outcome<()> {
    sqlx::query("INSERT INTO raw_items (list, n, item) VALUES ($1, $2, $3)")
        .bind(list)
        .bind(n)
        .bind(item)
        .execute(connection)
        .await?;
    Ok(())
}

/// All items of a list in order.
pub async fn read(connection: &mut PgConnection, list: i64) -> Outcome<Vec<String>> {
    Ok(sqlx::query_scalar("SELECT item FROM raw_items WHERE list = $1 ORDER BY n")
        .bind(list)
        .fetch_all(connection)
        .await?)
}
