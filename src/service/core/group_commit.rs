//! Group commit: appends that wait for the disk together go there together.
//!
//! Every durable commit costs a flush and every statement a fixed part, so what arrives while earlier writes are
//! under way is written by the next statement as a whole. An append that comes alone is written at once.
//!
//! The writers serve everybody, so nothing may hold them up for long: a session whose row somebody else holds is left
//! out of the group, and a large append does not come here.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::background::LargeValue;
use crate::service::core::error::ServiceError;
use crate::service::core::tenant::Tenant;
use crate::store::entries::{self, GuardedWrite, NewBranch, NewEntry, Patience, Write};
use crate::store::fault::in_doubt;
use crate::store::sessions::HeadRow;

/// Statements under way at the same time. A second one is prepared while the first waits for the disk; more would
/// only make the groups smaller.
const WRITERS: usize = 2;
/// How long a writer with nothing to do keeps its connection.
const LINGER: Duration = Duration::from_millis(100);
/// Most entries in a group of more than one append: a small append does not wait for many large ones.
const GROUP_ENTRIES: usize = 256;
/// Most text in such a group.
const GROUP_BYTES: usize = 1 << 20;
/// An append with more text than this is written outside of the groups.
const LARGE_BYTES: usize = 256 << 10;
/// After a group has met a locked row, how long the groups look before they reach for one.
const WARY_FOR: Duration = Duration::from_secs(1);

type PooledConnection = PoolConnection<Postgres>;

/// One append's write, on its way to the group that takes it.
#[derive(Debug)]
pub struct OneWrite {
    pub tenant: Tenant,
    pub session_id: Uuid,
    /// The head's version before.
    pub version: i64,
    pub head: HeadRow,
    pub entries: LargeValue<Vec<NewEntry>>,
    pub branches: Vec<NewBranch>,
    pub now: DateTime<Utc>,
}

impl OneWrite {
    fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.item.len()).sum()
    }

    /// Too large to share a statement: small ones would wait for it.
    pub fn is_large(&self) -> bool {
        self.bytes() > LARGE_BYTES
    }

    pub fn as_write(&self) -> Write<'_> {
        Write {
            session_id: self.session_id,
            version: self.version,
            head: &self.head,
            entries: &self.entries,
            branches: &self.branches,
            now: self.now,
        }
    }
}

/// Queue of waiting writes, and those who write them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GroupCommit {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
    /// The database says nothing any more: what was asked of it gets no answer.
    cut: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<WaitingWrite>,
    /// Writers there are, and those of them that have nothing to do.
    writers: usize,
    idle: usize,
    /// Until then the next groups may well meet a locked row again.
    wary_until: Option<Instant>,
}

#[derive(Debug)]
struct WaitingWrite {
    write: OneWrite,
    done: oneshot::Sender<WriteOutcome>,
}

/// Outcome of a write, told to the append that waited for it.
type WriteOutcome = std::result::Result<GuardedWrite, Failed>;

/// A write that was not acknowledged.
#[derive(Debug)]
pub enum Failed {
    /// Nothing was written.
    RolledBack(ServiceError),
    /// It may have landed.
    InDoubt,
}

impl GroupCommit {
    /// Writes, alone or with others; returns when it is durable. Dropping the future does not take the write back.
    pub async fn write(&self, pool: &PgPool, write: OneWrite) -> WriteOutcome {
        let (done, written) = oneshot::channel();
        if self.shared.arrive(WaitingWrite { write, done }) {
            let writer = GroupWriter { shared: Arc::clone(&self.shared), pool: pool.clone(), counted: true };
            tokio::spawn(writer.run());
        }
        // A writer that ended early may have written before.
        written.await.unwrap_or(Err(Failed::InDoubt))
    }

    /// Writes outside of the groups.
    pub async fn write_alone(&self, pool: &PgPool, write: &OneWrite) -> WriteOutcome {
        self.shared.write_alone(pool, write).await
    }

    /// Gives up the statements under way: the database says nothing any more, or is at another place. Writers would
    /// hang on it for as long as the network does, and everybody's appends with them.
    pub fn cut(&self) {
        self.shared.cut.notify_waiters();
    }
}

