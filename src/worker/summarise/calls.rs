//! The calls that a compaction may make, counted before each.

use std::sync::atomic::{AtomicU32, Ordering};

use super::failure::Failure;

/// Calls that are left.
#[derive(Debug)]
pub(super) struct CallsLeft(AtomicU32);

impl CallsLeft {
    pub(super) fn new(calls: u32) -> CallsLeft {
        CallsLeft(AtomicU32::new(calls))
    }

    pub(super) fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes one call.
    pub(super) fn take(&self) -> Result<(), Failure> {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.map(|_| ()).map_err(|_| Failure::TooManyCalls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_taken_that_is_not_there() {
        let calls = CallsLeft::new(1);
        assert!(calls.take().is_ok());
        assert_eq!((calls.take().unwrap_err().code(), calls.count()), ("call_limit", 0));
    }
}
