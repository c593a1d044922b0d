//! Large rows are read and written where they hold up no other request: the thread that is at it hands the others that it
//! answers to another thread first.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Context;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tracing::Span;

use crate::background::beside;
use crate::domain::model::abandoned::works_on_a_job;

/// Up to here, handing over takes longer than the work.
const SMALL_BYTES: usize = 64 << 10;
/// From here on the work also stands behind all requests: at the usual priority, a few such jobs would leave them a share
/// of the cores only.
const LARGE_BYTES: usize = 1 << 20;

/// Does a job of about so much work, in bytes of text. Nothing is handed over where one thread does all, or by a thread
/// that answers no requests.
pub fn in_place<T: Send>(load: usize, job: impl FnOnce() -> T + Send) -> T {
    let shares = || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if load <= SMALL_BYTES || works_on_a_job() || !shares() {
        return job();
    }
    if load > LARGE_BYTES { block_in_place(|| beside(load, job)) } else { block_in_place(job) }
}

/// Carries out work that does much at once between its waits: a statement is written out as a whole before it is sent.
/// Each of its steps is done as by [`in_place`], and it ends with whoever waits for it.
pub async fn step_by_step<F>(load: usize, work: F) -> F::Output
where
    F: Future<Output: Send> + Send,
{
    let Some(runtime) = Handle::try_current().ok().filter(|_| load > LARGE_BYTES) else { return work.await };
    let mut work = pin!(work);
    let step = |context: &mut Context<'_>| {
        let (waker, span, work) = (context.waker(), Span::current(), work.as_mut());
        in_place(load, || {
            let _entered = runtime.enter();
            span.in_scope(|| work.poll(&mut Context::from_waker(waker)))
        })
    };
    poll_fn(step).await
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;
    use crate::background::at_usual_priority;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn large_work_stands_behind_all_requests() {
        let usual = getpriority_process(None).unwrap();
        let priority_of_work = |load| in_place(load, || getpriority_process(None).unwrap());
        let priorities = move || [SMALL_BYTES, LARGE_BYTES, LARGE_BYTES + 1].map(priority_of_work);
        let [small, middle, large] = tokio::spawn(async move { priorities() }).await.unwrap();
        assert_eq!((small, middle), (usual, usual));
        assert!(large > usual || usual == 19, "{large} beside {usual}");
        let needed = tokio::spawn(at_usual_priority(async move { priority_of_work(LARGE_BYTES + 1) }));
        assert_eq!(needed.await.unwrap(), usual, "an agent waits for it");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn every_step_of_large_work_stands_behind_all_requests() {
        let usual = getpriority_process(None).unwrap();
        let steps = |load| async move {
            let priority = || getpriority_process(None).unwrap();
            let work = async {
                let before = priority();
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                [before, priority()]
            };
            step_by_step(load, work).await
        };
        assert_eq!(tokio::spawn(steps(LARGE_BYTES)).await.unwrap(), [usual; 2]);
        let large = tokio::spawn(steps(LARGE_BYTES + 1)).await.unwrap();
        assert!(large.iter().all(|priority| *priority > usual || usual == 19), "{large:?} beside {usual}");
    }
}
