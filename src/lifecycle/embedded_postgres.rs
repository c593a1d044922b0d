//! The embedded default: a private PostgreSQL under the data directory, started, watched and stopped by this process.
//!
//! One process owns the server: the one that holds the lock file. Every other process on the same data directory
//! connects to the owner's server and takes over when the owner goes away.

mod binaries;
mod cluster;
mod detect;
mod error;
mod identity;
mod spawn;
mod supervisor;

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection};

use crate::background::take_usual_turns;

use cluster::Cluster;
use supervisor::ServerStatus;

pub use error::StartError;

/// Covers a predecessor that was killed: its lock files, its backends and its crash recovery go away by themselves.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const READY_POLL: Duration = Duration::from_millis(20);

/// A running (or followed) server. Stop it with [`EmbeddedPostgres::stop`]; dropping it stops the server too, without waiting.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    options: PgConnectOptions,
    status: Arc<ServerStatus>,
    stop: Option<mpsc::Sender<std::convert::Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// The folder of the programs that a first start would use. Starts and makes nothing.
///
/// # Errors
/// There are none.
pub fn programs(data_dir: &Path, pg_bin: Option<&Path>) -> Result<PathBuf, StartError> {
    binaries::find(data_dir, pg_bin, None).map(|found| found.directory)
}

impl EmbeddedPostgres {
    /// Starts or joins the server of `data_dir` and waits until it answers. `pg_bin` names the folder of the binaries and
    /// goes before every other place.
    ///
    /// # Errors
    /// No usable binaries, a directory that cannot be written, a failed `initdb`, or a server that does not answer in time.
    pub async fn start(data_dir: &Path, pg_bin: Option<&Path>) -> Result<Self, StartError> {
        let (data_dir, pg_bin) = (data_dir.to_path_buf(), pg_bin.map(Path::to_path_buf));
        let cluster = tokio::task::spawn_blocking(move || Cluster::locate(&data_dir, pg_bin))
            .await
            .map_err(|error| StartError::io("the start was interrupted", error))??;
        let options = connect_options(&cluster.socket_dir);
        let log = cluster.log_file();
        let status = Arc::new(ServerStatus::default());
        let (stop, stopped) = mpsc::channel();
        let watched = Arc::clone(&status);
        // A thread of its own: the kernel ties the parent-death signal to the thread that spawned the server.
        let thread = std::thread::Builder::new()
            .name("embedded-postgres".into())
            .spawn(move || {
                // The server would inherit the turns of a thread that answers requests.
                take_usual_turns();
                supervisor::run(&cluster, &stopped, &watched)
            })
            .map_err(|error| StartError::io("the supervisor thread", error))?;
        let server = Self { options, status, stop: Some(stop), thread: Some(thread) };
        server.wait_until_ready(&log).await?;
        Ok(server)
    }

    async fn wait_until_ready(&self, log: &Path) -> Result<(), StartError> {
        let started = Instant::now();
        loop {
            let cause = match self.options.connect().await {
                Ok(connection) => {
                    // The answer is what counts: how this connection closes does not.
                    let _ = connection.close().await;
                    return Ok(());
                }
                Err(error) => error.to_string(),
            };
            if let Some(error) = self.status.failure() {
                return Err(error);
            }
            if started.elapsed() > START_TIMEOUT {
                let cause = format!("{cause}; {} ends with: {}", log.display(), cluster::tail(log));
                return Err(StartError::NotReady { seconds: START_TIMEOUT.as_secs(), cause });
            }
            tokio::time::sleep(READY_POLL).await;
        }
    }

    /// How to connect; the database's name can be changed with [`PgConnectOptions::database`].
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Returns true if this process runs the server (`false`: it follows another process's).
    pub fn owned(&self) -> bool {
        self.status.pid().is_some()
    }

    /// Stops the server when this process owns it, and waits for that. A server that does not end within `patience` is ended
    /// at once, and recovers at the next start.
    pub async fn stop_within(mut self, patience: Duration) {
        self.status.set_patience(patience);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the embedded PostgreSQL's supervisor did not end cleanly");
            }
        }
    }
}

fn connect_options(socket_dir: &Path) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(PathBuf::from(socket_dir))
        .port(cluster::PORT)
        .username(cluster::USER)
        .database("postgres")
        .ssl_mode(PgSslMode::Disable)
        .application_name("contextd")
}
