//! A look at the database every second, on a connection of its own: is it there, can it be written to, has it room.
//!
//! Findings decide where the pool connects to, what `/readyz` says, and when requests that hang on a database that
//! says nothing are given up.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::hosts::{Hosts, NoHost, Picked, is_writable};
use crate::service::ops::health::DatabaseHealth;
use crate::service::ops::readiness::Health;
use crate::store::fault::{DatabaseFault, fault};

const EVERY: Duration = Duration::from_secs(1);
/// Between two looks for room, as long as there was some.
const ROOM_EVERY: Duration = Duration::from_secs(5);
/// One look at a server that is connected to, and what its statements get where it must be found first.
const LOOK_WITHIN: Duration = Duration::from_secs(4);
const GRACE: Duration = Duration::from_millis(500);

/// Rows here have to be given new pages each time, and leave nothing behind: neither rows nor a log of them.
const ROOM_TABLE: &str = "CREATE TEMPORARY TABLE IF NOT EXISTS contextd_room (filler text) ON COMMIT DELETE ROWS";
const TAKE_ROOM: &str = "INSERT INTO contextd_room SELECT repeat('x', 1000) FROM generate_series(1, 64)";

/// The watch over one database.
pub struct Watch {
    pub hosts: Hosts,
    pub pool: PgPool,
    pub health: Health,
    /// Silence for longer ends the requests that wait for an answer.
    pub silence: Duration,
}

/// State that a watch keeps between two looks.
struct Eyes {
    connection: Option<PgConnection>,
    room_seen: Option<Instant>,
}

impl Watch {
    /// Watches until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut eyes = Eyes { connection: None, room_seen: None };
        let mut answered = Instant::now();
        loop {
            match self.look_in_time(&mut eyes).await {
                Some(health) => {
                    answered = Instant::now();
                    self.health.set(health);
                }
                None => eyes.connection = None,
            }
            if answered.elapsed() >= self.silence {
                self.health.set(DatabaseHealth::Silent);
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(EVERY) => {}
            }
        }
    }

    /// `None`: it said nothing.
    async fn look_in_time(&self, eyes: &mut Eyes) -> Option<DatabaseHealth> {
        let within = if eyes.connection.is_some() { LOOK_WITHIN.min(self.silence) } else { self.hosts.pick_within() };
        match timeout(within + GRACE, self.look(eyes)).await {
            Ok(Ok(health)) => Some(health),
            Ok(Err(error)) if error.downcast_ref::<NoHost>().is_some_and(|error| error.is_silent) => None,
            // It speaks, if only to refuse: requests find out for themselves.
            Ok(Err(error)) => {
                eyes.connection = None;
                tracing::debug!(%error, "the database can't be watched");
                Some(DatabaseHealth::Away)
            }
            Err(_) => None,
        }
    }

    async fn look(&self, eyes: &mut Eyes) -> anyhow::Result<DatabaseHealth> {
        if eyes.connection.is_none() {
            let picked = self.hosts.pick().await?;
            self.use_from_now_on(&picked);
            *eyes = Eyes { connection: Some(picked.connection), room_seen: None };
        }
        let Some(connection) = &mut eyes.connection else { return Ok(DatabaseHealth::Away) };
        if !is_writable(connection).await? {
            // Perhaps another one has taken its place, if need be under the same name.
            let picked = self.hosts.pick().await?;
            if !picked.is_writable {
                self.hosts.note_writable(false);
                return Ok(DatabaseHealth::ReadOnly);
            }
            self.use_from_now_on(&picked);
            *connection = picked.connection;
            eyes.room_seen = None;
        }
        self.hosts.note_writable(true);
        if eyes.room_seen.is_none_or(|seen| seen.elapsed() >= ROOM_EVERY) {
            eyes.room_seen = None;
            if !has_room(connection).await? {
                return Ok(DatabaseHealth::StorageFull);
            }
            eyes.room_seen = Some(Instant::now());
        }
        Ok(DatabaseHealth::Fine)
    }

    /// New connections go there; those made before are used no more: under the same name it may be another server too.
    fn use_from_now_on(&self, picked: &Picked) {
        let now = self.pool.connect_options();
        let place = |options: &sqlx::postgres::PgConnectOptions| {
            (options.get_host().to_owned(), options.get_port(), options.get_socket().map(|path| path.to_path_buf()))
        };
        if place(&now) != place(&picked.options) {
            let (host, port) = (picked.options.get_host(), picked.options.get_port());
            tracing::warn!(host, port, "the database is at another server from now on");
            self.pool.set_connect_options(picked.options.clone());
            self.health.database_has_moved();
        }
        self.hosts.note_writable(picked.is_writable);
        self.hosts.have_moved();
    }
}

/// Returns true if a table can grow, or if that can't be tried.
async fn has_room(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let mut transaction = connection.begin().await?;
    let tried = async {
        (&mut *transaction).execute(ROOM_TABLE).await?;
        (&mut *transaction).execute(TAKE_ROOM).await.map(drop)
    }
    .await;
    match tried {
        Ok(()) => transaction.commit().await.map(|()| true),
        Err(error) if fault(&error) == Some(DatabaseFault::StorageFull) => transaction.rollback().await.map(|()| false),
        // Whoever may make no tables of his own finds out when he writes.
        Err(sqlx::Error::Database(_)) => transaction.rollback().await.map(|()| true),
        Err(error) => Err(error),
    }
}
