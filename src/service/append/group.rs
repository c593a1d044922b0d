//! Group commit: appends that wait for the disk together go there together.
//!
//! Every durable commit costs a flush and every statement a fixed part, so what arrives while earlier writes are
//! under way is written by the next statement as a whole. An append that comes alone is written at once.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

use crate::service::error::{Result, ServiceError};
use crate::service::state::Tenant;
use crate::store::entries::{self, NewBranch, NewEntry, Write};
use crate::store::sessions::HeadRow;

/// Statements under way at the same time. A second one is prepared while the first waits for the disk; more would
/// only make the groups smaller.
const WRITERS: usize = 2;
/// How long a writer with nothing to do keeps its connection.
const LINGER: Duration = Duration::from_millis(100);
/// Most entries in a group of more than one append: a small append does not wait for many large ones.
const GROUP_ENTRIES: usize = 256;

type Connection = PoolConnection<Postgres>;

/// One append's write, on its way to the group that takes it.
#[derive(Debug)]
pub struct OneWrite {
    pub tenant: Tenant,
    pub session_id: Uuid,
    /// The head's version before.
    pub version: i64,
    pub head: HeadRow,
    pub entries: Vec<NewEntry>,
    pub branches: Vec<NewBranch>,
    pub now: DateTime<Utc>,
}

impl OneWrite {
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

/// What waits and who writes. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GroupCommit {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Writers there are, and those of them that have nothing to do.
    writers: usize,
    idle: usize,
}

#[derive(Debug)]
struct Waiting {
    write: OneWrite,
    /// Told whether the head's version still held.
    done: oneshot::Sender<sqlx::Result<bool>>,
}

impl GroupCommit {
    /// Writes, alone or with others; returns when it is durable. False when the head's version has moved.
    /// Dropping the future does not take the write back.
    pub async fn write(&self, pool: &PgPool, write: OneWrite) -> Result<bool> {
        let (done, written) = oneshot::channel();
        if self.shared.arrive(Waiting { write, done }) {
            let writer = Writer { shared: Arc::clone(&self.shared), pool: pool.clone(), counted: true };
            tokio::spawn(writer.run());
        }
        let lost = |_| ServiceError::Internal(anyhow::anyhow!("the writer of a group ended early"));
        Ok(written.await.map_err(lost)??)
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a write wait for a writer; true: for a new one.
    fn arrive(&self, waiting: Waiting) -> bool {
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
}

impl Queue {
    /// The oldest write and those behind it that can share its statement: of the same tenant, each of another session.
    fn take(&mut self) -> Vec<Waiting> {
        let mut group: Vec<Waiting> = Vec::new();
        let (mut sessions, mut entries) = (HashSet::new(), 0);
        let mut rest = VecDeque::new();
        for waiting in std::mem::take(&mut self.waiting) {
            let write = &waiting.write;
            let size = entries + write.entries.len();
            let first = group.first().map(|waiting| waiting.write.tenant);
            let joins = first.is_none_or(|tenant| tenant == write.tenant && size <= GROUP_ENTRIES);
            if joins && sessions.insert(write.session_id) {
                entries = size;
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
struct Writer {
    shared: Arc<Shared>,
    pool: PgPool,
    /// Whether it counts among the queue's writers.
    counted: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.counted {
            self.shared.queue().writers -= 1;
        }
    }
}

impl Writer {
    async fn run(mut self) {
        let mut connection = None;
        while let Some(group) = self.next().await {
            connection = self.write(group, connection).await;
        }
    }

    /// The next group; `None` when nothing has come for a while. The writer stops to count, or begins to idle, under
    /// the lock that shows it an empty queue: no append can slip in between and wait for nobody.
    async fn next(&mut self) -> Option<Vec<Waiting>> {
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
    async fn write(&self, group: Vec<Waiting>, connection: Option<Connection>) -> Option<Connection> {
        let tenant = group.first()?.write.tenant;
        let writes: Vec<Write<'_>> = group.iter().map(|waiting| waiting.write.as_write()).collect();
        match self.write_all(tenant, &writes, connection).await {
            Ok((written, connection)) => {
                for waiting in group {
                    // Whoever is no longer there needs no answer.
                    let _ = waiting.done.send(Ok(written.contains(&waiting.write.session_id)));
                }
                Some(connection)
            }
            // One of them was refused, or the connection is gone, and all were rolled back: each is tried alone.
            Err(_) => {
                for waiting in group {
                    let outcome = entries::write(&self.pool, tenant.0, &waiting.write.as_write()).await;
                    let _ = waiting.done.send(outcome);
                }
                None
            }
        }
    }

    async fn write_all(
        &self,
        tenant: Tenant,
        writes: &[Write<'_>],
        connection: Option<Connection>,
    ) -> sqlx::Result<(Vec<Uuid>, Connection)> {
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        let written = entries::write_all(&mut *connection, tenant.0, writes).await?;
        Ok((written, connection))
    }
}

#[cfg(test)]
mod tests;
