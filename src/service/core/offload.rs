//! Work that keeps a core busy leaves the threads that answer requests. How much there is decides: bytes of text, and
//! items and calls, each of which is work of its own. Only so much is worked on at a time, because parsed text takes a few
//! times its size. Work ends with whoever waits for it: its loops learn from `domain::model::abandoned` that nobody does.

use std::sync::{Arc, LazyLock};

use anyhow::Context as _;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::{JoinHandle, spawn_blocking};

#[cfg(test)]
pub use crate::background::at_usual_priority;
use crate::background::{self, FreeingLoad, LAST_BYTES};
use crate::domain::model::abandoned::JobWaiter;
use crate::domain::model::entry::EntryMeta;
use crate::service::core::error::Result;
use crate::store::entries::{NewEntry, StoredEntry};
use crate::store::large;

/// Up to here, going to another thread takes longer than the work.
const INLINE_BYTES: usize = 16 << 10;
/// Work on more than this waits for its share of [`LARGE`]; work on less never waits behind it.
const LARGE_BYTES: usize = 1 << 20;
/// See [`is_bulky`].
const BULKY_BYTES: usize = 8 << 20;
/// An item, a call or a result counts as so many bytes beside its own: about what its parts take in memory.
pub const PART_BYTES: usize = 256;
/// The same for a value, and for an object or a list around values, however few: a fifth of what they take parsed, since a
/// text takes a few times its size too.
const VALUE_BYTES: usize = 64;
/// Bytes that are looked through in the time of work on one.
const SCANNED_IN_ONE: usize = 16;

/// MiB of large work at a time for each core: two of the largest bodies on four cores, so that half of them stay free for
/// requests and the database.
const LARGE_MIB_PER_CORE: usize = 16;
const LEAST_LARGE_MIB: usize = 32;
const SMALL_AT_A_TIME: usize = 64;

static LARGE_MIB: LazyLock<u32> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from((cores * LARGE_MIB_PER_CORE).max(LEAST_LARGE_MIB)).unwrap_or(u32::MAX)
});
static LARGE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(*LARGE_MIB as usize));
static SMALL: Semaphore = Semaphore::const_new(SMALL_AT_A_TIME);

/// The bytes of raw items.
pub fn size(items: &[Box<RawValue>]) -> usize {
    items.iter().map(|item| item.get().len()).sum()
}

/// The work that raw items make: their bytes, and what their values take once they are parsed.
pub fn load(items: &[Box<RawValue>]) -> usize {
    let bytes = size(items);
    let values = || items.iter().map(|item| values(item.get().as_bytes())).sum::<usize>();
    // So much that it holds up others is gone through behind them, however little work each byte is.
    let work = if bytes > LAST_BYTES { bytes } else { bytes / SCANNED_IN_ONE };
    bytes + PART_BYTES * items.len() + VALUE_BYTES * large::in_place(work, values)
}

/// Returns true where items that are read take so much that few requests may hold them at a time: whoever takes them waits
/// for a lane before they are read.
pub fn is_bulky(items: &[Box<RawValue>]) -> bool {
    load(items) > BULKY_BYTES
}

/// About how many values a JSON text has beside its items: each begins an object or a list, or stands behind a comma.
fn values(text: &[u8]) -> usize {
    // In blocks whose count fits a byte, which the compiler counts many bytes at a time.
    let begins = |byte: &u8| u8::from(*byte == b',') + u8::from(*byte == b'{') + u8::from(*byte == b'[');
    let in_block = |block: &[u8]| usize::from(block.iter().map(begins).sum::<u8>());
    text.chunks(usize::from(u8::MAX)).map(in_block).sum()
}

/// The work that the shapes of entries make, their texts aside.
fn load_of_heads<'h>(heads: impl IntoIterator<Item = &'h EntryMeta>) -> usize {
    let parts = |head: &EntryMeta| 1 + head.shape.calls.len() + head.shape.results.len();
    PART_BYTES * heads.into_iter().map(parts).sum::<usize>()
}

impl FreeingLoad for Vec<EntryMeta> {
    fn freeing_load(&self) -> usize {
        load_of_heads(self)
    }
}

impl FreeingLoad for Vec<NewEntry> {
    fn freeing_load(&self) -> usize {
        load_of_heads(self.iter().map(|entry| &entry.head))
    }
}

impl FreeingLoad for Vec<Arc<StoredEntry>> {
    fn freeing_load(&self) -> usize {
        load_of_heads(self.iter().map(|stored| &stored.entry.head))
    }
}

/// Does a job of about so much work, in bytes of text, here or on a thread of its own.
///
/// # Errors
/// Where the job itself came to grief.
pub async fn offload<T: Send + 'static>(load: usize, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    if load <= INLINE_BYTES {
        return Ok(job());
    }
    let waiter = JobWaiter::default();
    let waiting = waiter.waiting();
    // Whoever asked may be gone: the share is given back when the work has ended, which it does soon then.
    let work = move |turn: SemaphorePermit<'static>| {
        let done = waiting.during(job);
        drop(turn);
        done
    };
    let done = match large_mib(load) {
        0 => {
            let turn = SMALL.acquire().await.context("waiting for a thread")?;
            spawn_blocking(|| work(turn))
        }
        mib => {
            let turn = LARGE.acquire_many(mib).await.context("waiting for a thread")?;
            background::spawn(load, || work(turn))
        }
    };
    joined(done, waiter).await
}

/// Does a job behind all requests, whatever its size: for what goes through a session stretch by stretch.
///
/// # Errors
/// Where the job itself came to grief.
pub async fn aside<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let waiter = JobWaiter::default();
    let waiting = waiter.waiting();
    joined(background::spawn(0, move || waiting.during(job)), waiter).await
}

async fn joined<T>(done: JoinHandle<Option<T>>, waiter: JobWaiter) -> Result<T> {
    let done = done.await.context("work on a thread of its own")?.context("work that nobody waited for")?;
    drop(waiter);
    Ok(done)
}

/// As [`offload`], for a job that borrows: it stays on this thread, which hands the other requests that it answers to
/// another one first. Nothing is handed over where one thread does all.
///
/// # Errors
/// Never, as long as the process runs.
pub async fn in_place<T: Send>(load: usize, job: impl FnOnce() -> T + Send) -> Result<T> {
    if load <= INLINE_BYTES {
        return Ok(job());
    }
    let _turn = match large_mib(load) {
        0 => SMALL.acquire().await.context("waiting for a thread")?,
        mib => LARGE.acquire_many(mib).await.context("waiting for a thread")?,
    };
    Ok(large::in_place(load, job))
}

/// MiB of [`LARGE`] that work takes: all of them where it is larger. 0: it is small.
fn large_mib(load: usize) -> u32 {
    u32::try_from(load / LARGE_BYTES).unwrap_or(u32::MAX).min(*LARGE_MIB)
}

#[cfg(test)]
mod tests;
