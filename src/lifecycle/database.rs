//! The database of this process: the server that `DATABASE_URL` names, or the embedded one.

mod hosts;
mod migrate;
mod url;
mod watch;

use std::time::Duration;

use anyhow::{Context, bail};
use secrecy::ExposeSecret;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::timeout;

use self::hosts::{Hosts, NoHost};
use self::url::TargetSessionAttrs;
use self::watch::Watch;
use super::embedded_postgres::EmbeddedPostgres;
use crate::config::{self, Config};
use crate::service::ops::readiness::Health;
use crate::store::hooks::deliveries;
use crate::store::{self, queue};

/// A connection idle for longer is asked whether it still lives before it is used.
const TRUSTED_IDLE: Duration = Duration::from_millis(500);
/// For that question, and for a statement that was given up to end by itself: a connection that takes longer is
/// closed, which ends its statement in PostgreSQL too.
const PING_WITHIN: Duration = Duration::from_secs(2);
/// How soon PostgreSQL notices that nobody waits for a statement any more.
const CHECK_CLIENT: &str = "1s";
/// How long a transaction may wait for its client. Longer than any request has, so that only the lost are cut off.
const IDLE_IN_TRANSACTION: &str = "5min";

/// An open pool, and the server behind it when that is the embedded one.
#[derive(Debug)]
pub struct Database {
    pool: PgPool,
    embedded: Option<EmbeddedPostgres>,
    hosts: Hosts,
    silence: Duration,
}

impl Database {
    /// Connects; starts the embedded server when no URL is configured. Changes no schema.
    ///
    /// # Errors
    /// No server, or one that refuses: what each of them said.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let database = &config.database;
        let (hosts, embedded) = match &database.url {
            Some(url) => (named(url.expose_secret()).context("DATABASE_URL")?, None),
            None => {
                let server = EmbeddedPostgres::start(&config.data_dir, database.pg_bin.as_deref()).await?;
                tracing::info!(data_dir = %config.data_dir.display(), owned = server.owned(), "embedded PostgreSQL is ready");
                (Hosts::of(server.options().clone()), Some(server))
            }
        };
        let patience = Duration::from_millis(database.acquire_timeout_ms);
        let picked = hosts.pick_patiently(patience).await.context("connecting to the database")?;
        // The pool makes its own: how this one ends does not matter.
        let _ = timeout(PING_WITHIN, picked.connection.close()).await;
        let pool = pool_options(database, &hosts).connect_lazy_with(picked.options);
        Ok(Self { pool, embedded, hosts, silence: patience })
    }

    /// What to do about an error of [`Database::open`], where that is known.
    pub fn remedy(error: &anyhow::Error) -> Option<&'static str> {
        error.downcast_ref::<NoHost>().and_then(|error| error.remedy)
    }

    /// Looks after where the database is and how, until the future is dropped.
    pub fn watch(&self, health: &Health) -> Watch {
        let (hosts, pool) = (self.hosts.clone(), self.pool.clone());
        Watch { hosts, pool, health: health.clone(), silence: self.silence }
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Returns true if the server is this service's own, so that nobody else looks after its schema.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Gives the jobs that a killed run left behind back to the queue, instead of waiting for their leases: whoever
    /// has just started the embedded server has it for himself.
    ///
    /// # Errors
    /// The database's.
    pub async fn requeue_jobs(&self) -> anyhow::Result<()> {
        if self.embedded.as_ref().is_some_and(EmbeddedPostgres::owned) {
            let jobs = queue::requeue(&self.pool).await.context("taking jobs back")?;
            if jobs > 0 {
                tracing::info!(jobs, "jobs of an earlier run are done again");
            }
            deliveries::requeue(&self.pool, true).await.context("taking deliveries back")?;
        }
        Ok(())
    }

    /// Brings the schema up to date. Processes that do so at the same time wait for each other.
    ///
    /// # Errors
    /// A migration that fails, or a database that a newer version has migrated.
    pub async fn migrate(&self) -> anyhow::Result<()> {
        migrate::migrate(&self.pool).await
    }

    /// # Errors
    /// A migration of this version has not been applied.
    pub async fn require_current_schema(&self) -> anyhow::Result<()> {
        let missing = store::missing_migrations(&self.pool).await?;
        if missing > 0 {
            bail!("the database lacks {missing} migrations of this version: run `contextd migrate` first");
        }
        Ok(())
    }

    /// Closes the connections and stops the embedded server, in the time given: what hangs is left to its fate, which
    /// costs nothing that was acknowledged.
    pub async fn close(self, within: Duration) {
        if timeout(within / 3, self.pool.close()).await.is_err() {
            tracing::warn!("some statements did not end in time");
        }
        if let Some(server) = self.embedded {
            server.stop_within(within * 2 / 3).await;
        }
    }
}

fn named(url: &str) -> anyhow::Result<Hosts> {
    let (mut hosts, wanted): (_, TargetSessionAttrs) = url::parse(url)?;
    for host in &mut hosts {
        host.options = host.options.clone().application_name("contextd");
    }
    Ok(Hosts::new(hosts, wanted))
}

fn pool_options(database: &config::DatabaseConfig, hosts: &Hosts) -> PgPoolOptions {
    let (hosts, at_connect) = (hosts.clone(), hosts.clone());
    let timeouts = [database.statement_timeout_ms, database.lock_timeout_ms];
    PgPoolOptions::new()
        .max_connections(database.max_connections)
        .acquire_timeout(Duration::from_millis(database.acquire_timeout_ms))
        // A connection in steady use needs no question before every statement.
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let hosts = at_connect.clone();
            Box::pin(async move {
                set_up(connection, timeouts).await?;
                hosts.admit(connection).await
            })
        })
        .before_acquire(move |connection, used| {
            let is_current = hosts.is_current(used.age);
            Box::pin(async move {
                if is_current && used.idle_for > TRUSTED_IDLE {
                    within(PING_WITHIN, connection.ping()).await?;
                }
                Ok(is_current)
            })
        })
        // Waits for nothing after a statement whose end was awaited.
        .after_release(|connection, _| {
            Box::pin(async move {
                within(PING_WITHIN, connection.flush()).await?;
                // Else each keeps as much as the largest statement and row that it has seen.
                connection.shrink_buffers();
                Ok(true)
            })
        })
}

/// Sets what PostgreSQL is to do for every statement of a connection: bound it, and notice that its client has gone.
async fn set_up(connection: &mut PgConnection, [statement, lock]: [u32; 2]) -> sqlx::Result<()> {
    let set = "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS wanted (name, value)
        ";
    let settings = [
        ("statement_timeout", statement.to_string()),
        ("lock_timeout", lock.to_string()),
        ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION.to_owned()),
        ("tcp_keepalives_idle", "30".to_owned()),
        ("tcp_keepalives_interval", "10".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
    ];
    let (names, values): (Vec<&str>, Vec<String>) = settings.into_iter().unzip();
    sqlx::query(set).persistent(false).bind(names).bind(values).execute(&mut *connection).await?;
    // Not every platform can: then a statement that nobody waits for ends by its own time.
    let check = sqlx::query("SELECT set_config('client_connection_check_interval', $1, false)").persistent(false);
    match check.bind(CHECK_CLIENT).execute(connection).await {
        Err(error @ sqlx::Error::Io(_)) => Err(error),
        _ => Ok(()),
    }
}

async fn within<T>(time: Duration, call: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    let elapsed = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    timeout(time, call).await.map_err(elapsed)?
}
