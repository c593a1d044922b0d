//! Group commit: appends that wait for the disk together go there together.
//!
//! Every durable commit costs a flush and every statement a fixed part, so what arrives while earlier writes are
//! under way is written by the next statement as a whole. An append that comes alone is written at once.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::service::error::{Result, ServiceError};
use crate::service::state::Tenant;
use crate::store::entries::{self, NewBranch, NewEntry, Write};
use crate::store::sessions::HeadRow;

/// Statements under way at the same time. A second one is prepared while the first waits for the disk; more would
/// only make the groups smaller.
const WRITERS: usize = 2;
/// Most entries in a group of more than one append: a small append does not wait for many large ones.
const GROUP_ENTRIES: usize = 256;

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
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    writers: usize,
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
        let is_writer_free = {
            let mut queue = self.queue();
            queue.waiting.push_back(Waiting { write, done });
            let free = queue.writers < WRITERS;
            queue.writers += usize::from(free);
            free
        };
        if is_writer_free {
            let writer = Writer { group: self.clone(), pool: pool.clone(), counted: true };
            tokio::spawn(writer.run());
        }
        let lost = |_| ServiceError::Internal(anyhow::anyhow!("the writer of a group ended early"));
        Ok(written.await.map_err(lost)??)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A task that writes groups until nothing waits.
struct Writer {
    group: GroupCommit,
    pool: PgPool,
    /// Whether it counts among the queue's writers.
    counted: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.counted {
            self.group.queue().writers -= 1;
        }
    }
}

impl Writer {
    async fn run(mut self) {
        while let Some(group) = self.next() {
            self.write(group).await;
        }
    }

    /// The next group. With nothing waiting the writer stops to count under the same lock, so that no append can
    /// slip in between and wait for nobody.
    fn next(&mut self) -> Option<Vec<Waiting>> {
        let mut queue = self.group.queue();
        let group = queue.take();
        if group.is_empty() {
            queue.writers -= 1;
            drop(queue);
            self.counted = false;
            return None;
        }
        Some(group)
    }

    async fn write(&self, group: Vec<Waiting>) {
        let Some(tenant) = group.first().map(|waiting| waiting.write.tenant) else { return };
        let writes: Vec<Write<'_>> = group.iter().map(|waiting| waiting.write.as_write()).collect();
        match entries::write_all(&self.pool, tenant.0, &writes).await {
            Ok(written) => {
                for waiting in group {
                    let held = written.contains(&waiting.write.session_id);
                    // Whoever is no longer there needs no answer.
                    let _ = waiting.done.send(Ok(held));
                }
            }
            // One of them was refused, or the connection is gone, and all were rolled back: each is tried alone.
            Err(_) => {
                for waiting in group {
                    let outcome = entries::write(&self.pool, tenant.0, &waiting.write.as_write()).await;
                    let _ = waiting.done.send(outcome);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
