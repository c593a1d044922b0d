//! Threads behind all requests, for what keeps a core busy for long: a large body that is read or written, a whole session
//! that is gone through. They run at a lower priority, so that on a full machine a quick request takes its core from
//! them. What a compaction does keeps the usual priority: an agent may need it soon. Where other programs fill the cores,
//! such threads starve behind them too, so how far they step back can be set.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

const THREADS: usize = 64;
const KEPT_IDLE: Duration = Duration::from_secs(10);
/// Added to the process's own: at 10, such a thread gets about a tenth of what another gets for the same core.
pub const STEP_BACK: u8 = 10;

static NICE: AtomicU8 = AtomicU8::new(STEP_BACK);

static POOL: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(THREADS).thread_keep_alive(KEPT_IDLE).thread_name("contextd-background");
    let built = builder.on_thread_start(step_back).build();
    built.inspect_err(|error| tracing::warn!(%error, "no threads of lower priority")).ok()
});

/// How far its threads step back, from 0 (not at all) to 19. Threads that have begun keep what they have.
pub fn step_back_by(nice: u8) {
    NICE.store(nice, Ordering::Relaxed);
}

tokio::task_local! {
    static AT_USUAL_PRIORITY: ();
}

/// Carries out work whose own jobs are done at the usual priority.
pub async fn at_usual_priority<F: Future>(work: F) -> F::Output {
    AT_USUAL_PRIORITY.scope((), work).await
}

/// Does a job there, also when nobody waits for its end any more.
pub fn spawn<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match &*POOL {
        Some(pool) if AT_USUAL_PRIORITY.try_with(|()| ()).is_err() => pool.spawn_blocking(job),
        _ => tokio::task::spawn_blocking(job),
    }
}

/// Only Linux has a priority for each thread; where it is refused, the work is done at the usual one.
#[cfg(target_os = "linux")]
fn step_back() {
    let lowered = rustix::process::getpriority_process(None).and_then(|now| {
        rustix::process::setpriority_process(None, now.saturating_add(NICE.load(Ordering::Relaxed).into()))
    });
    if let Err(error) = lowered {
        tracing::debug!(%error, "a thread stays at the usual priority");
    }
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    #[tokio::test]
    async fn its_threads_stand_behind_all_others() {
        let usual = getpriority_process(None).unwrap();
        let there = super::spawn(|| getpriority_process(None).unwrap()).await.unwrap();
        assert!(there > usual || usual == 19, "{there} beside {usual}");
        assert_eq!(getpriority_process(None).unwrap(), usual);
        let needed = super::at_usual_priority(async { super::spawn(|| getpriority_process(None).unwrap()).await });
        assert_eq!(needed.await.unwrap(), usual);
    }
}
