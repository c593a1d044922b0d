//! The calls that a compaction may make, counted before each.

use std::sync::atomic::{AtomicU32, Ordering};

use super::failure::Failure;

/// Calls that are left. Those of one task at a time draw on it.
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

    /// Shares them out by the weights, at least one to each while there are as many.
    pub(super) fn shared(&self, weights: &[u64]) -> Vec<CallsLeft> {
        let (mut left, mut weight) = (u64::from(self.count()), weights.iter().sum::<u64>());
        let share = |(at, one): (usize, &u64)| {
            let others = (weights.len() - at - 1) as u64;
            let most = left.saturating_sub(others).max(1).min(left);
            let share = if others == 0 { left } else { (left * one / weight.max(1)).max(1).min(most) };
            (left, weight) = (left - share, weight - one);
            CallsLeft::new(u32::try_from(share).unwrap_or(u32::MAX))
        };
        weights.iter().enumerate().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_shared_by_weight_and_nobody_goes_without() {
        let shares = |calls, weights: &[u64]| -> Vec<u32> {
            CallsLeft::new(calls).shared(weights).iter().map(CallsLeft::count).collect()
        };
        assert_eq!(shares(12, &[5]), [12]);
        assert_eq!(shares(12, &[3_000, 1_000]), [9, 3]);
        assert_eq!(shares(12, &[10, 90_000]), [1, 11]);
        assert_eq!(shares(12, &[90_000, 10]), [11, 1]);
        assert_eq!(shares(12, &[0, 0]), [1, 11]);
        assert_eq!(shares(1, &[1, 1]), [1, 0]);
        assert_eq!(shares(0, &[1]), [0]);
    }

    #[test]
    fn no_call_is_taken_that_is_not_there() {
        let calls = CallsLeft::new(1);
        assert!(calls.take().is_ok());
        assert_eq!((calls.take().unwrap_err().code(), calls.count()), ("call_limit", 0));
    }
}
