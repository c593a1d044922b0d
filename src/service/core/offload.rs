//! Work that keeps a core busy leaves the threads that answer requests. How much text it is about decides, never how
//! many items hold it; and only so much text is worked on at a time, because parsed text takes a few times its size.

use std::sync::LazyLock;

use anyhow::Context as _;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::background;
use crate::service::core::error::Result;

/// Up to here, going to another thread takes longer than the work.
const INLINE_BYTES: usize = 16 << 10;
/// Work on more than this waits for its share of [`LARGE`]; work on less never waits behind it.
const LARGE_BYTES: usize = 1 << 20;

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

/// Does a job that is about `bytes` of text, here or on a thread of its own.
///
/// # Errors
/// Where the job itself came to grief.
pub async fn offload<T: Send + 'static>(bytes: usize, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    if bytes <= INLINE_BYTES {
        return Ok(job());
    }
    let done = match u32::try_from(bytes / LARGE_BYTES).unwrap_or(*LARGE_MIB) {
        0 => {
            let turn = SMALL.acquire().await.context("waiting for a thread")?;
            tokio::task::spawn_blocking(|| with(turn, job))
        }
        mib => {
            let turn = LARGE.acquire_many(mib.min(*LARGE_MIB)).await.context("waiting for a thread")?;
            background::spawn(|| with(turn, job))
        }
    };
    Ok(done.await.context("work on a thread of its own")?)
}

/// Whoever asked may be gone: the share is given back when the work has ended.
fn with<T>(_turn: SemaphorePermit<'static>, job: impl FnOnce() -> T) -> T {
    job()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn bytes_decide_where_a_job_runs() {
        let here = thread::current().id();
        for (bytes, stays) in [(0, true), (INLINE_BYTES, true), (INLINE_BYTES + 1, false), (30 << 20, false)] {
            let ran = offload(bytes, || thread::current().id()).await.unwrap();
            assert_eq!(ran == here, stays, "{bytes}");
        }
    }

    #[tokio::test]
    async fn small_work_never_waits_behind_large() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let held = tokio::spawn(offload(usize::MAX, move || wait.recv().is_ok()));
        while LARGE.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let mut second = Box::pin(offload(2 << 20, || ()));
        assert!(futures::poll!(second.as_mut()).is_pending());
        offload(LARGE_BYTES - 1, || ()).await.unwrap();
        go.send(()).unwrap();
        assert!(held.await.unwrap().unwrap());
        second.await.unwrap();
    }
}
