//! The thread that keeps the server running: it spawns it, starts it again when it dies, and stops it at the end.

use std::convert::Infallible;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cluster::Cluster;
use super::error::StartError;

const WATCH: Duration = Duration::from_millis(100);
const FOLLOW: Duration = Duration::from_millis(250);
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// A server that lived this long was fine: its end starts the back-off anew.
const STABLE: Duration = Duration::from_secs(30);

/// How the server is asked to end, and the share of the time that each way gets. `SIGINT`: fast; `SIGQUIT`: at once,
/// with recovery at the next start.
const STOP_STEPS: [(Signal, f64); 3] = [(Signal::SIGINT, 0.7), (Signal::SIGQUIT, 0.2), (Signal::SIGKILL, 0.1)];
/// For all of them, when nobody says otherwise.
pub(super) const STOP_WITHIN: Duration = Duration::from_secs(15);

/// State that the supervisor shares with the rest of the process.
#[derive(Debug, Default)]
pub(super) struct ServerStatus {
    /// 0: this process runs no server now.
    pid: AtomicU32,
    failure: Mutex<Option<StartError>>,
    /// Time that stopping may take.
    patience: Mutex<Option<Duration>>,
}

impl ServerStatus {
    pub fn pid(&self) -> Option<u32> {
        match self.pid.load(Ordering::Relaxed) {
            0 => None,
            pid => Some(pid),
        }
    }

    /// Why the server could not be spawned at the last try. A server that was spawned and ended is not a failure but tried again.
    pub fn failure(&self) -> Option<StartError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_patience(&self, patience: Duration) {
        *self.patience.lock().unwrap_or_else(PoisonError::into_inner) = Some(patience);
    }

    fn patience(&self) -> Duration {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(STOP_WITHIN)
    }

    fn set_failure(&self, failure: Option<StartError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

/// Returns when `stop`'s sender is dropped, with the server stopped.
pub(super) fn run(cluster: &Cluster, stop: &Receiver<Infallible>, status: &ServerStatus) {
    let mut lock = None;
    let mut backoff = BACKOFF_FIRST;
    loop {
        if lock.is_none() {
            match cluster.try_lock() {
                Ok(taken) => lock = taken,
                Err(error) => status.set_failure(Some(error)),
            }
        }
        if lock.is_none() {
            if stopped(stop, FOLLOW) {
                return;
            }
            continue;
        }
        let started = Instant::now();
        if own(cluster, stop, status) {
            return;
        }
        backoff = if started.elapsed() > STABLE { BACKOFF_FIRST } else { (backoff * 2).min(BACKOFF_MAX) };
        if stopped(stop, backoff) {
            return;
        }
        // Whoever waits for the first start reports the failure and stops us; after that only the log can.
        if let Some(error) = status.failure() {
            tracing::error!(%error, "the embedded PostgreSQL cannot be started");
        }
    }
}

/// One life of the server. True: it was stopped on purpose.
fn own(cluster: &Cluster, stop: &Receiver<Infallible>, status: &ServerStatus) -> bool {
    let mut child = match cluster.spawn() {
        Ok(child) => child,
        Err(error) => {
            status.set_failure(Some(error));
            return false;
        }
    };
    status.set_failure(None);
    status.pid.store(child.id(), Ordering::Relaxed);
    let on_purpose = watch(&mut child, stop, status);
    status.pid.store(0, Ordering::Relaxed);
    on_purpose
}

fn watch(child: &mut Child, stop: &Receiver<Infallible>, status: &ServerStatus) -> bool {
    loop {
        if stopped(stop, WATCH) {
            end(child, status.patience());
            return true;
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(exit)) => {
                tracing::warn!(%exit, "the embedded PostgreSQL ended; starting it again");
                return false;
            }
            Err(error) => tracing::warn!(%error, "the embedded PostgreSQL cannot be watched"),
        }
    }
}

fn end(child: &mut Child, within: Duration) {
    let Ok(pid) = i32::try_from(child.id()) else { return };
    for (signal, share) in STOP_STEPS {
        // The child is not reaped yet, so its id is still its own.
        if let Err(error) = kill(Pid::from_raw(pid), signal) {
            tracing::warn!(%error, %signal, "the embedded PostgreSQL cannot be signalled");
        }
        let asked = Instant::now();
        while asked.elapsed() < within.mul_f64(share) {
            if matches!(child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        tracing::warn!(%signal, "the embedded PostgreSQL still runs");
    }
}

/// Waits; true when the stop was asked for.
fn stopped(stop: &Receiver<Infallible>, patience: Duration) -> bool {
    !matches!(stop.recv_timeout(patience), Err(RecvTimeoutError::Timeout))
}
