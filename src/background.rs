//! Threads behind all requests, for what keeps a core busy for long: a large body that is read or written, a whole session
//! that is gone through. They run at a lower priority, so that on a full machine a quick request takes its core from
//! them. The largest jobs run on threads that Linux calls idle: whoever else wakes up takes their core at once, where others
//! let the rest of a time slice pass first. What a compaction does keeps the usual priority: an agent may need it soon.
//! Where other programs fill the cores, all these threads starve behind them too, so how far they step back can be set.

mod large_value;
#[cfg(target_os = "linux")]
mod turns;

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

pub use large_value::{FreeingLoad, LargeValue};
#[cfg(target_os = "linux")]
pub use turns::{take_short_turns, take_usual_turns};

/// Only Linux has turns of a length of its own for each thread.
#[cfg(not(target_os = "linux"))]
pub fn take_short_turns() {}

#[cfg(not(target_os = "linux"))]
pub fn take_usual_turns() {}

const NAME: &str = "contextd-background";
const THREADS: usize = 64;
const KEPT_IDLE: Duration = Duration::from_secs(10);
/// Added to the process's own: at 10, such a thread gets about a tenth of what another gets for the same core.
pub const STEP_BACK: u8 = 10;

static NICE: AtomicU8 = AtomicU8::new(STEP_BACK);

static POOL: LazyLock<Option<Runtime>> = LazyLock::new(|| pool(step_back));
static LAST_POOL: LazyLock<Option<Runtime>> = LazyLock::new(|| pool(stand_last));

fn pool(on_start: fn()) -> Option<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(THREADS).thread_keep_alive(KEPT_IDLE).thread_name(NAME);
    let built = builder.on_thread_start(on_start).build();
    built.inspect_err(|error| tracing::warn!(%error, "no threads of lower priority")).ok()
}

/// Jobs of so much work stand behind everything. Smaller ones get their share on a full machine.
pub const LAST_BYTES: usize = 8 << 20;

/// How far its threads step back, from 0 (not at all) to 19. Threads that have begun keep what they have.
pub fn step_back_by(nice: u8) {
    NICE.store(nice, Ordering::Relaxed);
}

thread_local! {
    static STANDS_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Returns true on such a thread.
fn stands_back() -> bool {
    STANDS_BACK.get()
}

tokio::task_local! {
    static AT_USUAL_PRIORITY: ();
}

/// Carries out work whose own jobs are done at the usual priority.
pub async fn at_usual_priority<F: Future>(work: F) -> F::Output {
    AT_USUAL_PRIORITY.scope((), work).await
}

/// Does a job of about so much work there, also when nobody waits for its end any more.
pub fn spawn<T: Send + 'static>(load: usize, job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let pool = if load > LAST_BYTES { &*LAST_POOL } else { &*POOL };
    match pool {
        Some(pool) if !is_at_usual_priority() => pool.spawn_blocking(job),
        _ => tokio::task::spawn_blocking(job),
    }
}

fn is_at_usual_priority() -> bool {
    AT_USUAL_PRIORITY.try_with(|()| ()).is_ok()
}

/// Does a job of about so much work that borrows, while this thread waits: on a thread of its own at the lower priority, or
/// here where what is carried out keeps the usual one.
pub fn beside<T: Send>(load: usize, job: impl FnOnce() -> T + Send) -> T {
    if is_at_usual_priority() {
        return job();
    }
    let mut job = Some(job);
    let done = thread::scope(|scope| {
        let work = || {
            if load > LAST_BYTES {
                stand_last()
            } else {
                step_back()
            }
            job.take().map(|job| job())
        };
        let there = thread::Builder::new().name(NAME.to_owned()).spawn_scoped(scope, work).ok()?;
        there.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    // Where no thread is to be had, the job is still to be done.
    match (done, job) {
        (Some(done), _) => done,
        (None, Some(job)) => job(),
        (None, None) => unreachable!("a job is done there or here"),
    }
}

/// Frees a value there, which nobody waits for.
fn let_go<T: Send + 'static>(value: T) {
    match &*POOL {
        Some(pool) => drop(pool.spawn_blocking(move || drop(value))),
        None => drop(value),
    }
}

/// Only Linux has a priority for each thread; where it is refused, the work is done at the usual one.
#[cfg(target_os = "linux")]
fn step_back() {
    STANDS_BACK.set(true);
    take_usual_turns();
    let lowered = rustix::process::getpriority_process(None).and_then(|now| {
        rustix::process::setpriority_process(None, now.saturating_add(NICE.load(Ordering::Relaxed).into()))
    });
    if let Err(error) = lowered {
        tracing::debug!(%error, "a thread stays at the usual priority");
    }
}

/// As [`step_back`], and behind whatever else wakes up. A thread can't come back from there.
#[cfg(target_os = "linux")]
fn stand_last() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    step_back();
    if NICE.load(Ordering::Relaxed) == 0 {
        return;
    }
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    if let Err(error) = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle) {
        tracing::debug!(?error, "a thread stays ahead of others");
    }
}

#[cfg(not(target_os = "linux"))]
fn stand_last() {
    step_back();
}

#[cfg(not(target_os = "linux"))]
fn step_back() {
    STANDS_BACK.set(true);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;
    use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy};

    #[tokio::test]
    async fn its_threads_stand_behind_all_others() {
        let usual = getpriority_process(None).unwrap();
        let there = super::spawn(0, || getpriority_process(None).unwrap()).await.unwrap();
        assert!(there > usual || usual == 19, "{there} beside {usual}");
        assert_eq!(getpriority_process(None).unwrap(), usual);
        assert_eq!(super::beside(0, || getpriority_process(None).unwrap()), there);
        assert_eq!(getpriority_process(None).unwrap(), usual);
        let needed = super::at_usual_priority(async { super::spawn(0, || getpriority_process(None).unwrap()).await });
        assert_eq!(needed.await.unwrap(), usual);
        let borrowed = super::at_usual_priority(async { super::beside(0, || getpriority_process(None).unwrap()) });
        assert_eq!(borrowed.await, usual);
    }

    #[tokio::test]
    async fn the_largest_jobs_stand_behind_everything() {
        let policy = || thread_priority::thread_schedule_policy().unwrap();
        let usual = policy();
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        assert_eq!(super::spawn(super::LAST_BYTES, policy).await.unwrap(), usual);
        assert_eq!(super::spawn(super::LAST_BYTES + 1, policy).await.unwrap(), idle);
        assert_eq!(super::beside(super::LAST_BYTES + 1, policy), idle);
        assert_eq!(policy(), usual);
        let needed = super::at_usual_priority(async { super::spawn(super::LAST_BYTES + 1, policy).await });
        assert_eq!(needed.await.unwrap(), usual);
    }
}
