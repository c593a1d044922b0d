//! The servers that the database may be at, and which of them to use now.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::{Instant, sleep, timeout};

use super::url::{Host, TargetSessionAttrs};

/// For a server to take a connection in.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
const PAUSE_FIRST: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Cheap to clone; clones share what is known.
#[derive(Debug, Clone)]
pub struct Hosts {
    all: Arc<[Host]>,
    wanted: TargetSessionAttrs,
    /// Connections from before are of a server that is not to be used any more.
    moved: Arc<Mutex<Instant>>,
    /// The server in use takes writes.
    writable: Arc<AtomicBool>,
}

/// A connection to the server that was picked.
#[derive(Debug)]
pub struct Picked {
    pub connection: PgConnection,
    pub options: PgConnectOptions,
    pub is_writable: bool,
}

/// Why none was picked.
#[derive(Debug, thiserror::Error)]
#[error("{}", .causes.join("; "))]
pub struct NoHost {
    causes: Vec<String>,
    /// Trying again may help: at least one refused for a reason that passes, or said nothing.
    pub may_pass: bool,
    /// None of them said anything.
    pub is_silent: bool,
    /// What to do about the last of them, where that is known.
    pub remedy: Option<&'static str>,
}

impl Hosts {
    pub fn new(all: Vec<Host>, wanted: TargetSessionAttrs) -> Hosts {
        let moved = Arc::new(Mutex::new(Instant::now()));
        Hosts { all: all.into(), wanted, moved, writable: Arc::new(AtomicBool::new(false)) }
    }

    /// The embedded server alone.
    pub fn of(options: PgConnectOptions) -> Hosts {
        Hosts::new(vec![Host { options, name: "the embedded server".to_owned() }], TargetSessionAttrs::Any)
    }

    /// Connects to the first server that can be written to; to one that can't where that is all there is and nothing
    /// else was asked for.
    ///
    /// # Errors
    /// Causes, one for each server.
    pub async fn pick(&self) -> Result<Picked, NoHost> {
        let (mut causes, mut may_pass, mut is_silent, mut readable) = (Vec::new(), false, true, None);
        let mut remedy = None;
        for host in &*self.all {
            let looked = timeout(CONNECT_WITHIN, look(&host.options)).await;
            is_silent &= looked.is_err();
            match looked {
                Ok(Ok(picked)) if picked.is_writable => return Ok(picked),
                Ok(Ok(picked)) => {
                    causes.push(format!("{}: it can only be read", host.name));
                    may_pass = true;
                    if self.wanted == TargetSessionAttrs::Any {
                        readable.get_or_insert(picked);
                    }
                }
                Ok(Err(error)) => {
                    may_pass |= passes(&error);
                    remedy = remedy_of(&error);
                    causes.push(format!("{}: {}", host.name, told(&error)));
                }
                Err(_) => {
                    causes.push(format!("{}: no answer within {} s", host.name, CONNECT_WITHIN.as_secs()));
                    may_pass = true;
                }
            }
        }
        readable.ok_or(NoHost { causes, may_pass, is_silent, remedy })
    }

    /// Picks, for as long as `patience` lasts where trying again may help: a database may start beside its service.
    ///
    /// # Errors
    /// Causes of the last try, one for each server.
    pub async fn pick_patiently(&self, patience: Duration) -> Result<Picked, NoHost> {
        let started = Instant::now();
        let mut pause = PAUSE_FIRST;
        loop {
            match self.pick().await {
                Err(error) if error.may_pass && started.elapsed() + pause < patience => {
                    if pause == PAUSE_FIRST {
                        tracing::warn!(%error, "the database does not take connections yet; trying on");
                    }
                }
                outcome => return outcome,
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The longest that a pick can take.
    pub fn pick_within(&self) -> Duration {
        CONNECT_WITHIN * u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Connections made until now are to be used no more.
    pub fn have_moved(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Notes whether the server in use takes writes.
    pub fn note_writable(&self, writable: bool) {
        self.writable.store(writable, Ordering::Release);
    }

    /// Refuses a new connection to a server that can only be read while another takes writes: one that was begun before
    /// the move to that other and ended after it looks as if it were of now.
    pub async fn admit(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        if is_writable(connection).await? || !self.writable.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(std::io::Error::other("this server can only be read, and another takes writes").into())
    }

    /// Returns true if a connection of this age is still of the right server.
    pub fn is_current(&self, age: Duration) -> bool {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= age
    }
}

async fn look(options: &PgConnectOptions) -> sqlx::Result<Picked> {
    let mut connection = options.connect().await?;
    let is_writable = is_writable(&mut connection).await?;
    Ok(Picked { connection, options: options.clone(), is_writable })
}

/// Returns true if a new transaction on this connection could write.
pub async fn is_writable(connection: &mut PgConnection) -> sqlx::Result<bool> {
    connection.ping().await?;
    sqlx::query_scalar("SELECT current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery()")
        .fetch_one(connection)
        .await
}

/// Returns true if a server that refuses with this error may take the same connection later.
fn passes(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code();
            // A wrong password, an unknown user or database, and whatever else the server finds wrong with us.
            !code.is_some_and(|code| ["28", "3D", "42", "0A", "22"].iter().any(|class| code.starts_with(class)))
        }
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        _ => false,
    }
}

/// What an operator does about a server that was not reached, or lets nobody in.
fn remedy_of(error: &sqlx::Error) -> Option<&'static str> {
    const REFUSED: &str = "mend user and password in DATABASE_URL, or the server's pg_hba.conf";
    const NO_DATABASE: &str = "make the database (`createdb`), or name another in DATABASE_URL";
    const FULL: &str =
        "the server has no connection left: raise its max_connections, or lower database.max_connections";
    const DOWN: &str = "start the server, or mend host and port in DATABASE_URL";
    const NO_HOST: &str =
        "mend the host in DATABASE_URL, or see that this machine may go there (name, route, firewall)";
    match error {
        sqlx::Error::Database(error) => match error.code()?.as_ref() {
            "28P01" | "28000" => Some(REFUSED),
            "3D000" => Some(NO_DATABASE),
            "53300" => Some(FULL),
            _ => None,
        },
        sqlx::Error::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => Some(DOWN),
            _ => Some(NO_HOST),
        },
        _ => None,
    }
}

fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(database) => database.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
