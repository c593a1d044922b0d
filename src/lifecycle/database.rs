//! The database of this process: the server that `DATABASE_URL` names, or the embedded one.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context, bail};
use secrecy::ExposeSecret;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

use super::embedded_postgres::EmbeddedPostgres;
use crate::config::Config;
use crate::store::hooks::deliveries;
use crate::store::{MIGRATIONS, queue};

/// A connection idle for longer is asked whether it still lives before it is used.
const TRUSTED_IDLE: Duration = Duration::from_millis(500);

/// An open pool, and the server behind it when that is the embedded one.
#[derive(Debug)]
pub struct Database {
    pool: PgPool,
    embedded: Option<EmbeddedPostgres>,
}

impl Database {
    /// Connects; starts the embedded server when no URL is configured. Changes no schema.
    ///
    /// # Errors
    /// No server, or one that refuses.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let database = &config.database;
        let (options, embedded) = match &database.url {
            Some(url) => (url.expose_secret().parse::<PgConnectOptions>().context("DATABASE_URL")?, None),
            None => {
                let server = EmbeddedPostgres::start(&config.data_dir, database.pg_bin.as_deref()).await?;
                tracing::info!(data_dir = %config.data_dir.display(), owned = server.owned(), "embedded PostgreSQL is ready");
                (server.options().clone(), Some(server))
            }
        };
        let pool = PgPoolOptions::new()
            .max_connections(database.max_connections)
            .acquire_timeout(Duration::from_millis(database.acquire_timeout_ms))
            // A connection in steady use needs no question before every statement.
            .test_before_acquire(false)
            .before_acquire(|connection, used| {
                Box::pin(async move {
                    if used.idle_for > TRUSTED_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_with(options.application_name("contextd"))
            .await
            .context("connecting to the database")?;
        Ok(Self { pool, embedded })
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Whether the server is this service's own, so that nobody else looks after its schema.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Gives the jobs that a killed run left behind back to the queue, instead of waiting for their leases: whoever
    /// has just started the embedded server has it for himself.
    ///
    /// # Errors
    /// The database's.
    pub async fn take_jobs_back(&self) -> anyhow::Result<()> {
        if self.embedded.as_ref().is_some_and(EmbeddedPostgres::owned) {
            let jobs = queue::take_back(&self.pool).await.context("taking jobs back")?;
            if jobs > 0 {
                tracing::info!(jobs, "jobs of an earlier run are done again");
            }
            deliveries::take_back(&self.pool, true).await.context("taking deliveries back")?;
        }
        Ok(())
    }

    /// Brings the schema up to date. Processes that do so at the same time wait for each other.
    ///
    /// # Errors
    /// A migration that fails, or a database that a newer version has migrated.
    pub async fn migrate(&self) -> anyhow::Result<()> {
        MIGRATIONS.run(&self.pool).await.context("migrating the database")
    }

    /// # Errors
    /// A migration of this version has not been applied.
    pub async fn require_current_schema(&self) -> anyhow::Result<()> {
        let table: bool =
            sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&self.pool).await?;
        let applied: Vec<i64> = if table {
            sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(&self.pool).await?
        } else {
            Vec::new()
        };
        let applied: HashSet<i64> = applied.into_iter().collect();
        let missing = MIGRATIONS.iter().filter(|migration| !applied.contains(&migration.version)).count();
        if missing > 0 {
            bail!("the database lacks {missing} migrations of this version: run `contextd migrate` first");
        }
        Ok(())
    }

    /// Closes the connections and stops the embedded server.
    pub async fn close(self) {
        self.pool.close().await;
        if let Some(server) = self.embedded {
            server.stop().await;
        }
    }
}
