//! A limit of attempts per minute.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Starts no more than `limit` attempts within any stretch of `period`.
pub(super) struct Pace {
    limit: usize,
    period: Duration,
    /// Starts of the last `limit` attempts, those still to come included.
    starts: Mutex<VecDeque<Instant>>,
}

impl Pace {
    pub(super) fn new(limit: usize, period: Duration) -> Pace {
        Pace { limit: limit.max(1), period, starts: Mutex::new(VecDeque::new()) }
    }

    /// Books the next free place; how long until then. `None`, and nothing is booked, where that is longer than
    /// `patience`.
    pub(super) fn book(&self, now: Instant, patience: Duration) -> Option<Duration> {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let free = match starts.front() {
            Some(oldest) if starts.len() >= self.limit => now.max(*oldest + self.period),
            _ => now,
        };
        let wait = free.saturating_duration_since(now);
        if wait > patience {
            return None;
        }
        if starts.len() >= self.limit {
            starts.pop_front();
        }
        starts.push_back(free);
        Some(wait)
    }
}
