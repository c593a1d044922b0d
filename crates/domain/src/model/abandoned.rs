//! Work that nobody waits for any more. Whoever hands a long job to a thread of its own raises a flag when nobody waits
//! for it; the job's loops look at the flag and come to an end. What they have made by then nobody sees.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<JobFlag>> = const { RefCell::new(None) };
}

/// Somebody waits for a job, until the last [`JobWaiter`] is dropped.
#[derive(Debug, Clone, Default)]
pub struct JobFlag(Arc<AtomicBool>);

/// Who waits for a job. Dropping it says that nobody does any more.
#[derive(Debug, Default)]
pub struct JobWaiter(JobFlag);

impl JobWaiter {
    pub fn waiting(&self) -> JobFlag {
        self.0.clone()
    }
}

impl Drop for JobWaiter {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl JobFlag {
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does a job on this thread, whose loops learn from [`is_abandoned`] when nobody waits for it. `None`: nobody does by
    /// now.
    pub fn during<T>(&self, job: impl FnOnce() -> T) -> Option<T> {
        if self.is_over() {
            return None;
        }
        let _outer = Outer(CURRENT.with(|current| current.replace(Some(self.clone()))));
        Some(job())
    }
}

/// What the thread worked on before, and goes on with however the job ends.
struct Outer(Option<JobFlag>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// Returns true where this thread works on a job that nobody waits for. To be asked by every loop that may go on for long.
pub fn is_abandoned() -> bool {
    CURRENT.with(|current| current.borrow().as_ref().is_some_and(JobFlag::is_over))
}

/// Returns true where this thread works on a job that was handed to it.
pub fn works_on_a_job() -> bool {
    CURRENT.with(|current| current.borrow().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_ends_when_nobody_waits() {
        let waiter = JobWaiter::default();
        let waiting = waiter.waiting();
        let mut waiter = Some(waiter);
        let rounds = waiting.during(|| {
            let rounds = (0..).take_while(|round| {
                if *round == 3 {
                    waiter.take();
                }
                !is_abandoned()
            });
            rounds.count()
        });
        assert_eq!(rounds, Some(3));
        assert!(!is_abandoned(), "the next job of the thread is another");
        assert_eq!(waiting.during(|| ()), None, "what was abandoned in the queue is not begun");
    }
}