impl Shared {
    /// The outcome of a statement, unless the database falls silent meanwhile.
    async fn unless_cut<T>(&self, statement: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
        tokio::select! {
            biased;
            outcome = statement => outcome,
            () = self.cut.notified() => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a write wait for a writer; true: for a new one.
    fn arrive(&self, waiting: WaitingWrite) -> bool {
        let mut queue = self.queue();
        queue.waiting.push_back(waiting);
        if queue.idle > 0 {
            self.arrived.notify_one();
            return false;
        }
        let is_short = queue.writers < WRITERS;
        queue.writers += usize::from(is_short);
        is_short
    }

    /// Writes one append alone, and does not wait for its row.
    async fn write_alone(&self, pool: &PgPool, write: &OneWrite) -> WriteOutcome {
        let mut connection = pool.acquire().await.map_err(rolled_back)?;
        let row = write.as_write();
        let written = entries::try_write(&mut *connection, write.tenant.0, &row);
        self.unless_cut(written).await.map_err(failed)
    }

    fn patience(&self) -> Patience {
        let is_wary = self.queue().wary_until.is_some_and(|until| Instant::now() < until);
        if is_wary { Patience::None } else { Patience::Short }
    }

    fn be_wary(&self) {
        self.queue().wary_until = Some(Instant::now() + WARY_FOR);
    }
}

fn rolled_back(error: sqlx::Error) -> Failed {
    Failed::RolledBack(error.into())
}

fn failed(error: sqlx::Error) -> Failed {
    if in_doubt(&error) { Failed::InDoubt } else { rolled_back(error) }
}

impl Queue {
    /// The oldest write and those behind it that can share its statement: of the same tenant, each of another session.
    fn take(&mut self) -> Vec<WaitingWrite> {
        let mut group: Vec<WaitingWrite> = Vec::new();
        let (mut sessions, mut entries, mut bytes) = (HashSet::new(), 0, 0);
        let mut rest = VecDeque::new();
        for waiting in std::mem::take(&mut self.waiting) {
            let write = &waiting.write;
            let (size, length) = (entries + write.entries.len(), bytes + write.bytes());
            let first = group.first().map(|waiting| waiting.write.tenant);
            let fits = size <= GROUP_ENTRIES && length <= GROUP_BYTES;
            let joins = first.is_none_or(|tenant| tenant == write.tenant && fits);
            if joins && sessions.insert(write.session_id) {
                (entries, bytes) = (size, length);
                group.push(waiting);
            } else {
                rest.push_back(waiting);
            }
        }
        self.waiting = rest;
        group
    }
}

/// A task that writes groups, on one connection as long as it has work: its server process has plans and pages at hand.
struct GroupWriter {
    shared: Arc<Shared>,
    pool: PgPool,
    /// True: it counts among the queue's writers.
    counted: bool,
}

impl Drop for GroupWriter {
    fn drop(&mut self) {
        if self.counted {
            self.shared.queue().writers -= 1;
        }
    }
}

impl GroupWriter {
    async fn run(mut self) {
        let mut connection = None;
        while let Some(group) = self.next().await {
            connection = self.write(group, connection).await;
        }
    }

    /// The next group; `None` when nothing has come for a while. The writer stops to count, or begins to idle, under
    /// the lock that shows it an empty queue: no append can slip in between and wait for nobody.
    async fn next(&mut self) -> Option<Vec<WaitingWrite>> {
        let mut patient = true;
        loop {
            // Requests that are ready to run get as far as the queue first, and share the statement.
            tokio::task::yield_now().await;
            {
                let mut queue = self.shared.queue();
                let group = queue.take();
                if !group.is_empty() {
                    return Some(group);
                }
                if !patient {
                    queue.writers -= 1;
                    self.counted = false;
                    return None;
                }
                queue.idle += 1;
            }
            patient = timeout(LINGER, self.shared.arrived.notified()).await.is_ok();
            self.shared.queue().idle -= 1;
        }
    }

    /// Gives the connection back unless it failed.
    async fn write(&self, group: Vec<WaitingWrite>, connection: Option<PooledConnection>) -> Option<PooledConnection> {
        let acquired = match connection {
            Some(connection) => Ok(connection),
            None => self.pool.acquire().await,
        };
        let mut connection = match acquired {
            Ok(connection) => connection,
            Err(error) => {
                let why = error.to_string();
                for waiting in group {
                    let error = sqlx::Error::Io(std::io::Error::other(why.clone()));
                    let _ = waiting.done.send(Err(rolled_back(error)));
                }
                return None;
            }
        };
        match self.write_all(&group, &mut connection).await {
            Ok(written) => {
                for (waiting, written) in group.into_iter().zip(written) {
                    // Whoever is no longer there needs no answer.
                    let _ = waiting.done.send(Ok(written));
                }
                Some(connection)
            }
            // Each has to ask for itself.
            Err(error) if in_doubt(&error) => {
                tracing::warn!(%error, appends = group.len(), "a group was not acknowledged");
                for waiting in group {
                    let _ = waiting.done.send(Err(Failed::InDoubt));
                }
                None
            }
            // One of them was refused, and all were rolled back: each is tried alone.
            Err(_) => {
                drop(connection);
                for waiting in group {
                    let outcome = self.shared.write_alone(&self.pool, &waiting.write).await;
                    let _ = waiting.done.send(outcome);
                }
                None
            }
        }
    }

    async fn write_all(
        &self,
        group: &[WaitingWrite],
        connection: &mut PooledConnection,
    ) -> sqlx::Result<Vec<GuardedWrite>> {
        let writes: Vec<Write<'_>> = group.iter().map(|waiting| waiting.write.as_write()).collect();
        let Some(tenant) = group.first().map(|waiting| waiting.write.tenant) else { return Ok(Vec::new()) };
        let patience = self.shared.patience();
        let written = entries::write_all(&mut **connection, tenant.0, &writes, patience);
        match self.shared.unless_cut(written).await {
            Err(error) if patience != Patience::None && entries::is_lock_timeout(&error) => {
                self.shared.be_wary();
                let written = entries::write_all(&mut **connection, tenant.0, &writes, Patience::None);
                self.shared.unless_cut(written).await
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
